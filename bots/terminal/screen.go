package terminal

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// Size is how large a screen is, in columns and rows; 0 where there is no limit.
type Size struct{ Columns, Rows int }

// Screen shows what bots say at a terminal. On a live one a message that is
// changed is changed where it stands, as long as nothing was written below it;
// elsewhere it is shown anew. Where the output is no terminal, what will be
// changed anyway (a message about work under way) is not shown. It is safe for
// concurrent use.
type Screen struct {
	out  io.Writer
	look Look

	mu     sync.Mutex
	at     commands.Place // where the person is
	last   string         // the id of the message whose lines are the last ones; "" when there is none
	rows   int            // that it takes
	broken error
}

// Look is how a Screen shows.
type Look struct {
	Live   bool        // it is a terminal, whose cursor can be moved
	Colour bool        // with colour codes
	Size   func() Size // as it is now; nil: no limit
}

// NewScreen makes a screen of an output.
func NewScreen(out io.Writer, look Look) *Screen {
	if look.Size == nil {
		look.Size = func() Size { return Size{} }
	}
	return &Screen{out: out, look: look}
}

// Go says where the person is: what is said elsewhere is shown with its place.
func (s *Screen) Go(to commands.Place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = to
}

// Typed says that the person wrote below what is shown.
func (s *Screen) Typed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = ""
}

// Note shows a line of whoever runs the conversation.
func (s *Screen) Note(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = ""
	s.write(harmless(line) + "\n")
}

// Err is why the screen takes no more; nil as long as it does.
func (s *Screen) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// message shows a bot's message; false when it was not: it will be changed, or
// the screen takes no more.
func (s *Screen) message(m *message, edited bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.look.Live && m.doc.Status == markup.Working {
		return false
	}
	size := s.look.Size()
	said := View{Width: size.Columns, Colour: s.look.Colour}.Message(m.doc) + "\n\n"
	text := s.heading(m, edited) + said
	if edited && s.look.Live && s.last == m.id && (size.Rows == 0 || s.rows < size.Rows) {
		// Up to where the message begins, and everything below taken away.
		text = fmt.Sprintf("\x1b[%dA\r\x1b[J", s.rows) + s.heading(m, false) + said
		s.rows = height(text, size.Columns)
		return s.write(text)
	}
	s.last, s.rows = m.id, height(text, size.Columns)
	return s.write(text)
}

// heading is the line above a message that is said elsewhere, or that takes the place of an earlier one.
func (s *Screen) heading(m *message, edited bool) string {
	var about []string
	if m.place != s.at {
		about = append(about, PlaceName(m.place))
	}
	if edited && s.look.Live {
		about = append(about, "changed")
	}
	if len(about) == 0 {
		return ""
	}
	return painter(s.look.Colour).in(faint, "("+strings.Join(about, ", ")+")") + "\n"
}

// write writes, until it fails once.
func (s *Screen) write(text string) bool {
	if s.broken == nil {
		_, s.broken = io.WriteString(s.out, text)
	}
	return s.broken == nil
}

// PlaceName is a place as people read it: "#shop > release", or the person.
func PlaceName(p commands.Place) string {
	switch {
	case p.Direct != "":
		return harmlessLine("to " + p.Direct)
	case p.Topic == "":
		return harmlessLine("#" + p.Stream)
	}
	return harmlessLine("#" + p.Stream + " > " + p.Topic)
}

// harmlessLine is a foreign text as one line.
func harmlessLine(text string) string { return strings.ReplaceAll(harmless(text), "\n", "␊") }

// colours are the sequences that are written here, which take no room.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]|\r")

// height is how many rows of a terminal a text takes whose last line has ended.
func height(text string, width int) (rows int) {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		rows++
		if n := columns(colours.ReplaceAllString(line, "")); width > 0 && n > width {
			rows += (n - 1) / width
		}
	}
	return rows
}
