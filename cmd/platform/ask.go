package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/zulip"
)

// place is where in the chat.
type place struct{ Stream, Topic string }

// asker posts messages as a person and waits for bots to answer.
type asker struct {
	client *zulip.Client
	users  []zulip.User
}

func newAsker(ctx context.Context, client *zulip.Client) (*asker, error) {
	users, err := client.Users(ctx)
	if err != nil {
		return nil, fmt.Errorf("chat: %w", err)
	}
	return &asker{client: client, users: users}, nil
}

// atName finds what a person types for a mention: @name, at the start of a word.
var atName = regexp.MustCompile(`(^|\s)@([A-Za-z0-9][A-Za-z0-9_.-]*)`)

// mention turns @name into Zulip's @**name** where an account has that name, as a compose box does.
func (a *asker) mention(text string) (content string, bot *zulip.User) {
	content = atName.ReplaceAllStringFunc(text, func(m string) string {
		parts := atName.FindStringSubmatch(m)
		i := slices.IndexFunc(a.users, func(u zulip.User) bool { return u.FullName == parts[2] })
		if i < 0 {
			return m
		}
		if a.users[i].IsBot && bot == nil {
			bot = &a.users[i]
		}
		return parts[1] + "@**" + parts[2] + "**"
	})
	return content, bot
}

// post posts as the person; bot is the bot that the text mentions, nil for none.
func (a *asker) post(ctx context.Context, to place, text string) (id int64, bot *zulip.User, err error) {
	content, bot := a.mention(text)
	id, err = a.client.Post(ctx, zulip.Post{Stream: to.Stream, Topic: to.Topic, Content: content})
	if err != nil {
		return 0, nil, fmt.Errorf("post to #%s > %s: %w", to.Stream, to.Topic, err)
	}
	return id, bot, nil
}

// ask posts, waits for the bot to finish and prints its answer.
func (a *asker) ask(ctx context.Context, t terminal, to place, text string, limit time.Duration) error {
	watch, err := newWatch(ctx, a.client)
	if err != nil {
		return err
	}
	defer watch.close(ctx)
	id, bot, err := a.post(ctx, to, text)
	if err != nil {
		return err
	}
	if bot == nil {
		fmt.Fprintln(t.Err, "posted; it mentions no bot, so no answer is waited for")
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = a.finished(waiting, watch, id, bot.ID)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	late := errors.Is(err, context.DeadlineExceeded)
	if err != nil && !late {
		return err
	}
	answers, err := a.answers(ctx, to, id, bot.ID)
	if err != nil {
		return err
	}
	for _, m := range answers {
		fmt.Fprint(t.Out, show(m.Content, t))
	}
	switch {
	case len(answers) == 0:
		return fmt.Errorf("no answer from %s within %s", bot.FullName, limit)
	case late:
		fmt.Fprintf(t.Err, "%s is still at work; its answer goes on in #%s > %s\n", bot.FullName, to.Stream, to.Topic)
	}
	return nil
}

// outcomes are the reactions that a bot puts on a message when it has finished with it.
var outcomes = []string{bots.ReactionDone, bots.ReactionRefused, bots.ReactionFailed}

// finished waits until the bot has marked the message with an outcome. Events
// only wake it: the message itself decides, so that a lost queue loses nothing.
func (a *asker) finished(ctx context.Context, w *watch, id, bot int64) error {
	for {
		m, err := a.client.Message(ctx, id)
		if err != nil {
			return fmt.Errorf("read message %d: %w", id, err)
		}
		if slices.ContainsFunc(m.Reactions, func(r zulip.Reaction) bool {
			return r.UserID == bot && slices.Contains(outcomes, r.Emoji)
		}) {
			return nil
		}
		if _, err := w.next(ctx); err != nil {
			return err
		}
	}
}

// answers are the bot's messages in the place after the message that asked.
func (a *asker) answers(ctx context.Context, to place, id, bot int64) ([]zulip.Message, error) {
	page, err := a.client.Messages(ctx, zulip.Query{
		Anchor: strconv.FormatInt(id, 10), After: 100,
		Narrow: []zulip.Term{{Operator: "channel", Operand: to.Stream}, {Operator: "topic", Operand: to.Topic}, {Operator: "sender", Operand: bot}},
	})
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return page.Messages, nil
}
