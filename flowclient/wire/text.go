package wire

import (
	"fmt"
	"strings"

	"platform.dev/platform/flowclient"
)

// TextType is what a script accepts that reads no JSON: an error is then its
// sentence alone, and an answer that Text knows is lines.
const TextType = "text/plain"

// Text is an answer as lines for people; ok is false for one that is JSON only.
func Text(answer any) (text string, ok bool) {
	var lines []string
	switch a := answer.(type) {
	case Error:
		lines = append(lines, a.Error)
	case flowclient.Outcome:
		for _, c := range a.Components {
			lines = append(lines, c.Sentence)
		}
		if a.Note != "" {
			lines = append(lines, a.Note)
		}
	case flowclient.Lock:
		lines = append(lines, "locked: "+lockLine(a))
		if a.Note != "" {
			lines = append(lines, a.Note)
		}
	case LocksAnswer:
		switch {
		case len(a.Locks) == 0 && a.OlderThan != "":
			lines = append(lines, "no commit has been locked for "+a.OlderThan)
		case len(a.Locks) == 0:
			lines = append(lines, "no commit is locked")
		}
		for _, l := range a.Locks {
			lines = append(lines, lockLine(l))
		}
		if a.Next != "" {
			lines = append(lines, "there are more: ask again with ?cursor="+a.Next)
		}
	case ClearAnswer:
		for _, l := range a.Locks {
			lines = append(lines, lockLine(l))
		}
		if a.Sentence != "" {
			lines = append(lines, a.Sentence)
		}
	case flowclient.Why:
		lines = append(lines, a.Sentence)
		for _, c := range a.Components {
			lines = append(lines, strings.TrimSpace(c.Sentence+" "+c.Automatic))
		}
	default:
		return "", false
	}
	for _, l := range lines {
		text += oneLine(l) + "\n"
	}
	return text, true
}

// lockLine is a lock on one line.
func lockLine(l flowclient.Lock) string {
	where := "every environment"
	if l.Environment != "" {
		where = l.Environment
	}
	return fmt.Sprintf("%s %s in %s, by %s on %s: %s", l.Component, l.Commit, where, l.Who, l.At.UTC().Format("2006-01-02 15:04 MST"), l.Reason)
}

// oneLine keeps what people wrote from looking like lines of the answer, or from steering a terminal.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
}
