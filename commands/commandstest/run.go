package commandstest

import (
	"context"
	"strings"
	"testing"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// Ask is what a person says to a bot. Only Text is needed.
type Ask struct {
	Text    string          // with the verb, without the mention: "promote shop"
	Key     string          // default "test:1"
	Who     commands.Person // default: a developer
	Place   commands.Place  // default: stream "general", topic "test"
	Project string          // the project whose stream it is asked in
	Link    string
	At      time.Time

	Confirmed string // as if a plan with this fingerprint had been confirmed

	// Calls answers what the command asks of other commands of its bot; nil: everything is refused.
	Calls func(words []string) commands.Called
}

// Developer is who asks when Ask.Who is empty.
var Developer = commands.Person{ChatID: "test:10", UserID: "10", Name: "Dev Developer", Persona: "developer", Groups: []string{"developers"}}

// Posted is a message said by Reply.Post.
type Posted struct {
	Key     string
	To      commands.Place
	Message markup.Message
}

// Recorder keeps what a command said, in order. It is a commands.Reply.
type Recorder struct {
	Answers  []markup.Message
	Progress []markup.Message
	Posts    []Posted
	Calls    [][]string // what was asked of other commands, in words
	Err      error      // what Run returned, or the *commands.UsageError of parsing
}

// Answer is the last answer given; the zero Message when there is none.
func (r *Recorder) Answer() markup.Message {
	if len(r.Answers) == 0 {
		return markup.Message{}
	}
	return r.Answers[len(r.Answers)-1]
}

// Final lists what stands in the chat at the end: the last message under each key, in the order of first posting.
func (r *Recorder) Final() []Posted {
	var out []Posted
	at := map[string]int{}
	for _, p := range r.Posts {
		if i, known := at[p.Key]; known {
			out[i] = p
			continue
		}
		at[p.Key] = len(out)
		out = append(out, p)
	}
	return out
}

// recording makes a Recorder the Reply of one run.
type recording struct {
	*Recorder
	calls func(words []string) commands.Called
}

// Call keeps what is asked, and answers as the test says.
func (r recording) Call(ctx context.Context, words []string) (commands.Called, error) {
	r.Calls = append(r.Calls, words)
	if r.calls == nil {
		refused := markup.Message{Kind: "test.refused", Status: markup.Refused, Title: markup.Spans(markup.T("Nothing is called in this test"))}
		return commands.Called{Outcome: commands.CallRefused, Message: refused}, ctx.Err()
	}
	return r.calls(words), ctx.Err()
}

func (r recording) Answer(ctx context.Context, m markup.Message) error {
	r.Answers = append(r.Answers, m)
	return ctx.Err()
}

func (r recording) Progress(ctx context.Context, m markup.Message) error {
	r.Recorder.Progress = append(r.Recorder.Progress, m)
	return ctx.Err()
}

func (r recording) Post(ctx context.Context, key string, to commands.Place, m markup.Message) error {
	r.Posts = append(r.Posts, Posted{key, to, m})
	return ctx.Err()
}

// Run registers cmd, parses what is asked, runs it as a bot would and returns
// what it said. What ends it is in Recorder.Err; nothing is failed for it.
func Run(t testing.TB, cmd commands.Command, ask Ask) *Recorder {
	t.Helper()
	return RunContext(t.Context(), t, cmd, ask)
}

// RunContext is Run under a context of the test's own.
func RunContext(ctx context.Context, t testing.TB, cmd commands.Command, ask Ask) *Recorder {
	t.Helper()
	registry, err := commands.NewRegistry(cmd)
	if err != nil {
		t.Fatal(err)
	}
	rec := &Recorder{}
	call, err := registry.Parse(cmd.Bot, ask.Text)
	if err != nil {
		rec.Err = err
		return rec
	}
	rec.Err = call.Command.Run(ctx, ask.request(cmd.Bot, call), recording{rec, ask.Calls})
	return rec
}

// request fills in what the test left open.
func (a Ask) request(bot string, call commands.Call) commands.Request {
	if a.Who.ChatID == "" {
		a.Who = Developer
	}
	if a.Key == "" {
		a.Key = "test:1"
	}
	if a.Place == (commands.Place{}) {
		a.Place = commands.Place{Stream: "general", Topic: "test"}
	}
	return commands.Request{
		Key: a.Key, Bot: bot, Verb: call.Verb, Args: call.Args, Text: strings.TrimSpace(a.Text),
		Who: a.Who, Place: a.Place, Link: a.Link, Project: a.Project, At: a.At, Confirmed: a.Confirmed,
	}
}

// Pick finds a command of a list by its verb.
func Pick(t testing.TB, cmds []commands.Command, verb string) commands.Command {
	t.Helper()
	for _, c := range cmds {
		if c.Verb == verb {
			return c
		}
	}
	t.Fatalf("no command has the verb %q", verb)
	return commands.Command{}
}
