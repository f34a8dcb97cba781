package flowclient

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// decisionRow says how a kind of decision is told.
type decisionRow struct {
	kind   string // the entry's too
	result string
	says   func(d Decision) string
}

// decisions are the kinds of decisions of bots, each an entry of the audit trail.
var decisions = []decisionRow{
	{DecisionAllowed, AuditDone, func(d Decision) string { return "Allowed: " + strings.Join(d.Actions, ", ") }},
	{DecisionDenied, AuditRefused, tellDenied},
	{DecisionUnknown, AuditRefused, func(d Decision) string { return "Refused, since nobody knows who " + d.ChatID + " is" }},
	{DecisionStale, AuditRefused, func(Decision) string { return "Not run, since it was heard too late" }},
	{DecisionLimited, AuditRefused, func(d Decision) string { return "Not looked at, since " + d.who() + " asked too fast" }},
	{DecisionAsked, AuditWaits, func(Decision) string { return "Put before somebody to confirm" }},
	{DecisionConfirmed, AuditDone, func(d Decision) string { return "Confirmed" + d.subject() }},
	{DecisionCancelled, AuditDone, func(d Decision) string { return "Called off" + d.subject() }},
	{DecisionChanged, AuditRefused, func(d Decision) string { return "Confirmed, and no longer what was shown" + d.subject() }},
	{DecisionRefused, AuditRefused, func(d Decision) string {
		return "A word that does not count, since " + cmp.Or(d.Why, "it came to nothing") + d.subject()
	}},
}

func tellDenied(d Decision) string {
	if d.Lacking == "" {
		return "Denied, since nobody is granted it"
	}
	return "Denied, since " + d.who() + " is not granted " + d.Lacking
}

// who is whom the decision is about.
func (d Decision) who() string { return cmp.Or(d.Persona, d.ChatID) }

// subject is what a word to a question was about, at the end of a sentence.
func (d Decision) subject() string {
	if d.About == "" {
		return ""
	}
	return ": " + d.About
}

// decisionEntry tells a decision: what was asked of whom, and what was decided about it.
func decisionEntry(d Decision) (AuditEntry, error) {
	i := slices.IndexFunc(decisions, func(row decisionRow) bool { return row.kind == d.Kind })
	if i < 0 {
		return AuditEntry{}, fmt.Errorf("audit: decision %s is of no kind that was asked for: %q", d.Key, clip(d.Kind))
	}
	row, asked := decisions[i], ""
	switch text := strings.Join(strings.Fields(cmp.Or(d.Text, d.Verb)), " "); {
	case text == "":
	case d.Via != "":
		asked = fmt.Sprintf("Asked of %s by its command %s: %s ", d.Bot, d.Via, ended(text))
	default:
		asked = fmt.Sprintf("Asked of %s: %s ", d.Bot, ended(text))
	}
	if checkOptional("project", d.Project) != nil {
		d.Project = "" // a stream's name, or a slip: no project can have it
	}
	return AuditEntry{Ref: "decision/" + d.Key, At: d.At, Who: d.who(), Link: d.Link, Project: d.Project, Kind: row.kind,
		Result: row.result, Outcome: asked + ended(row.says(d))}, nil
}
