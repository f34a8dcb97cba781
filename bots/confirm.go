package bots

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"platform.dev/platform/commands"
)

// Way is how a command is to be confirmed before it is run.
type Way string

// The ways of confirming. A reply with the code is heard in each but none,
// since it works in every chat.
const (
	WayNone     Way = "none"
	WayReaction Way = "reaction" // a reaction to the question
	WayButton   Way = "button"   // a button under it, in a chat that has them
	WayReply    Way = "reply"    // nothing but a reply with the code
)

// Need is what a command needs before it is run.
type Need struct {
	Way Way `json:"way"`
	// FourEyes: somebody else than who asked must confirm, who may ask for it too.
	FourEyes bool `json:"four_eyes,omitempty"`
}

// Asks tells whether anybody is asked at all.
func (n Need) Asks() bool { return n.Way != WayNone && n.Way != "" }

// Confirmer says what a command needs before it is run: Confirmations, or a
// ConfirmFile. It is asked at each call.
type Confirmer interface {
	// Need is what is wanted for a call; stream is the project in whose stream it is asked.
	Need(call commands.Call, stream string) Need
}

// Confirmations is the policy of confirming as a table: the first row that
// matches decides, and what no row matches is not to be confirmed. What is
// forced is, whatever the rows say.
type Confirmations []ConfirmRow

// ConfirmRow is one row. A pattern is a text with * for any letters; an empty one
// matches everything. A command whose arguments do not tell the project matches
// every row that asks; one that names no environment, only rows that name none.
type ConfirmRow struct {
	Project     string `yaml:"project"`
	Environment string `yaml:"environment"`
	Command     string `yaml:"command"` // bot and verb, "platform promote", "platform *"
	By          Way    `yaml:"by"`
	FourEyes    bool   `yaml:"four-eyes"`
}

// Need is what the policy wants for a call; stream is the project in whose stream it is asked.
func (c Confirmations) Need(call commands.Call, stream string) Need {
	if !call.Changes() {
		return Need{Way: WayNone}
	}
	project, environment := call.Aim(stream)
	need := Need{Way: WayNone}
	for _, row := range c {
		// What may be about any project is asked about where one of them is.
		about := matches(row.Project, project) || project == commands.AnyProject && row.By != WayNone
		if about && matches(row.Environment, environment) && matches(row.Command, call.Command.Bot+" "+call.Verb) {
			need = Need{Way: row.By, FourEyes: row.FourEyes}
			break
		}
	}
	if call.Forced() && !need.Asks() {
		need.Way = WayButton
	}
	return need
}

// Reactions tells whether a row wants reactions heard.
func (c Confirmations) Reactions() bool {
	return slices.ContainsFunc(c, func(row ConfirmRow) bool { return row.By == WayReaction })
}

// matches tells whether a text is one that the pattern means.
func matches(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	ok, err := path.Match(pattern, text)
	return err == nil && ok
}

// maxRows bounds the policy; each row is looked at for each write.
const maxRows = 1000

// DecodeConfirmations reads the policy from YAML or JSON,
// `confirm: [{environment: production, command: platform promote, by: reply}]`.
// Unknown fields, ways that there are not and patterns that cannot be read are refused, by row.
func DecodeConfirmations(r io.Reader) (Confirmations, error) {
	var file struct {
		Confirm Confirmations `yaml:"confirm"`
	}
	if err := decode(r, &file); err != nil {
		return nil, fmt.Errorf("confirm: %w", err)
	}
	if len(file.Confirm) > maxRows {
		return nil, fmt.Errorf("confirm: %d rows; write at most %d", len(file.Confirm), maxRows)
	}
	ways := []Way{WayNone, WayReaction, WayButton, WayReply}
	for i, row := range file.Confirm {
		if !slices.Contains(ways, row.By) {
			return nil, fmt.Errorf("confirm: row %d: by %q: write none, reaction, button or reply", i+1, row.By)
		}
		if row.FourEyes && row.By == WayNone {
			return nil, fmt.Errorf("confirm: row %d: four-eyes needs a way to confirm: write by: reply", i+1)
		}
		for field, pattern := range map[string]string{"project": row.Project, "environment": row.Environment, "command": row.Command} {
			if _, err := path.Match(pattern, ""); err != nil {
				return nil, fmt.Errorf("confirm: row %d: %s %q: write a text with * for any letters", i+1, field, pattern)
			}
		}
		if bot, verb, ok := strings.Cut(row.Command, " "); row.Command != "" && row.Command != "*" && (!ok || bot == "" || verb == "") {
			return nil, fmt.Errorf("confirm: row %d: command %q: write bot and verb, such as platform promote", i+1, row.Command)
		}
	}
	return file.Confirm, nil
}
