package commands

import (
	"context"

	"github.com/alecthomas/kong"

	"platform.dev/platform/bots/markup"
)

// helpVerb is the verb that every bot has.
const helpVerb = "help"

// helpArgs are the arguments of help.
type helpArgs struct {
	Command string `arg:"" optional:"" help:"The command to explain."`
}

// help is a bot's built-in command.
func (r *Registry) help(bot string) Command {
	return Typed(Command{
		Bot: bot, Verb: helpVerb, Effect: Read,
		Summary:  "list what can be asked, or explain one command",
		Examples: []string{helpVerb, helpVerb + " " + r.first(bot)},
	}, func(ctx context.Context, req Request, args *helpArgs, reply Reply) error {
		if args.Command == "" {
			return reply.Answer(ctx, r.Help(req.Bot))
		}
		m, err := r.HelpFor(req.Bot, args.Command)
		if err != nil {
			return err
		}
		return reply.Answer(ctx, m)
	})
}

// Help lists a bot's commands.
func (r *Registry) Help(bot string) markup.Message {
	var items [][]markup.Span
	for _, c := range r.verbs[bot] {
		items = append(items, markup.Spans(markup.C(c.Usage()), markup.T(": "+c.Summary)))
	}
	return markup.Message{
		Kind: "help.bot", Status: markup.Notice,
		Title: markup.Spans(markup.T("What "), markup.B(bot), markup.T(" understands")),
		Blocks: []markup.Block{
			markup.List(items...),
			markup.Text(markup.T("Mention the bot and say one of these; "), markup.C("@"+bot+" help <command>"), markup.T(" explains it.")),
		},
	}
}

// HelpFor explains one command; the error is a *UsageError when the bot has no such verb.
func (r *Registry) HelpFor(bot, verb string) (markup.Message, error) {
	c, known := r.Find(bot, verb)
	if !known {
		return markup.Message{}, r.unknownVerb(bot, verb)
	}
	m := markup.Message{
		Kind: "help.command", Status: markup.Notice,
		Title:  markup.Spans(markup.C("@" + bot + " " + c.Usage())),
		Blocks: []markup.Block{markup.Text(markup.T(sentence(capital(c.Summary))))},
	}
	if c.Note != "" {
		m.Blocks = append(m.Blocks, markup.Text(markup.T(c.Note)))
	}
	var fields []markup.Field
	if c.Args != nil {
		if parser, err := grammar(c.Verb, c.Args()); err == nil {
			fields = argumentFields(parser)
		}
	}
	effect := "it only reads: nothing is changed"
	switch {
	case c.Effect == Write:
		effect = "it changes something"
	case verb == confirmVerb:
		effect = "what is asked about is done, for whoever asked for it"
	}
	fields = append(fields, markup.Named("effect", markup.T(effect)), markup.Named("who may", whoMay(c)...), markup.Named("for example", examples(c)...))
	m.Blocks = append(m.Blocks, markup.Fields(fields...),
		markup.Text(markup.C("@"+bot+" "+explainVerb+" "+verb), markup.T(" tells whether you may, and what is asked before.")))
	return m, nil
}

// argumentFields names each argument with its help.
func argumentFields(parser *kong.Kong) []markup.Field {
	var out []markup.Field
	for _, p := range parser.Model.Positional {
		out = append(out, markup.Named(p.Name, markup.T(p.Help)))
	}
	for _, f := range parser.Model.Flags {
		if !f.Hidden {
			out = append(out, markup.Named("--"+f.Name, markup.T(f.Help)))
		}
	}
	return out
}

// whoMay says what a person needs to run the command.
func whoMay(c Command) []markup.Span {
	if c.Action == "" {
		return markup.Spans(markup.T("everyone whom the bot knows"))
	}
	return markup.Spans(markup.T("people with the permission "), markup.C(c.Action))
}

// capital begins a sentence.
func capital(text string) string {
	if text == "" {
		return ""
	}
	if c := text[0]; c >= 'a' && c <= 'z' {
		return string(c-'a'+'A') + text[1:]
	}
	return text
}
