package bots

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// shownError is how much of an error's text is shown to people, in code points; the log has all of it.
const shownError = 300

// unknownPerson answers somebody whom the directory does not know.
func unknownPerson(h Heard, bot string) markup.Message {
	return markup.Message{
		Kind: "bots.unknown", Status: markup.Refused,
		Title: markup.Spans(markup.T("Sorry, I do not know you yet, "), markup.F(h.Name)),
		Blocks: []markup.Block{markup.Text(
			markup.T("The "), markup.B(bot), markup.T(" bot answers people whom an administrator has listed. You are "), markup.C(h.ChatID),
			markup.T(": ask an administrator to list that."),
		)},
	}
}

// denied answers somebody who lacks the permission action ("" for a write that
// names none): who they are, what is needed, whom to ask.
func denied(p commands.Person, call commands.Call, action string, holders []string) markup.Message {
	groups := "no group"
	if len(p.Groups) > 0 {
		groups = strings.Join(p.Groups, ", ")
	}
	ask := whom(holders)
	m := markup.Message{Kind: "bots.denied", Status: markup.Refused, Title: markup.Spans(markup.T("You may not run "), markup.C(call.Verb))}
	needed := markup.Spans(markup.C(call.Verb), markup.T(" needs the permission "), markup.C(action), markup.T(", which you do not have."))
	switch {
	case action == "":
		needed = markup.Spans(markup.C(call.Verb), markup.T(" changes something and names no permission, so nobody may run it."))
		ask = "whoever wrote it"
	case action != call.Command.Action:
		m.Kind, m.Title = "bots.beyond", markup.Spans(markup.T("That is more than you may ask of "), markup.C(call.Verb))
		needed = markup.Spans(markup.T("You may "), markup.C(call.Verb), markup.T(", but what you ask needs the permission "), markup.C(action), markup.T(" as well."))
	}
	why := append(markup.Spans(markup.T("You are "), markup.F(p.Name), markup.T(", "), markup.C(p.Persona), markup.T(" ("+groups+"). ")), needed...)
	m.Blocks = []markup.Block{markup.Text(append(why, markup.T(" Ask "+ask+". Nothing was changed."))...)}
	return m
}

// whom to ask for a permission that these groups have.
func whom(holders []string) string {
	if len(holders) == 0 {
		return "an administrator"
	}
	return "somebody in " + strings.Join(holders, " or ")
}

// stale answers a write that was heard too late to be what its author still wants.
func stale(call commands.Call, age time.Duration) markup.Message {
	return markup.Message{
		Kind: "bots.stale", Status: markup.Refused,
		Title: markup.Spans(markup.T("You asked for "), markup.C(call.Verb), markup.T(" "+markup.Ago(age)+"; ask again")),
		Blocks: []markup.Block{markup.Text(markup.T(
			"I was away when you wrote it. What changes something is not run that late. Nothing was changed."))},
	}
}

// refused shows a decision word for word: its first line as the title.
func refused(sentence string) markup.Message {
	title, rest, _ := strings.Cut(strings.TrimSpace(sentence), "\n")
	m := markup.Message{Kind: "bots.refused", Status: markup.Refused, Title: markup.Spans(markup.F(title))}
	if rest = strings.TrimSpace(rest); rest != "" {
		m.Blocks = []markup.Block{markup.Text(markup.F(rest))}
	}
	return m
}

// finished answers for a command that ended well and said nothing itself.
func finished(verb string) markup.Message {
	return markup.Message{Kind: "bots.done", Status: markup.Done, Title: markup.Spans(markup.C(verb), markup.T(" is done"))}
}

// failed tells of an error: the text names the part that failed, the id finds it in the log.
func failed(id string, err error) markup.Message {
	what := markup.Spans(markup.F(short(err.Error())))
	var p *panicked
	if errors.As(err, &p) {
		what = markup.Spans(markup.T("The command itself broke."))
	}
	return markup.Message{
		Kind: "bots.failed", Status: markup.Failed,
		Title: markup.Spans(markup.T("That did not work")),
		Blocks: []markup.Block{
			markup.Text(what...),
			markup.Text(markup.T("The log has the details under fault "), markup.C(id), markup.T(". Ask again; if it fails again, tell an administrator the fault.")),
		},
	}
}

// overtime tells that a command was stopped because it took too long.
func overtime(id string, limit time.Duration, err error) markup.Message {
	m := failed(id, err)
	m.Kind = "bots.overtime"
	m.Title = markup.Spans(markup.T(fmt.Sprintf("That was stopped: it took longer than %s", plain(limit))))
	return m
}

// short is a text cut to what is shown, visibly.
func short(text string) string {
	if r := []rune(text); len(r) > shownError {
		return string(r[:shownError]) + "…"
	}
	return text
}

// plain writes a duration without the units that are zero: "30m", not "30m0s".
func plain(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
