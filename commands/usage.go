package commands

import (
	"fmt"
	"strings"

	"platform.dev/platform/bots/markup"
)

// UsageError is a message that was not understood as a command: nothing ran.
// Its Message says what was not understood, naming argument and value, and how to ask.
type UsageError struct {
	Message markup.Message
}

// Error is the message as plain text.
func (e *UsageError) Error() string { return markup.Plain(e.Message) }

// Refused marks the error as an answer for people.
func (e *UsageError) Refused() string { return e.Error() }

// longest is how much of a person's own text is shown back.
const longest = 80

// shown is a text, cut where it is long, visibly.
func shown(text string) string {
	if r := []rune(text); len(r) > longest {
		return string(r[:longest]) + "…"
	}
	return text
}

func tooLong(n, limit int, unit string) *UsageError {
	return &UsageError{markup.Message{
		Kind: "usage.long", Status: markup.Failed,
		Title:  markup.Spans(markup.T("That is too long to be a command")),
		Blocks: []markup.Block{markup.Text(markup.T(fmt.Sprintf("It has %d %s; a command has at most %d.", n, unit, limit)))},
	}}
}

func badQuote(bot, text string) *UsageError {
	return &UsageError{markup.Message{
		Kind: "usage.quote", Status: markup.Failed,
		Title: markup.Spans(markup.T("A quote is opened and not closed")),
		Blocks: []markup.Block{
			markup.Text(markup.T("Heard: "), markup.C(shown(text))),
			markup.Text(markup.T("Put words that belong together between two quotes, as in "), markup.C(`--reason "two words"`), markup.T(". "), askHelp(bot), markup.T(" lists the commands.")),
		},
	}}
}

// nothingAsked answers a word to a bot that asks nothing.
func nothingAsked(verb string) *UsageError {
	return &UsageError{markup.Message{
		Kind: "usage.nothing", Status: markup.Failed,
		Title:  markup.Spans(markup.T("There is nothing to "), markup.C(verb)),
		Blocks: []markup.Block{markup.Text(markup.T("Nobody is asked to confirm anything here: ask for what you want done."))},
	}}
}

// askHelp says how to see the commands.
func askHelp(bot string) markup.Span { return markup.C("@" + bot + " help") }

func (r *Registry) unknownVerb(bot, verb string) *UsageError {
	var verbs []string
	for _, c := range r.verbs[bot] {
		verbs = append(verbs, c.Verb)
	}
	m := markup.Message{
		Kind: "usage.unknown", Status: markup.Failed,
		Title: markup.Spans(markup.T("There is no command "), markup.C(shown(verb)), markup.T(" of "), markup.B(bot)),
	}
	if near := Near(verb, verbs); len(near) > 0 {
		m.Blocks = append(m.Blocks, markup.Text(append(markup.Spans(markup.T("Did you mean ")), append(list(near, " or "), markup.T("?"))...)...))
	}
	m.Blocks = append(m.Blocks, markup.Text(append(markup.Spans(markup.T("There are ")), append(list(verbs, " and "), markup.T("."))...)...))
	return &UsageError{m}
}

// list writes names as "a, b or c".
func list(names []string, last string) []markup.Span {
	var out []markup.Span
	for i, n := range names {
		switch {
		case i == 0:
		case i == len(names)-1:
			out = append(out, markup.T(last))
		default:
			out = append(out, markup.T(", "))
		}
		out = append(out, markup.C(n))
	}
	return out
}

func badArguments(c Command, err error) *UsageError {
	return &UsageError{markup.Message{
		Kind: "usage.arguments", Status: markup.Failed,
		Title: markup.Spans(markup.C(c.Verb), markup.T(" was not understood: "), markup.F(shown(plainly(err)))),
		Blocks: []markup.Block{
			markup.Fields(markup.Named("how to ask", markup.C("@"+c.Bot+" "+c.Usage())), markup.Named("for example", examples(c)...)),
		},
	}}
}

// examples writes a command's examples in one line.
func examples(c Command) []markup.Span {
	var out []markup.Span
	for i, e := range c.Examples {
		if i > 0 {
			out = append(out, markup.T(" · "))
		}
		out = append(out, markup.C("@"+c.Bot+" "+e))
	}
	return out
}

// sentence puts a full stop behind what has none.
func sentence(text string) string { return strings.TrimSuffix(text, ".") + "." }
