// Package platform is the bot "platform": what people ask of their delivery
// from chat. Each command is a value in a file of its own, takes the narrowest
// role of the flow controller, and answers with messages whose samples are in
// Catalogue.
//
// It knows nothing of any chat, of HTTP, or of how the controller decides.
package platform

import (
	"errors"
	"time"

	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient"
)

// Bot is the bot's name.
const Bot = "platform"

// The actions that permit the commands which change something.
const (
	ActionPromote  = "component:promote"
	ActionRollback = "component:rollback"
	ActionLock     = "lock:create"
	ActionUnlock   = "lock:delete"
	ActionUndo     = "component:undo"
	ActionFreeze   = "project:freeze" // and thaw
	ActionForce    = "component:force"
	ActionSkipSoak = "component:skip-soak"
)

// Deps is what the commands act on; every field is needed.
type Deps struct {
	Reader   flowclient.Reader
	Promoter flowclient.Promoter
	Locker   flowclient.Locker
	Freezer  flowclient.Freezer
	Witness  witness
	Reviewer reviewer
	Differ   differ
	Measurer measurer
	Auditor  auditor
	Now      func() time.Time
}

// New gives the bot's commands, in the order in which help lists them.
func New(d Deps) ([]commands.Command, error) {
	if d.Reader == nil || d.Promoter == nil || d.Locker == nil || d.Freezer == nil || d.Witness == nil || d.Reviewer == nil || d.Differ == nil || d.Measurer == nil || d.Auditor == nil || d.Now == nil {
		return nil, errors.New("platform commands: Reader, Promoter, Locker, Freezer, Witness, Reviewer, Differ, Measurer, Auditor and Now are needed")
	}
	return []commands.Command{
		status(d.Reader, d.Reviewer, d.Now),
		where(d.Reader, d.Now),
		diff(d.Differ, d.Reader, d.Now),
		why(d.Reader, d.Reader, d.Now),
		watch(d.Reader, d.Now),
		promote(d.Promoter, d.Reader),
		rollback(d.Promoter, d.Reader),
		undo(d.Promoter, d.Reader),
		builds(d.Reader, d.Now),
		lock(d.Locker, d.Reader, d.Now),
		unlock(d.Locker, d.Reader),
		locks(d.Locker, d.Reader, d.Now),
		window(d.Reader, d.Now),
		freeze(d.Freezer, d.Reader, d.Now),
		thaw(d.Freezer, d.Now),
		freezes(d.Freezer, d.Reader, d.Now),
		state(d.Reader, d.Now),
		evidence(d.Witness, d.Now),
		audit(d.Auditor, d.Now),
		dora(d.Measurer, d.Reader),
	}, nil
}

// origin is where an effect came from.
func origin(req commands.Request) flowclient.Origin {
	return flowclient.Origin{Key: req.Key, Who: req.Who.Persona, Link: req.Link, Trace: req.Trace}
}
