package exec

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// The bounds of what a program says.
const (
	maxLine     = 64 << 10 // bytes of one line
	maxOutput   = 1 << 20  // bytes in all
	maxProgress = 100
	maxPosts    = 20
	maxCalled   = 20
	maxName     = 60 // code points of a stream, a topic or a key
	maxWords    = 50 // of a call
)

// Line is one line that a program says: exactly one of its fields is set.
type Line struct {
	Message  *markup.Message `json:"message"`  // the answer; once
	Progress *markup.Message `json:"progress"` // how far it is, in place of what it said of that before
	Post     *Post           `json:"post"`
	Call     *Call           `json:"call"`
}

// Post says something in another place, once per key.
type Post struct {
	Key   string `json:"key"`
	Place struct {
		Stream string `json:"stream"`
		Topic  string `json:"topic"`
	} `json:"place"`
	Message markup.Message `json:"message"`
}

// Call asks for another command of the bot; its result comes as a line on the standard input.
type Call struct {
	Verb string   `json:"verb"`
	Args []string `json:"args"` // as words are written in chat: "shop", "--component", "shop-web"
}

// ParseLine reads one line of a program with this verb. Every message in it is
// tame. The error names field and value.
func ParseLine(text []byte, verb string) (Line, error) {
	var l Line
	if err := strict(text, maxLine, &l); err != nil {
		return Line{}, err
	}
	said := 0
	for _, set := range []bool{l.Message != nil, l.Progress != nil, l.Post != nil, l.Call != nil} {
		if set {
			said++
		}
	}
	if said != 1 {
		return Line{}, fmt.Errorf("a line says one of message, progress, post and call; this one says %d of them", said)
	}
	for name, m := range map[string]*markup.Message{"message": l.Message, "progress": l.Progress} {
		if m == nil {
			continue
		}
		tamed, err := tame(*m, verb)
		if err != nil {
			return Line{}, fmt.Errorf("%s.%w", name, err)
		}
		*m = tamed
	}
	if l.Post != nil {
		if err := l.Post.check(verb); err != nil {
			return Line{}, fmt.Errorf("post.%w", err)
		}
	}
	if l.Call != nil {
		if err := l.Call.check(); err != nil {
			return Line{}, fmt.Errorf("call.%w", err)
		}
	}
	return l, nil
}

// check checks a post and tames its message.
func (p *Post) check(verb string) (err error) {
	for _, c := range []struct{ field, value string }{{"key", p.Key}, {"place.stream", p.Place.Stream}, {"place.topic", p.Place.Topic}} {
		if !line(c.value, maxName) || strings.TrimSpace(c.value) != c.value {
			return fmt.Errorf("%s %s: must be one line of 1 to %d characters", c.field, quoted(c.value), maxName)
		}
	}
	if p.Message, err = tame(p.Message, verb); err != nil {
		return fmt.Errorf("message.%w", err)
	}
	return nil
}

// check checks a call; whether it may be made is decided elsewhere.
func (c Call) check() error {
	if !word.MatchString(c.Verb) {
		return fmt.Errorf("verb %s: must be a lower-case word", quoted(c.Verb))
	}
	if len(c.Args) > maxWords {
		return fmt.Errorf("args: there are %d; there may be %d", len(c.Args), maxWords)
	}
	size := utf8.RuneCountInString(commands.Line(append([]string{c.Verb}, c.Args...)...))
	if size > commands.MaxText {
		return fmt.Errorf("args: they have %d characters; a command has at most %d", size, commands.MaxText)
	}
	return nil
}
