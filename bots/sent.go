package bots

import (
	"slices"
	"strings"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// sent is what the outbox keeps of a delivery: the chat's id of the message, and
// that of the one before it, which it continues because it could be edited no more.
type sent struct {
	id, before string
}

// String writes it in two lines, in one where nothing is continued.
func (s sent) String() string {
	if s.id == "" || s.before == "" {
		return s.id
	}
	return s.id + "\n" + s.before
}

func readSent(text string) sent {
	id, before, _ := strings.Cut(text, "\n")
	return sent{id: id, before: before}
}

// linked is a message with a link to the one that it continues, where the chat has such links.
func (r *Runtime) linked(m markup.Message, place commands.Place, before string) markup.Message {
	if before == "" || r.linker == nil {
		return m
	}
	url := r.linker.Link(place, before)
	if url == "" {
		return m
	}
	m.Blocks = append(slices.Clone(m.Blocks), markup.Text(markup.T("This goes on from "), markup.L("an earlier message", url), markup.T(", which is too old to be changed.")))
	return m
}
