package exec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// program is one program, ready to run.
type program struct {
	Config
	path  string
	about Description
}

// command is the command that runs the program.
func (p *program) command() commands.Command {
	d := p.about
	c := commands.Command{
		Bot: d.Bot, Verb: d.Verb, Summary: d.Summary, Examples: d.Examples, Effect: d.Effect, Action: d.Action, Note: d.note(), Run: p.run,
	}
	if t := d.grammar(); t != nil {
		c.Args = func() any { return reflect.New(t).Interface() }
	}
	return c
}

// run answers a request. A write that does not say that it may be repeated is
// recorded before it begins: what was interrupted is told, and not run again.
func (p *program) run(ctx context.Context, req commands.Request, reply commands.Reply) error {
	if err := trustedFile(p.path); err != nil {
		return refusal(fmt.Sprintf("%s is not run: %v. Whoever runs this bot can mend that.", p.about.Verb, err))
	}
	if p.about.Effect != commands.Write || p.about.Idempotent {
		answer, err := p.answer(ctx, req, reply)
		if err != nil || answer == nil {
			return err
		}
		return reply.Answer(ctx, *answer)
	}
	said, fresh, err := p.Ledger.BeginProgram(ctx, req.Key, p.Now())
	if err != nil {
		return err
	}
	if fresh {
		answer, err := p.answer(ctx, req, reply)
		if err != nil {
			return err
		}
		if said, err = json.Marshal(answer); err != nil {
			return err
		}
	} else if said == nil {
		if said, err = json.Marshal(interrupted(p.about)); err != nil {
			return err
		}
	}
	if err := p.Ledger.EndProgram(context.WithoutCancel(ctx), req.Key, said, p.Now()); err != nil {
		return err
	}
	var answer *markup.Message
	if err := json.Unmarshal(said, &answer); err != nil || answer == nil {
		return err
	}
	return reply.Answer(ctx, *answer)
}

// What ends a run before the program does.
var (
	errOvertime = errors.New("its time is over")
	errEnough   = errors.New("nothing more is read")
)

// answer runs the program and returns what it answers, or what is to be said of
// how it ended; nil when it ended well and said nothing. An error is not the program's.
func (p *program) answer(ctx context.Context, req commands.Request, reply commands.Reply) (*markup.Message, error) {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	running, cancel := context.WithTimeoutCause(running, p.about.limit, errOvertime)
	defer cancel()
	c := &conversation{program: p, ctx: running, reply: reply, stop: stop, heard: make(chan struct{})}
	log := &tail{log: p.Log.With("file", p.path, "key", req.Key)}
	request, err := p.request(req)
	if err != nil {
		return nil, err
	}
	err = process{
		path: p.path, env: p.env(), grace: p.Grace, out: c, log: log,
		talk: func(stdin io.Writer, gone <-chan struct{}) { c.talk(stdin, request, gone) },
	}.run(running)
	if err == nil {
		c.finish()
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case c.fault != nil:
		return nil, c.fault
	case c.wrong != nil:
		return said(misspoken(p.about, c.lines, c.wrong, log.lines())), nil
	case errors.Is(context.Cause(running), errOvertime):
		return said(overtime(p.about, log.lines())), nil
	case err != nil:
		return said(crashed(p.about, err, log.lines())), nil
	}
	return c.answer, nil
}

func said(m markup.Message) *markup.Message { return &m }

// Asked is a request as a program gets it: one line on its standard input. It
// holds no secret: a program that wants something of the platform calls a command.
type Asked struct {
	Version int            `json:"version"` // 1
	Key     string         `json:"key"`     // of this request: the same when it is run again
	Bot     string         `json:"bot"`
	Verb    string         `json:"verb"`
	Args    map[string]any `json:"args"` // every argument by its name
	Text    string         `json:"text"` // as it was written
	Who     struct {
		Persona string   `json:"persona"`
		Name    string   `json:"name"`
		Groups  []string `json:"groups"`
	} `json:"who"`
	Place   commands.Place `json:"place"`
	Link    string         `json:"link,omitempty"`
	Project string         `json:"project,omitempty"` // whose stream it was asked in
	At      time.Time      `json:"at"`
}

// request writes a request as the program gets it.
func (p *program) request(req commands.Request) ([]byte, error) {
	asked := Asked{
		Version: Version, Key: req.Key, Bot: req.Bot, Verb: req.Verb, Args: p.about.named(req.Args), Text: req.Text,
		Place: req.Place, Link: req.Link, Project: req.Project, At: req.At,
	}
	asked.Who.Persona, asked.Who.Name, asked.Who.Groups = req.Who.Persona, req.Who.Name, req.Who.Groups
	return jsonLine(asked)
}

// jsonLine is a value as one line of JSON.
func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}
