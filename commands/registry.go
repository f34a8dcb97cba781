package commands

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxText is the most code points of a message that is read as a command.
const MaxText = 4000

// maxWords is the most words of a command.
const maxWords = 100

// Registry knows the commands of each bot. It does not change after it was made
// and may be used from any goroutine.
type Registry struct {
	bots   []string
	verbs  map[string][]Command // by bot, in the order given, help last
	routes map[string]*node     // by bot
}

// Call is a message understood: the command and its arguments.
type Call struct {
	Command Command
	Args    any    // what Command.Args made, filled; nil when the verb takes nothing
	Verb    string // as the command spells it
	Text    string // as asked, trimmed
}

// Actions are the permissions that what is asked for needs, all of them; none
// for a read that is open to everyone known.
func (c Call) Actions() []string {
	var all []string
	if c.Command.Action != "" {
		all = append(all, c.Command.Action)
	}
	if c.Command.Needs != nil {
		all = append(all, c.Command.Needs(c.Args)...)
	}
	return all
}

var name = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// NewRegistry checks commands and adds the verbs "explain" and "help" to each bot,
// and "confirm" and "cancel" to each that changes anything. It refuses
// duplicates, fields left empty, argument structs that a chat message must not
// fill, and examples that do not parse.
func NewRegistry(cmds ...Command) (*Registry, error) {
	r := &Registry{verbs: map[string][]Command{}, routes: map[string]*node{}}
	for _, c := range cmds {
		if err := r.add(c); err != nil {
			return nil, fmt.Errorf("command %q of bot %q: %w", c.Verb, c.Bot, err)
		}
	}
	for _, bot := range r.bots {
		for _, c := range r.builtins(bot) {
			if err := r.add(c); err != nil {
				return nil, fmt.Errorf("command %q of bot %q: %w", c.Verb, bot, err)
			}
		}
	}
	for _, bot := range r.bots {
		for _, c := range r.verbs[bot] {
			for _, example := range c.Examples {
				call, err := r.Parse(bot, example)
				if err != nil {
					return nil, fmt.Errorf("command %q of bot %q: example %q: %w", c.Verb, bot, example, err)
				}
				if call.Verb != c.Verb {
					return nil, fmt.Errorf("command %q of bot %q: example %q asks for %q", c.Verb, bot, example, call.Verb)
				}
			}
		}
	}
	return r, nil
}

// add checks one command and keeps it.
func (r *Registry) add(c Command) error {
	for _, check := range []struct {
		bad bool
		why string
	}{
		{!name.MatchString(c.Bot), "the bot's name must be a lower-case word"},
		{!name.MatchString(c.Verb), "the verb must be a lower-case word"},
		{strings.TrimSpace(c.Summary) == "", "a summary is missing"},
		{strings.HasSuffix(c.Summary, ".") || strings.Contains(c.Summary, "\n"), "the summary must be one line without a full stop"},
		{len(c.Examples) == 0, "an example is missing"},
		{c.Effect != Read && c.Effect != Write, fmt.Sprintf("the effect %q is neither read nor write", c.Effect)},
		{c.Effect == Write && c.Action == "", "a write must name the action that permits it"},
		{c.Run == nil, "it does nothing: Run is nil"},
	} {
		if check.bad {
			return fmt.Errorf("%s", check.why)
		}
	}
	if _, known := r.Find(c.Bot, c.Verb); known {
		return fmt.Errorf("the verb is taken")
	}
	if c.Args != nil {
		if err := checkArgs(c.Verb, c.Args()); err != nil {
			return err
		}
	}
	for _, other := range c.Also {
		if words := strings.Fields(other); len(words) < 2 || strings.Join(words, " ") != other {
			return fmt.Errorf("the other name %q must be two words or more; one word is a verb", other)
		}
		if taken, rest, ok := r.routeWords(c.Bot, strings.Fields(other)); ok && len(rest) == 0 {
			return fmt.Errorf("the other name %q is taken by %q", other, taken.Verb)
		}
		if _, err := c.parse(nil); err != nil {
			return fmt.Errorf("the other name %q gives no arguments: %w", other, err)
		}
	}
	if !slices.Contains(r.bots, c.Bot) {
		r.bots = append(r.bots, c.Bot)
		r.routes[c.Bot] = &node{}
	}
	r.verbs[c.Bot] = append(r.verbs[c.Bot], c)
	r.routes[c.Bot].learn([]string{c.Verb}, &c, false)
	for _, other := range c.Also {
		r.routes[c.Bot].learn(lowered(other), &c, true)
	}
	return nil
}

// Bots lists the bots that have commands, in the order they were given.
func (r *Registry) Bots() []string { return slices.Clone(r.bots) }

// Commands lists a bot's commands, in the order they were given, help last.
func (r *Registry) Commands(bot string) []Command { return slices.Clone(r.verbs[bot]) }

// Find gives the command of a bot and a verb.
func (r *Registry) Find(bot, verb string) (Command, bool) {
	if n := r.routes[bot]; n != nil && n.next[verb] != nil && n.next[verb].command != nil {
		return *n.next[verb].command, true
	}
	return Command{}, false
}

// Parse understands what was said to a bot, the mention removed. Nothing said
// asks for help; so does --help after a verb. The error is a *UsageError whose
// message says what was not understood and how to ask.
func (r *Registry) Parse(bot, text string) (Call, error) {
	if _, known := r.verbs[bot]; !known {
		return Call{}, fmt.Errorf("no bot is named %q", bot)
	}
	text = strings.TrimSpace(text)
	if n := utf8.RuneCountInString(text); n > MaxText {
		return Call{}, tooLong(n, MaxText, "characters")
	}
	words, err := split(text)
	if err != nil {
		return Call{}, badQuote(bot, text)
	}
	if len(words) > maxWords {
		return Call{}, tooLong(len(words), maxWords, "words")
	}
	if len(words) == 0 {
		words = []string{helpVerb}
	}
	c, rest, known := r.route(bot, text, words)
	if !known {
		return Call{}, r.unknownVerb(bot, words[0])
	}
	if len(rest) > 0 && (slices.Contains(rest, "--help") || rest[0] == "-h") {
		rest = []string{c.Verb}
		c, _ = r.Find(bot, helpVerb)
	}
	args, err := c.parse(rest)
	if err != nil {
		return Call{}, badArguments(c, err)
	}
	return Call{Command: c, Args: args, Verb: c.Verb, Text: text}, nil
}

// route finds the command that words ask for, which are those of the text, and the words of its arguments.
func (r *Registry) route(bot, text string, words []string) (Command, []string, bool) {
	if c, after, ok := r.Route(bot, text); ok {
		switch {
		case after == "":
			return *c, nil, true
		case len(r.routes[bot].next[c.Verb].next) == 0:
			return *c, words[1:], true
		} // else another name may begin with this verb, and be written with quotes
	}
	c, rest, ok := r.routeWords(bot, words)
	if !ok {
		return Command{}, nil, false
	}
	return *c, rest, true
}

// parse fills a fresh argument struct from words.
func (c Command) parse(words []string) (any, error) {
	if c.Args == nil {
		if len(words) > 0 {
			return nil, fmt.Errorf("unexpected argument %s", words[0])
		}
		return nil, nil
	}
	args := c.Args()
	parser, err := grammar(c.Verb, args)
	if err != nil {
		return nil, err
	}
	if _, err := parser.Parse(words); err != nil {
		return nil, err
	}
	return args, nil
}
