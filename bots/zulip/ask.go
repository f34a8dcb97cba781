package zulip

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"platform.dev/platform/bots"
)

// Answer is what a bot made of a question.
type Answer struct {
	Asked    int64     // the question's message id
	Outcome  string    // bots.ReactionDone, ReactionRefused or ReactionFailed; ReactionAsked: it waits for a confirmation
	By       int64     // the bot's user id
	Messages []Message // what the bot has said in the question's place since, oldest first
}

// ErrUnanswered is the error of Ask when ctx ended first.
var ErrUnanswered = errors.New("no bot has answered")

// Ask posts a question as a person would, and waits until a bot has put its
// final reaction on it, which comes after its answer. The question is posted once.
func (c *Client) Ask(ctx context.Context, question Post) (Answer, error) {
	listening, done := context.WithCancel(ctx)
	defer done()
	var answer Answer
	var failed error // what no other queue would mend
	settle := func(by int64, emoji string) {
		if bots.Final(emoji) && answer.Outcome == "" {
			answer.By, answer.Outcome = by, emoji
			done()
		}
	}
	err := c.Listen(listening, Listening{
		Request: RegisterRequest{Events: []string{"reaction"}, Fetch: []string{"realm"}},
		Registered: func(ctx context.Context, _ Queue) error {
			if answer.Asked == 0 { // the queue is there first, so that no reaction is missed
				if answer.Asked, failed = c.Post(ctx, question); failed != nil {
					done()
				}
				return failed
			}
			m, err := c.Message(ctx, answer.Asked)
			for _, r := range m.Reactions {
				settle(r.UserID, r.Emoji)
			}
			return err
		},
		Handle: func(_ context.Context, e Event) error {
			if e.Type == "reaction" && e.Op == "add" && e.MessageID == answer.Asked {
				settle(e.UserID, e.Emoji)
			}
			return nil
		},
	})
	switch {
	case failed != nil:
		return answer, failed
	case err != nil:
		return answer, err
	case answer.Outcome == "":
		return answer, fmt.Errorf("%w: message %d: %w", ErrUnanswered, answer.Asked, ctx.Err())
	}
	answer.Messages, err = c.since(ctx, question, answer)
	return answer, err
}

// since is what the bot has said in the question's place.
func (c *Client) since(ctx context.Context, question Post, a Answer) ([]Message, error) {
	narrow := []Term{{Operator: "dm", Operand: question.Direct}}
	if len(question.Direct) == 0 {
		// The server cuts a topic that is too long: where the question stands is its to say.
		asked, err := c.Message(ctx, a.Asked)
		if err != nil {
			return nil, err
		}
		narrow = []Term{{Operator: "channel", Operand: asked.StreamID}, {Operator: "topic", Operand: asked.Topic}}
	}
	page, err := c.Messages(ctx, Query{Anchor: strconv.FormatInt(a.Asked, 10), After: pageSize, Narrow: narrow})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(page.Messages, func(m Message) bool { return m.SenderID != a.By || m.ID <= a.Asked }), nil
}
