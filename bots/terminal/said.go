package terminal

import (
	"cmp"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// Said is a message of a transcript, as it stands.
type Said struct {
	ID      string
	At      time.Time
	From    string // the bot's name, or the person's id
	Bot     bool
	Message markup.Message // what a bot said
	words   string         // a person's
}

// Text is what the message says in lines of at most so many columns; 0: of any length.
func (s Said) Text(width int) string {
	if !s.Bot {
		return harmless(s.words)
	}
	return View{Width: width}.Message(s.Message)
}

// Said is what was said in a place and is remembered, oldest first.
func (t *Transcript) Said(in commands.Place) (list []Said) {
	for _, m := range t.all(func(m *message) bool { return m.place == in }) {
		list = append(list, Said{ID: m.id, At: m.at, From: cmp.Or(m.bot, m.person.ID), Bot: m.bot != "", Message: m.doc, words: m.text})
	}
	return list
}
