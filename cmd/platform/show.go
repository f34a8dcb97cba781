package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"golang.org/x/term"

	"platform.dev/platform/bots/zulip"
)

// plainWidth is the width of lines where the output is no terminal: none are broken.
const plainWidth = 0

// screen tells whether w is a terminal, and how wide it is.
func screen(w io.Writer) (width int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return plainWidth, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 80, true
	}
	return min(width, 120), true
}

// colourful tells whether to write in colours: at a terminal whose person has
// not said otherwise (no-color.org).
func colourful(live bool) bool { return live && os.Getenv("NO_COLOR") == "" }

// heading says who wrote a message, where and when.
func heading(m zulip.Message) string {
	where := "direct message"
	if s := m.Stream(); s != "" {
		where = "#" + s + " > " + m.Topic
	}
	return fmt.Sprintf("%s  %s  %s\n", m.At().Local().Format("15:04"), oneLine(m.SenderName), oneLine(where))
}

// headline is a line with a rule behind it; where the output is no terminal, the line alone.
func headline(text string, w io.Writer) string {
	text = oneLine(text)
	width, live := screen(w)
	if !live {
		return text
	}
	rule := " " + strings.Repeat("─", max(width-len([]rune(text))-1, 0))
	if !colourful(live) {
		return text + rule
	}
	return "\x1b[1m" + text + "\x1b[0m" + rule
}

// oneLine makes foreign text fit for one line of a terminal: control characters become spaces.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// working tells whether a message says that work is under way: it will be edited.
func working(content string) bool { return strings.HasPrefix(content, "⏳") }

// spinner shows that something is under way, on a terminal by a line that is
// redrawn; elsewhere by a line when what is under way changes.
type spinner struct {
	out   io.Writer
	live  bool
	what  string
	since time.Time
	frame int
}

// frames of the spinner.
var frames = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

func newSpinner(out io.Writer) *spinner {
	_, live := screen(out)
	return &spinner{out: out, live: live}
}

// set says what is under way now.
func (s *spinner) set(what string, now time.Time) {
	if what == s.what {
		return
	}
	s.clear()
	s.what, s.since = what, now
	if !s.live && what != "" {
		fmt.Fprintf(s.out, "  … %s\n", what)
	}
	s.tick(now)
}

// tick redraws the line.
func (s *spinner) tick(now time.Time) {
	if !s.live || s.what == "" {
		return
	}
	s.frame++
	width, _ := screen(s.out)
	line := fmt.Sprintf("  %c %s  %d s", frames[s.frame%len(frames)], s.what, int(now.Sub(s.since).Seconds()))
	if r := []rune(line); width > 1 && len(r) >= width {
		line = string(r[:width-1])
	}
	fmt.Fprintf(s.out, "\r\x1b[K%s", line)
}

// clear takes the line away, so that something can be printed.
func (s *spinner) clear() {
	if s.live && s.what != "" {
		fmt.Fprint(s.out, "\r\x1b[K")
	}
}
