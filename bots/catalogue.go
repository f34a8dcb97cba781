package bots

import (
	"errors"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// Catalogue gives one sample of each message kind that a runtime itself says,
// for golden files and for people who want to see what a bot says.
func Catalogue() []markup.Message {
	const half = 30 * time.Minute
	var (
		asked = Heard{Name: "Mallory @**all**", ChatID: "zulip:66"}
		dev   = commands.Person{Name: "Dev Developer", Persona: "developer", Groups: []string{"developers"}}
		lock  = commands.Call{Verb: "lock", Command: commands.Command{Action: "commit:lock", Effect: commands.Write}}
		lost  = errors.New("control plane: read bindings of shop: connection refused")
	)
	return []markup.Message{
		unknownPerson(asked, "platform"),
		denied(dev, lock, []string{"admins", "platform-engineers"}),
		stale(lock, 3*time.Hour),
		refused("Commit 4f2a91c is locked by Sam SRE: \"bad migration\".\nAsk Sam, or unlock it."),
		finished("lock"),
		failed("7ad35afa", lost),
		overtime("7ad35afa", half, lost),
	}
}
