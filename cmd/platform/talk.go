package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	tty "golang.org/x/term"

	term "platform.dev/platform/bots/terminal"
	"platform.dev/platform/bots/zulip"
)

// talkHelp is what /help shows.
func talkHelp() string {
	return "Type a message to post it where you are. @platform and @walkthrough answer to \"help\".\n" + term.VerbHelp()
}

// talk reads along everywhere the account is subscribed and posts what is typed.
// Where nobody types, as from a pipe, it posts line by line, and waits for the
// bot's answer to each.
func talk(ctx context.Context, a *asker, t terminal, at place, wait time.Duration) error {
	me, err := a.client.Me(ctx)
	if err != nil {
		return fmt.Errorf("chat: %w", err)
	}
	if !at.direct() {
		at = place{Stream: cmp.Or(at.Stream, "walkthroughs"), Topic: cmp.Or(at.Topic, "chat")}
	}
	fmt.Fprintf(t.Out, "You are %s, in %s.\n%s", oneLine(me.FullName), at, talkHelp())

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &conversation{asker: a, t: t, at: at, me: me.ID}
	if !isTyped(t.In) {
		s.wait = wait
		return s.recite(ctx)
	}
	heard := follow(ctx, a.client, func(context.Context) error { return nil })
	defer heard.close()
	lines := typedLines(ctx, t.In)
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-heard.failed:
			return err
		case e := <-heard.events:
			s.hear(e)
		case line, ok := <-lines:
			if !ok {
				return nil
			}
			if quit, err := s.typed(ctx, line); err != nil || quit {
				return err
			}
		}
	}
}

// isTyped tells whether somebody types it.
func isTyped(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && tty.IsTerminal(int(f.Fd()))
}

// recite says what stands in lines that nobody types, one after the other.
func (c *conversation) recite(ctx context.Context) error {
	lines := typedLines(ctx, c.t.In)
	for {
		select {
		case <-ctx.Done():
			return nil
		case line, ok := <-lines:
			if !ok {
				return nil
			}
			if quit, err := c.typed(ctx, line); err != nil || quit {
				return err
			}
		}
	}
}

// line is what was typed, or why it was not read.
type line struct {
	text string
	err  error
}

// typedLines gives what is typed, until there is no more. A read of the terminal
// cannot be cancelled: the goroutine ends with the process, or with the line after
// the one that ended the conversation.
func typedLines(ctx context.Context, in io.Reader) <-chan line {
	lines := make(chan line)
	go func() {
		defer close(lines)
		err := term.Lines(in, func(text string, err error) error {
			select {
			case lines <- line{text, err}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if err != nil && ctx.Err() == nil {
			select {
			case lines <- line{err: err}:
			case <-ctx.Done():
			}
		}
	}()
	return lines
}

// conversation is the state of talk.
type conversation struct {
	asker *asker
	t     terminal
	at    place
	me    int64
	wait  time.Duration // for the answer to what is said; 0: it is heard with everything else
}

// hear prints what others wrote, and what they changed.
func (c *conversation) hear(e zulip.Event) {
	switch {
	case e.Type == "message" && e.Message != nil && e.Message.SenderID != c.me:
		fmt.Fprint(c.t.Out, heading(*e.Message), c.asker.show(e.Message.Content, c.t))
	case e.Type == "update_message" && e.Content != "" && !working(e.Content):
		fmt.Fprintf(c.t.Out, "(edited)\n%s", c.asker.show(e.Content, c.t))
	}
}

// typed does what a typed line asks for; quit tells that it asks for the end.
// What cannot be done is told, and the conversation goes on.
func (c *conversation) typed(ctx context.Context, l line) (quit bool, err error) {
	typed, err := term.ReadTyped(l.text)
	if l.err != nil {
		err = l.err
	}
	if err != nil {
		fmt.Fprintln(c.t.Out, err)
		return false, nil
	}
	switch typed.Verb {
	case term.Help:
		fmt.Fprint(c.t.Out, talkHelp())
	case term.Streams:
		return false, c.streams(ctx)
	case term.Quit:
		return true, nil
	case term.Say:
		return false, c.say(ctx, c.at, typed.Text)
	case term.Direct:
		return false, c.whisper(ctx, typed)
	case term.GoTo, term.Stream, term.Topic:
		c.move(typed)
	}
	return false, nil
}

// move goes to another topic or stream.
func (c *conversation) move(to term.Typed) {
	at := c.at
	if at.direct() {
		at = place{Stream: to.Stream, Topic: "chat"}
	}
	if to.Stream != "" {
		at.Stream = to.Stream
	}
	if to.Topic != "" {
		at.Topic = to.Topic
	}
	if at.Stream == "" {
		fmt.Fprintln(c.t.Out, "you are in no stream here; say /to STREAM TOPIC")
		return
	}
	c.at = at
	fmt.Fprintf(c.t.Out, "in %s\n", c.at)
}

// whisper says something to one alone, or goes there.
func (c *conversation) whisper(ctx context.Context, typed term.Typed) error {
	who, text, err := addressee(c.asker.users, typed)
	if err != nil {
		fmt.Fprintln(c.t.Out, err)
		return nil
	}
	if text != "" {
		return c.say(ctx, place{With: who}, text)
	}
	c.at = place{With: who}
	fmt.Fprintf(c.t.Out, "in %s\n", c.at)
	return nil
}

// maxName is how many words somebody's name may have without quotes.
const maxName = 6

// addressee divides who is meant from what is said to them, also where a name of
// several words stands without quotes.
func addressee(users []zulip.User, typed term.Typed) (who zulip.User, text string, err error) {
	if who, err = whoNamed(users, typed.Who); err == nil {
		return who, typed.Text, nil
	}
	name, rest := typed.Who, typed.Text
	for words := 1; words < maxName && rest != ""; words++ {
		var word string
		word, rest, _ = strings.Cut(rest, " ")
		name, rest = name+" "+word, strings.TrimSpace(rest)
		if found, wrong := whoNamed(users, name); wrong == nil {
			return found, rest, nil
		}
	}
	return zulip.User{}, "", err
}

// say posts a text. A refused post is told and the conversation goes on.
func (c *conversation) say(ctx context.Context, to place, text string) error {
	if text == "" {
		return nil
	}
	var err error
	if c.wait > 0 {
		err = c.asker.ask(ctx, c.t, to, text, c.wait)
	} else {
		_, err = c.asker.post(ctx, to, text)
	}
	var refused *zulip.Error
	if errors.As(err, &refused) && !refused.Fatal() {
		fmt.Fprintln(c.t.Out, refused.Msg)
		return nil
	}
	return err
}

func (c *conversation) streams(ctx context.Context) error {
	streams, err := c.asker.client.Subscriptions(ctx)
	if err != nil {
		return fmt.Errorf("chat: %w", err)
	}
	for _, s := range streams {
		fmt.Fprintf(c.t.Out, "  #%s  %s\n", oneLine(s.Name), oneLine(s.Description))
	}
	return nil
}
