package exec

import (
	"errors"
	"fmt"
	"time"

	"platform.dev/platform/bots/markup"
)

// shownError is how much of a reason is shown to people, in code points.
const shownError = 300

// last shows the last lines that a program wrote to its log, if any.
func last(lines []string) []markup.Block {
	if len(lines) == 0 {
		return nil
	}
	return []markup.Block{markup.Log(markup.Spans(markup.T("The last that it wrote to its log:")), lines)}
}

// perhaps tells what a program that did not come to its end may have done.
func perhaps(d Description) []markup.Span {
	switch {
	case d.Effect != "write":
		return markup.Spans(markup.T("It only reads: nothing was changed. Ask again."))
	case d.Idempotent:
		return markup.Spans(markup.T("It may have done a part of its work. It says that it does nothing twice: ask again."))
	}
	return markup.Spans(markup.T("It may have done a part of its work, or all of it: look before you ask again."))
}

// crashed tells of a program that ended badly.
func crashed(d Description, how error, lines []string) markup.Message {
	return markup.Message{
		Kind: "exec.crashed", Status: markup.Failed,
		Title:  markup.Spans(markup.C(d.Verb), markup.T(" broke: "), markup.F(cut(how.Error(), shownError))),
		Blocks: append([]markup.Block{markup.Text(perhaps(d)...)}, last(lines)...),
	}
}

// misspoken tells of a program that says what cannot be read.
func misspoken(d Description, n int, why error, lines []string) markup.Message {
	return markup.Message{
		Kind: "exec.misspoken", Status: markup.Failed,
		Title: markup.Spans(markup.C(d.Verb), markup.T(" answered in a way that cannot be read")),
		Blocks: append([]markup.Block{
			markup.Text(markup.T(fmt.Sprintf("Line %d of its answer: ", n)), markup.F(cut(why.Error(), shownError)), markup.T(".")),
			markup.Text(perhaps(d)...),
		}, last(lines)...),
	}
}

// overtime tells of a program that was ended because its time was over.
func overtime(d Description, lines []string) markup.Message {
	return markup.Message{
		Kind: "exec.overtime", Status: markup.Failed,
		Title:  markup.Spans(markup.C(d.Verb), markup.T(" took longer than "+markup.Took(d.limit)+" and was ended")),
		Blocks: append([]markup.Block{markup.Text(perhaps(d)...)}, last(lines)...),
	}
}

// interrupted tells of a program that was at work when everything stopped.
func interrupted(d Description) markup.Message {
	return markup.Message{
		Kind: "exec.interrupted", Status: markup.Failed,
		Title: markup.Spans(markup.C(d.Verb), markup.T(" was interrupted; ask again")),
		Blocks: []markup.Block{markup.Text(markup.T(
			"I was stopped while it ran. It is not run a second time by itself: it may have done a part of its work, or all of it. Look before you ask again."))},
	}
}

// note is what help says of a program beside its summary.
func (d Description) note() string {
	text := "A program of whoever runs this bot does it, within " + markup.Took(d.limit) + ". "
	switch {
	case d.Effect != "write":
		text += "When I am stopped meanwhile, it is run again by itself."
	case d.Idempotent:
		text += "When I am stopped meanwhile, it is run again by itself; it says that it does nothing twice."
	default:
		text += "When I am stopped meanwhile, it is not run again by itself: ask again then."
	}
	for i, verb := range d.Calls {
		switch i {
		case 0:
			text += " For you it may ask for " + verb
		case len(d.Calls) - 1:
			text += " and " + verb
		default:
			text += ", " + verb
		}
	}
	if len(d.Calls) > 0 {
		text += ", as far as you may."
	}
	return text
}

// Catalogue gives one sample of each message kind that this package itself says.
func Catalogue() []markup.Message {
	report := Description{Verb: "report", Effect: "write", limit: 30 * time.Second}
	reader, again := report, report
	reader.Effect, again.Idempotent = "read", true
	lines := []string{"sending to @**all**", "connection refused"}
	return []markup.Message{
		crashed(report, errors.New("exit status 1"), lines),
		misspoken(again, 2, errors.New(`message.blocks[0].kind "actions": a program's message has no buttons`), nil),
		overtime(reader, lines[1:]),
		interrupted(report),
	}
}
