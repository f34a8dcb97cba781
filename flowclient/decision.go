package flowclient

import "time"

// Decision is what a bot decided about what somebody asked of it: an entry of
// the audit trail beside the intents and events that came of it.
type Decision struct {
	Key      string    `json:"key"`  // of the message and the kind: the same again is the same decision
	Kind     string    `json:"kind"` // one of the kinds below
	At       time.Time `json:"at"`
	Bot      string    `json:"bot"`
	Verb     string    `json:"verb,omitempty"`
	Text     string    `json:"text,omitempty"` // as asked, cut where it is long
	ChatID   string    `json:"chat_id"`
	Persona  string    `json:"persona,omitempty"` // empty for somebody unknown, whom ChatID names
	Groups   []string  `json:"groups,omitempty"`
	Actions  []string  `json:"actions,omitempty"`  // the permissions that it needs
	Lacking  string    `json:"lacking,omitempty"`  // the first of them that was not there
	Project  string    `json:"project,omitempty"`  // as somebody wrote it: there may be none of that name
	Link     string    `json:"link,omitempty"`     // permalink of the message
	Question string    `json:"question,omitempty"` // what was asked before going on: its id
	About    string    `json:"about,omitempty"`    // what that is about, as it was asked
	Via      string    `json:"via,omitempty"`      // the command that called it for who asked
	Why      string    `json:"why,omitempty"`      // of a refusal that has no permission to name
}

// The kinds of decisions, as bots name them.
const (
	DecisionAllowed   = "allowed"
	DecisionDenied    = "denied"
	DecisionUnknown   = "unknown"
	DecisionStale     = "stale"
	DecisionLimited   = "limited"
	DecisionAsked     = "asked"
	DecisionConfirmed = "confirmed"
	DecisionCancelled = "cancelled"
	DecisionChanged   = "changed"
	DecisionRefused   = "refused"
)
