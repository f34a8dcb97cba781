package terminal

import (
	"fmt"
	"slices"
	"strings"
)

// Verb is what a typed line asks of the conversation itself.
type Verb string

// The verbs. A line without one is something to say.
const (
	Say     Verb = ""
	GoTo    Verb = "/to"
	Stream  Verb = "/stream"
	Topic   Verb = "/topic"
	Direct  Verb = "/dm"
	Streams Verb = "/streams"
	Help    Verb = "/help"
	Quit    Verb = "/quit"
)

// Typed is a typed line as it was meant.
type Typed struct {
	Verb          Verb
	Stream, Topic string
	Who           string // whom Direct is for
	Text          string // what is to be said; empty where Direct only goes there
}

// verbs is what can be typed besides words, as help lists it.
var verbs = []struct {
	verb        Verb
	takes, does string
}{
	{GoTo, "STREAM TOPIC", "go somewhere else (the topic may contain spaces)"},
	{Stream, "STREAM", "go to another stream, to the same topic"},
	{Topic, "TOPIC", "go to another topic of the same stream"},
	{Direct, "WHO [TEXT]", "say something to one person or bot alone, or, without a text, go there"},
	{Streams, "", "the streams there are for you"},
	{Help, "", "this"},
	{Quit, "", "leave (so does Ctrl-D)"},
}

// VerbHelp lists the verbs but those left out, a line each.
func VerbHelp(without ...Verb) string {
	var b strings.Builder
	for _, v := range verbs {
		if !slices.Contains(without, v.verb) {
			fmt.Fprintf(&b, "  %-20s %s\n", strings.TrimSpace(string(v.verb)+" "+v.takes), v.does)
		}
	}
	return b.String()
}

// ReadTyped reads a typed line. "/me" and what begins with two slashes, of which
// one is taken away, is said as it stands. A verb that there is not, or that lacks
// what it takes, is an error for whoever typed it.
func ReadTyped(line string) (Typed, error) {
	line = strings.TrimSpace(line)
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch verb := Verb(strings.ToLower(word)); {
	case strings.HasPrefix(line, "//"):
		return Typed{Text: line[1:]}, nil
	case !strings.HasPrefix(line, "/"), verb == "/me":
		return Typed{Text: line}, nil
	case verb == "/q", verb == "/exit":
		return Typed{Verb: Quit}, nil
	default:
		return meant(verb, rest)
	}
}

// meant reads what stands behind a verb.
func meant(verb Verb, rest string) (Typed, error) {
	t := Typed{Verb: verb}
	var missing bool
	switch verb {
	case GoTo:
		t.Stream, t.Topic, _ = strings.Cut(rest, " ")
		t.Topic = strings.TrimSpace(t.Topic)
		missing = t.Stream == "" || t.Topic == ""
	case Stream:
		t.Stream = rest
		missing = rest == ""
	case Topic:
		t.Topic = rest
		missing = rest == ""
	case Direct:
		t.Who, t.Text = addressee(rest)
		missing = t.Who == ""
	case Streams, Help, Quit:
	default:
		return Typed{}, fmt.Errorf("there is no %s; /help lists what there is, and // begins a message with a slash", harmlessLine(shortened(string(verb))))
	}
	t.Stream = strings.TrimPrefix(t.Stream, "#")
	t.Who = strings.TrimPrefix(t.Who, "@")
	if missing {
		for _, v := range verbs {
			if v.verb == verb {
				return Typed{}, fmt.Errorf("say %s %s", v.verb, v.takes)
			}
		}
	}
	return t, nil
}

// addressee divides who is meant from what is said; a name with spaces stands in quotes.
func addressee(text string) (who, rest string) {
	if name, ok := strings.CutPrefix(text, `"`); ok {
		if name, rest, ok := strings.Cut(name, `"`); ok {
			return strings.TrimSpace(name), strings.TrimSpace(rest)
		}
	}
	who, rest, _ = strings.Cut(text, " ")
	return who, strings.TrimSpace(rest)
}
