package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// conversation is what is said between us and one run of a program. Its Write
// and finish are called one after the other.
type conversation struct {
	program *program
	ctx     context.Context //nolint:containedctx // of the one run that this value lives for
	reply   commands.Reply
	stop    context.CancelCauseFunc

	part  []byte // of a line
	size  int
	lines int
	wrong error // what cannot be read of what it says, in the line with number lines
	fault error // what broke on our side

	answer   *markup.Message
	progress int
	posts    int
	calls    int

	stdin io.Writer
	heard chan struct{} // closed when the request was written
}

// talk writes the request, and stays while results of calls may be written.
func (c *conversation) talk(stdin io.Writer, request []byte, gone <-chan struct{}) {
	c.stdin = stdin
	_, err := stdin.Write(request) // a program may end without reading it
	close(c.heard)
	if err != nil || len(c.program.about.Calls) == 0 {
		return
	}
	<-gone
}

// Write takes what the program says. An error ends the program.
func (c *conversation) Write(text []byte) (int, error) {
	if c.size += len(text); c.size > maxOutput {
		c.lines++
		return 0, c.misspoke(fmt.Errorf("it said more than %d bytes", maxOutput))
	}
	for rest := text; len(rest) > 0; {
		head, after, whole := bytes.Cut(rest, []byte("\n"))
		if c.part = append(c.part, head...); len(c.part) > maxLine {
			c.lines++
			return 0, c.misspoke(fmt.Errorf("it has more than %d bytes", maxLine))
		}
		if whole {
			if err := c.line(); err != nil {
				return 0, err
			}
		}
		rest = after
	}
	return len(text), nil
}

// finish takes a last line that does not end in a newline.
func (c *conversation) finish() {
	if c.wrong == nil && c.fault == nil {
		_ = c.line() // kept in c
	}
}

// line ends a line, and does what it says.
func (c *conversation) line() error {
	text := bytes.TrimSpace(c.part)
	c.part = c.part[:0]
	c.lines++
	if len(text) == 0 {
		return nil
	}
	l, err := ParseLine(text, c.program.about.Verb)
	if err != nil {
		return c.misspoke(err)
	}
	switch {
	case l.Message != nil && c.answer != nil:
		return c.misspoke(errors.New("it answered before; say progress for what is said on the way"))
	case l.Message != nil:
		c.answer = l.Message
		return nil
	case l.Progress != nil:
		if c.progress++; c.progress > maxProgress {
			return c.misspoke(fmt.Errorf("there may be %d lines of progress", maxProgress))
		}
		return c.broke(c.reply.Progress(c.ctx, *l.Progress))
	case l.Post != nil:
		if c.posts++; c.posts > maxPosts {
			return c.misspoke(fmt.Errorf("there may be %d posts", maxPosts))
		}
		to := commands.Place{Stream: l.Post.Place.Stream, Topic: l.Post.Place.Topic}
		return c.broke(c.reply.Post(c.ctx, l.Post.Key, to, l.Post.Message))
	default:
		return c.call(*l.Call)
	}
}

// Result is what came of a call: one line on the program's standard input.
type Result struct {
	Result struct {
		Verb    string               `json:"verb"`
		Outcome commands.CallOutcome `json:"outcome"`
		Text    string               `json:"text"` // the message as plain text
		Message markup.Message       `json:"message"`
	} `json:"result"`
}

// call asks for another command, for who asked.
func (c *conversation) call(call Call) error {
	may := c.program.about.Calls
	caller, can := c.reply.(commands.Caller)
	switch {
	case !slices.Contains(may, call.Verb):
		return c.misspoke(fmt.Errorf("call.verb %s: its description does not name it under calls", quoted(call.Verb)))
	case !can:
		return c.misspoke(errors.New("call: a command that was called calls no other"))
	}
	if c.calls++; c.calls > maxCalled {
		return c.misspoke(fmt.Errorf("there may be %d calls", maxCalled))
	}
	came, err := caller.Call(c.ctx, append([]string{call.Verb}, call.Args...))
	if err != nil {
		return c.broke(err)
	}
	var r Result
	r.Result.Verb, r.Result.Outcome, r.Result.Text, r.Result.Message = call.Verb, came.Outcome, markup.Plain(came.Message), came.Message
	text, err := jsonLine(r)
	if err != nil {
		return c.broke(err)
	}
	select {
	case <-c.heard:
		_, _ = c.stdin.Write(text) // a program that does not read it has its reasons
	case <-c.ctx.Done():
	}
	return nil
}

// misspoke ends the program because of what it said.
func (c *conversation) misspoke(why error) error {
	c.wrong = why
	c.stop(errEnough)
	return errEnough
}

// broke ends the program because of what broke on our side; nil when nothing did.
func (c *conversation) broke(err error) error {
	if err == nil || c.ctx.Err() != nil { // its end is told as what ended it
		return err
	}
	c.fault = err
	c.stop(errEnough)
	return errEnough
}
