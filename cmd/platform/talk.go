package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"platform.dev/platform/bots/zulip"
)

const talkHelp = `Type a message to post it where you are. @platform and @walkthrough answer to "help".
  /to STREAM TOPIC   go somewhere else (the topic may contain spaces)
  /streams           the streams you are in
  /help              this
  /quit              leave (so does Ctrl-D)
`

// talk reads along everywhere the account is subscribed and posts what is typed.
func talk(ctx context.Context, client *zulip.Client, t terminal, at place) error {
	a, err := newAsker(ctx, client)
	if err != nil {
		return err
	}
	me, err := client.Me(ctx)
	if err != nil {
		return fmt.Errorf("chat: %w", err)
	}
	if at.Stream == "" {
		at = place{Stream: "walkthroughs", Topic: "chat"}
	}
	fmt.Fprintf(t.Out, "You are %s, in #%s > %s.\n%s", me.FullName, at.Stream, at.Topic, talkHelp)

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	heard := follow(ctx, client, func(context.Context) error { return nil })
	defer heard.close()
	lines := make(chan string)
	// A read of the terminal cannot be cancelled: this goroutine ends with the
	// process, or with the line after the one that ended the conversation.
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(t.In); in.Scan(); {
			select {
			case lines <- in.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	s := &conversation{asker: a, t: t, at: at, me: me.ID}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-heard.failed:
			return err
		case e := <-heard.events:
			s.hear(e)
		case line, ok := <-lines:
			if !ok || strings.TrimSpace(line) == "/quit" {
				return nil
			}
			if err := s.say(ctx, strings.TrimSpace(line)); err != nil {
				return err
			}
		}
	}
}

// conversation is the state of talk.
type conversation struct {
	asker *asker
	t     terminal
	at    place
	me    int64
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

// say does what a typed line asks for. A refused post is told and the conversation goes on.
func (c *conversation) say(ctx context.Context, line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "":
		return nil
	case "/help":
		fmt.Fprint(c.t.Out, talkHelp)
		return nil
	case "/to":
		stream, topic, ok := strings.Cut(strings.TrimSpace(rest), " ")
		if !ok {
			fmt.Fprintln(c.t.Out, "say /to STREAM TOPIC")
			return nil
		}
		c.at = place{Stream: strings.TrimPrefix(stream, "#"), Topic: strings.TrimSpace(topic)}
		fmt.Fprintf(c.t.Out, "in #%s > %s\n", c.at.Stream, c.at.Topic)
		return nil
	case "/streams":
		return c.streams(ctx)
	}
	if strings.HasPrefix(verb, "/") && verb != "/me" {
		fmt.Fprintf(c.t.Out, "there is no %s; /help lists what there is\n", oneLine(verb))
		return nil
	}
	_, err := c.asker.post(ctx, c.at, line)
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
		fmt.Fprintf(c.t.Out, "  #%s  %s\n", s.Name, s.Description)
	}
	return nil
}
