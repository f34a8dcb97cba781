package botstest

import (
	"maps"
	"slices"
	"strings"
)

// SlackSaid is a message of a Slack, as somebody reads it.
type SlackSaid struct {
	Channel, TS, Thread, User string
	Text                      string   // what the blocks show, or the text where there are none
	Buttons                   []string // values
	Edits                     int
	Reactions                 []string // emoji, in alphabetical order
}

// Said is what was said in a channel, oldest first: outside of threads, or in the thread with a root.
func (s *Slack) Said(channel, thread string) []SlackSaid {
	s.mu.Lock()
	defer s.mu.Unlock()
	var said []SlackSaid
	c := s.channels[channel]
	if c == nil {
		return nil
	}
	for _, m := range c.messages {
		if m.thread != thread {
			continue
		}
		shown, buttons := shownBlocks(m.blocks)
		if shown == "" {
			shown = m.text
		}
		said = append(said, SlackSaid{
			Channel: channel, TS: m.ts, Thread: m.thread, User: m.user, Text: slackUnescape.Replace(shown), Buttons: buttons, Edits: m.edits,
			Reactions: slices.Sorted(maps.Keys(m.reactions)),
		})
	}
	return said
}

var slackUnescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
