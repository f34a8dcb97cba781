package controlplane

import (
	"net/http"
	"regexp"
	"strings"

	"platform.dev/platform/server/web"
)

var (
	labelKey   = regexp.MustCompile(`^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)
	labelValue = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$`)
	setBased   = regexp.MustCompile(`^(\S+)\s+(in|notin)\s*\(([^()]*)\)$`)
)

// requirement is one term of a label selector.
type requirement struct {
	key    string
	values []string // the label has one of them; nil: it has any value
	not    bool
}

// maxRequirements bounds a selector.
const maxRequirements = 20

// parseSelector reads a Kubernetes label selector: k=v, k==v, k!=v, k in (a,b), k notin (a,b), k, !k, joined by commas.
func parseSelector(selector string) ([]requirement, error) {
	var parsed []requirement
	for _, term := range splitTerms(selector) {
		r, ok := parseTerm(strings.TrimSpace(term))
		if !ok || len(parsed) == maxRequirements {
			return nil, bad(http.StatusBadRequest, "labelSelector", web.Echo(selector), "must be terms such as key=value, key!=value, key in (a,b) or key, joined by commas, at most 20")
		}
		parsed = append(parsed, r)
	}
	return parsed, nil
}

// splitTerms splits at commas outside of parentheses.
func splitTerms(selector string) []string {
	if strings.TrimSpace(selector) == "" {
		return nil
	}
	var terms []string
	depth, start := 0, 0
	for i, c := range selector {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			terms = append(terms, selector[start:i])
			start = i + 1
		}
	}
	return append(terms, selector[start:])
}

func parseTerm(term string) (requirement, bool) {
	var r requirement
	if m := setBased.FindStringSubmatch(term); m != nil {
		r = requirement{key: m[1], not: m[2] == "notin", values: []string{}}
		for v := range strings.SplitSeq(m[3], ",") {
			r.values = append(r.values, strings.TrimSpace(v))
		}
	} else if k, v, ok := strings.Cut(term, "!="); ok {
		r = requirement{key: k, not: true, values: []string{v}}
	} else if k, v, ok := strings.Cut(term, "="); ok {
		r = requirement{key: k, values: []string{strings.TrimPrefix(v, "=")}}
	} else {
		k, not := strings.CutPrefix(term, "!")
		r = requirement{key: k, not: not}
	}
	r.key = strings.TrimSpace(r.key)
	if !labelKey.MatchString(r.key) {
		return r, false
	}
	for i, v := range r.values {
		r.values[i] = strings.TrimSpace(v)
		if !labelValue.MatchString(r.values[i]) {
			return r, false
		}
	}
	return r, true
}

// sql is the requirement as a condition on an object's row.
func (r requirement) sql() (clause string, args []any) {
	path := `$."` + r.key + `"` // the key has passed labelKey: it holds no quote
	if r.values == nil {
		if r.not {
			return "json_extract(o.labels, ?) IS NULL", []any{path}
		}
		return "json_extract(o.labels, ?) IS NOT NULL", []any{path}
	}
	args = []any{path}
	for _, v := range r.values {
		args = append(args, v)
	}
	in := "json_extract(o.labels, ?) IN (?" + strings.Repeat(", ?", len(r.values)-1) + ")"
	if r.not {
		return "(" + in + ") IS NOT TRUE", args
	}
	return in, args
}
