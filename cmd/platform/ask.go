package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	term "platform.dev/platform/bots/terminal"
	"platform.dev/platform/bots/zulip"
)

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

// post posts as the person.
func (a *asker) post(ctx context.Context, to place, text string) (id int64, err error) {
	content, _ := a.mention(text)
	if id, err = a.client.Post(ctx, to.post(content)); err != nil {
		return 0, fmt.Errorf("post to %s: %w", to, err)
	}
	return id, nil
}

// ask posts, waits for the bot to finish and prints its answer.
func (a *asker) ask(ctx context.Context, t terminal, to place, text string, limit time.Duration) error {
	content, bot := a.mention(text)
	if to.direct() { // to a bot alone everything is for it
		bot = nil
		if to.With.IsBot {
			bot = &to.With
		}
	}
	post := to.post(content)
	if bot == nil {
		if _, err := a.client.Post(ctx, post); err != nil {
			return fmt.Errorf("post to %s: %w", to, err)
		}
		why := "it mentions no bot"
		if to.direct() {
			why = oneLine(to.With.FullName) + " is no bot"
		}
		fmt.Fprintf(t.Err, "posted; %s, so no answer is waited for\n", why)
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := a.client.Ask(waiting, post)
	late := errors.Is(err, zulip.ErrUnanswered)
	if late && answer.Asked == 0 && ctx.Err() == nil { // what stands there is no answer to it
		return fmt.Errorf("the chat took no message for %s within %s; look there before you say it again", to, limit)
	}
	if late && ctx.Err() == nil {
		answer.Messages, err = a.answers(ctx, to, answer.Asked, bot.ID)
	}
	if err != nil {
		return fmt.Errorf("ask in %s: %w", to, err)
	}
	for _, m := range answer.Messages {
		fmt.Fprint(t.Out, a.show(m.Content, t))
	}
	switch {
	case len(answer.Messages) == 0:
		return fmt.Errorf("no answer from %s within %s", bot.FullName, limit)
	case late:
		fmt.Fprintf(t.Err, "%s is still at work; its answer goes on in %s\n", bot.FullName, to)
	}
	return nil
}

// answers are the bot's messages in the place after the message that asked.
func (a *asker) answers(ctx context.Context, to place, id, bot int64) ([]zulip.Message, error) {
	page, err := a.client.Messages(ctx, zulip.Query{
		Anchor: strconv.FormatInt(id, 10), After: 100,
		Narrow: append(to.narrow(), zulip.Term{Operator: "sender", Operand: bot}),
	})
	return page.Messages, err
}

// name is a person's name by the chat's own user id.
func (a *asker) name(userID string) (string, bool) {
	i := slices.IndexFunc(a.users, func(u zulip.User) bool { return strconv.FormatInt(u.ID, 10) == userID })
	if i < 0 {
		return "", false
	}
	return a.users[i].FullName, true
}

// show renders a posted message for reading.
func (a *asker) show(content string, t terminal) string {
	width, live := screen(t.Out)
	view := term.View{Width: width, Colour: colourful(live), Name: a.name}
	return strings.TrimRight(view.Render(content), "\n") + "\n\n"
}
