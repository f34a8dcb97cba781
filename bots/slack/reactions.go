package slack

import (
	"context"
	"fmt"

	"github.com/slack-go/slack"

	"platform.dev/platform/bots"
)

// emoji are the names that Slack gives to what Zulip, and so a bot, calls otherwise.
var emoji = map[string]string{
	bots.ReactionDone:   "white_check_mark",
	bots.ReactionFailed: "x",
}

// emojiOf is the bots' name of an emoji of Slack.
func emojiOf(name string) string {
	for ours, theirs := range emoji {
		if theirs == name {
			return ours
		}
	}
	return name
}

// React puts an emoji on a message or takes it off. A message of several parts carries it on its first.
func (t *Transport) React(ctx context.Context, id, name string, on bool) error {
	channel, parts, err := splitID(id)
	if err != nil {
		return fmt.Errorf("react to message %q: %w", id, err)
	}
	if theirs, ok := emoji[name]; ok {
		name = theirs
	}
	do, already := t.api.AddReactionContext, "already_reacted"
	if !on {
		do, already = t.api.RemoveReactionContext, "no_reaction"
	}
	if err := do(ctx, name, slack.NewRefToMessage(channel, parts[0])); err != nil && !is(err, already) {
		return fmt.Errorf("react to message %s: %w", id, retry(err))
	}
	return nil
}
