package commands

import (
	"context"
	"strings"
	"unicode"

	"platform.dev/platform/bots/markup"
)

// The verbs that a bot has besides its own, help aside.
const (
	explainVerb = "explain"
	confirmVerb = "confirm"
	cancelVerb  = "cancel"
)

// Explainer is a Reply that knows who may do what, and what is asked before.
type Explainer interface {
	// Explain tells of a command, as it would be asked by whoever asks.
	Explain(ctx context.Context, call Call) (markup.Message, error)
}

// Settler is a Reply that takes a person's word to what waits for it.
type Settler interface {
	// Settle notes yes or no to the question with the code. What comes of it
	// happens, and is told, once Run has returned.
	Settle(code string, yes bool)
}

// explainArgs are the arguments of explain: a command as it would be asked.
type explainArgs struct {
	Command []string `arg:"" passthrough:"" help:"The command, with arguments or without."`
}

// codeArgs are the arguments of confirm and cancel.
type codeArgs struct {
	Code string `arg:"" help:"The code that stands under the question."`
}

// builtins are the verbs that the registry gives a bot, in the order of its help.
// Words are taken only by bots that have something to confirm.
func (r *Registry) builtins(bot string) []Command {
	all := []Command{r.explain(bot)}
	for _, c := range r.verbs[bot] {
		if c.Effect == Write {
			all = append(all,
				word(bot, confirmVerb, "go on with what a bot asks about", true),
				word(bot, cancelVerb, "call off what a bot asks about", false))
			break
		}
	}
	return append(all, r.help(bot))
}

// first is a verb of the bot, for examples.
func (r *Registry) first(bot string) string {
	if cmds := r.verbs[bot]; len(cmds) > 0 {
		return cmds[0].Verb
	}
	return helpVerb
}

// explain tells who may do what, and what is asked before.
func (r *Registry) explain(bot string) Command {
	return Typed(Command{
		Bot: bot, Verb: explainVerb, Effect: Read,
		Summary:  "tell whether you may do something, who may, and what is asked before",
		Examples: []string{explainVerb + " " + r.first(bot)},
	}, func(ctx context.Context, req Request, args *explainArgs, reply Reply) error {
		call, err := r.meant(req.Bot, args.Command)
		if err != nil {
			return err
		}
		e, ok := reply.(Explainer)
		if !ok { // who asks for nobody's permission is told what everybody is
			m, err := r.HelpFor(req.Bot, call.Verb)
			if err != nil {
				return err
			}
			return reply.Answer(ctx, m)
		}
		m, err := e.Explain(ctx, call)
		if err != nil {
			return err
		}
		return reply.Answer(ctx, m)
	})
}

// meant is the command that words ask for; a verb alone stands for itself,
// although it needs arguments.
func (r *Registry) meant(bot string, words []string) (Call, error) {
	verb := strings.ToLower(words[0])
	c, known := r.Find(bot, verb)
	if known && len(words) == 1 {
		call := Call{Command: c, Verb: c.Verb, Text: c.Verb}
		if c.Args != nil {
			call.Args = c.Args()
		}
		return call, nil
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return r.Parse(bot, strings.Join(quoted, " "))
}

// quote is a word as split reads it back.
func quote(word string) string {
	if word != "" && !strings.ContainsAny(word, "\"'\\") && strings.IndexFunc(word, unicode.IsSpace) < 0 {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}

// word is a verb that takes a person's word to the question that waits for it.
// It needs no permission of its own: whoever gives the word needs that of what is asked about.
func word(bot, verb, summary string, yes bool) Command {
	return Typed(Command{
		Bot: bot, Verb: verb, Effect: Read, Summary: summary, Examples: []string{verb + " k7m2qx"},
	}, func(_ context.Context, _ Request, args *codeArgs, reply Reply) error {
		s, ok := reply.(Settler)
		if !ok {
			return nothingAsked(verb)
		}
		s.Settle(args.Code, yes)
		return nil
	})
}
