package bots

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Grants is a Policy as a table: group to actions. "*" is every action,
// "component:*" every action of a kind. What is not granted is denied.
type Grants map[string][]string

// Allowed tells whether one of the groups has the action. The empty action is granted to nobody.
func (g Grants) Allowed(groups []string, action string) bool {
	return action != "" && slices.ContainsFunc(groups, func(group string) bool {
		return slices.ContainsFunc(g[group], func(granted string) bool { return covers(granted, action) })
	})
}

// Holders are the groups that have an action, in alphabetical order.
func (g Grants) Holders(action string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(g)), func(group string) bool { return !g.Allowed([]string{group}, action) })
}

// covers tells whether a granted action includes another.
func covers(granted, action string) bool {
	if kind, ok := strings.CutSuffix(granted, "*"); ok && (kind == "" || strings.HasSuffix(kind, ":")) {
		return strings.HasPrefix(action, kind)
	}
	return granted == action
}

// DecodeGrants reads grants from YAML or JSON, `grants: {admins: ["*"]}`. An
// unknown field, a group without actions and an empty action are refused, by name.
func DecodeGrants(r io.Reader) (Grants, error) {
	var file struct {
		Grants Grants `yaml:"grants"`
	}
	if err := decode(r, &file); err != nil {
		return nil, fmt.Errorf("grants: %w", err)
	}
	for group, actions := range file.Grants {
		if len(actions) == 0 {
			return nil, fmt.Errorf("grants: group %q: no actions; leave the group out", group)
		}
		for _, a := range actions {
			if a == "" || strings.Contains(strings.TrimSuffix(a, "*"), "*") {
				return nil, fmt.Errorf("grants: group %q: action %q: write an action, \"<kind>:*\" or \"*\"", group, a)
			}
		}
	}
	return file.Grants, nil
}
