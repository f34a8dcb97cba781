package slack

import (
	"context"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"

	"platform.dev/platform/bots"
)

// interaction is what to do with a press of a button, and the channel that it is of.
// Anything else that people can do with a message of the bot is acknowledged and let be.
func (t *Transport) interaction(c slack.InteractionCallback, take sink) (lane string, do func(context.Context) error) {
	if c.Type != slack.InteractionTypeBlockActions || len(c.ActionCallback.BlockActions) != 1 {
		return "", nil
	}
	return c.Channel.ID, func(ctx context.Context) error { return t.pressed(ctx, c, *c.ActionCallback.BlockActions[0], take) }
}

// pressed hands the press of a button over: whoever pressed it is who asks.
func (t *Transport) pressed(ctx context.Context, c slack.InteractionCallback, a slack.BlockAction, take sink) error {
	ts, thread := c.Container.MessageTs, c.Container.ThreadTs
	if ts == "" {
		ts, thread = c.Message.Timestamp, c.Message.ThreadTimestamp
	}
	if string(a.Type) != "button" || a.Value == "" || !timestamp.MatchString(ts) || !conversing.MatchString(c.Channel.ID) {
		return nil
	}
	me, err := t.me(ctx)
	if err != nil {
		return err
	}
	foreign := said{team: c.Team.ID, teams: []string{c.User.TeamID}}.foreign(me)
	if foreign || c.Message.User != "" && c.Message.User != me.user {
		return nil
	}
	in, err := t.channel(ctx, c.Channel.ID)
	if err != nil || in.id == "" {
		return err
	}
	id := joinID(c.Channel.ID, ts)
	at := instant(a.ActionTs)
	if at.IsZero() {
		at = t.cfg.Now()
	}
	return t.hand(ctx, bots.Heard{
		Key: "slack:" + t.cfg.Name + ":press:" + ts + ":" + c.User.ID + ":" + a.ActionTs, ID: id, At: at,
		Press: &bots.Press{On: id, Value: a.Value},
	}, origin{user: c.User.ID, channel: in, thread: thread, ts: ts}, take)
}

// reaction hands a reaction to a message of the bot's own over. Putting it on
// again after taking it off says nothing new.
func (t *Transport) reaction(ctx context.Context, team string, e *slackevents.ReactionAddedEvent, take sink) error {
	me, err := t.me(ctx)
	if err != nil {
		return err
	}
	ours := e.ItemUser == me.user && e.Item.Type == "message"
	if !ours || e.User == me.user || (said{team: team}).foreign(me) || !timestamp.MatchString(e.Item.Timestamp) || !conversing.MatchString(e.Item.Channel) {
		return nil
	}
	in, err := t.channel(ctx, e.Item.Channel)
	if err != nil || in.id == "" {
		return err
	}
	thread, err := t.threadOf(ctx, in, e.Item.Timestamp)
	if err != nil {
		return err
	}
	id, emoji := joinID(in.id, e.Item.Timestamp), emojiOf(e.Reaction)
	return t.hand(ctx, bots.Heard{
		Key: "slack:" + t.cfg.Name + ":reaction:" + id + ":" + e.User + ":" + emoji, ID: id, At: instant(e.EventTimestamp),
		Press: &bots.Press{On: id, Emoji: emoji},
	}, origin{user: e.User, channel: in, thread: thread, ts: e.Item.Timestamp}, take)
}

// threadOf is the root of a message's thread, "" outside of threads: the event of
// a reaction does not tell it, but a message is the first of its own "thread".
func (t *Transport) threadOf(ctx context.Context, in channel, ts string) (string, error) {
	if in.kind == direct || in.kind == group {
		return "", nil
	}
	said, _, _, err := t.api.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{
		ChannelID: in.id, Timestamp: ts, Limit: 1, Inclusive: true,
	})
	if is(err, codesNowhere...) {
		return "", nil
	}
	if err != nil || len(said) == 0 {
		return "", err
	}
	return said[0].ThreadTimestamp, nil
}
