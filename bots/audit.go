package bots

import (
	"context"
	"time"

	"platform.dev/platform/commands"
)

// Auditor keeps what was decided about what people asked for.
type Auditor interface {
	// Decided records a decision durably; the same key again changes nothing.
	Decided(ctx context.Context, d Decision) error
}

// Decision is one decision about what a person asked of a bot. A read that is
// open to everybody known is none.
type Decision struct {
	Key      string    `json:"key"` // of the message and the kind: a message is decided about once in each
	Kind     string    `json:"kind"`
	At       time.Time `json:"at"`
	Bot      string    `json:"bot"`
	Verb     string    `json:"verb,omitempty"`
	Text     string    `json:"text,omitempty"` // as asked, cut where it is long
	ChatID   string    `json:"chat_id"`
	Persona  string    `json:"persona,omitempty"` // empty for somebody unknown
	Groups   []string  `json:"groups,omitempty"`
	Actions  []string  `json:"actions,omitempty"`  // the permissions that it needs
	Lacking  string    `json:"lacking,omitempty"`  // the first of them that was not there
	Project  string    `json:"project,omitempty"`  // that it names, or else of the stream where it is asked
	Link     string    `json:"link,omitempty"`     // permalink of the message
	Question string    `json:"question,omitempty"` // what was asked before going on: its id
	About    string    `json:"about,omitempty"`    // of a word to that: what it was about, as it was asked
	Via      string    `json:"via,omitempty"`      // the command that called it for who asked
	Why      string    `json:"why,omitempty"`      // of a refusal that has no permission to name
}

// The kinds of decisions.
const (
	DecidedAllowed   = "allowed"   // it is run, or put before somebody to confirm
	DecidedDenied    = "denied"    // a permission is lacking
	DecidedUnknown   = "unknown"   // nobody knows who asked
	DecidedStale     = "stale"     // heard too late
	DecidedLimited   = "limited"   // asked too fast; once per episode
	DecidedAsked     = "asked"     // it was put before somebody to confirm
	DecidedConfirmed = "confirmed" // and was
	DecidedCancelled = "cancelled" // or was called off
	DecidedChanged   = "changed"   // or would no longer have done what was shown
	DecidedRefused   = "refused"   // a word that did not count: too late, twice, of the wrong person
)

// decided records a decision about what y asks for; the empty kind is none.
func (r *Runtime) decided(ctx context.Context, y *reply, d Decision) error {
	if r.cfg.Auditor == nil || d.Kind == "" {
		return nil
	}
	q := y.request
	d.Key, d.At, d.Bot, d.Verb, d.Text = q.Key+"/"+d.Kind, r.cfg.Now(), q.Bot, q.Verb, short(q.Text)
	d.ChatID, d.Persona, d.Groups, d.Link = y.heard.ChatID, q.Who.Persona, q.Who.Groups, q.Link
	if d.Question == "" {
		d.Project = about(commands.Call{Args: q.Args}, q.Project)
	}
	return r.cfg.Auditor.Decided(context.WithoutCancel(ctx), d)
}

// about is the project that a call names, or else the one in whose stream it is asked.
func about(call commands.Call, stream string) string {
	project, _ := call.Aim(stream)
	if project == commands.AnyProject {
		return stream
	}
	return short(project)
}

// of is a decision about a word to a question: it is about what that asks.
func (r *Runtime) of(q question, d Decision) Decision {
	d.Question, d.About = q.id, short(q.Heard.Text)
	d.Project = r.projectIn(q.Heard.Place)
	if p := r.parse(q.Heard); p.err == nil {
		d.Project = about(p.call, d.Project)
	}
	return d
}

// allowed is the decision to run a call; none where everybody known may.
func allowed(call commands.Call) Decision {
	actions := call.Actions()
	if len(actions) == 0 {
		return Decision{}
	}
	return Decision{Kind: DecidedAllowed, Actions: actions}
}
