package slack

import (
	"context"
	"net/url"

	"platform.dev/platform/bots"
)

// interaction is what to do about a press of a button, and the channel that it is of.
// Anything else that people can do with a message of the bot is acknowledged and let be.
func (l *listener) interaction(f *frame) (lane string, do func(context.Context) error) {
	p := &f.Payload
	ts, thread := p.Container.TS, p.Container.Thread
	if ts == "" {
		ts, thread = p.Message.TS, p.Message.Thread
	}
	if p.Type != "block_actions" || len(p.Actions) != 1 || p.Actions[0].Type != "button" || p.Actions[0].Value == "" {
		return "", nil
	}
	if !timestamp.MatchString(ts) || thread != "" && !timestamp.MatchString(thread) || !conversing.MatchString(p.Channel.ID) {
		return "", nil
	}
	if l.me.foreign(p.Team.ID, p.User.Team) || p.Message.User != "" && p.Message.User != l.me.user {
		return "", nil
	}
	return p.Channel.ID, func(ctx context.Context) error { return l.pressed(ctx, p, ts, thread, f.Attempt > 0) }
}

// pressed hands the press of a button over: whoever pressed it is who asks.
func (l *listener) pressed(ctx context.Context, p *payload, ts, thread string, again bool) error {
	in, err := l.channel(ctx, p.Channel.ID)
	if err != nil || in.id == "" {
		return err
	}
	id, a := joinID(p.Channel.ID, ts), p.Actions[0]
	at := instant(a.TS)
	if at.IsZero() {
		at = l.cfg.Now()
	}
	return l.hand(ctx, bots.Heard{
		Key: "slack:" + l.cfg.Name + ":press:" + ts + ":" + p.User.ID + ":" + a.TS, ID: id, At: at, Again: again,
		Press: &bots.Press{On: id, Value: a.Value},
	}, origin{user: p.User.ID, channel: in, thread: thread, ts: ts})
}

// reaction hands a reaction to a message of the bot's own over. Putting it on
// again after taking it off says nothing new.
func (l *listener) reaction(ctx context.Context, team string, e *event, again bool) error {
	where := e.Item.Channel
	ours := e.Author == l.me.user && e.Item.Type == "message"
	if !ours || e.User == l.me.user || l.me.foreign(team) || !timestamp.MatchString(e.Item.TS) || !conversing.MatchString(where) {
		return nil
	}
	in, err := l.channel(ctx, where)
	if err != nil || in.id == "" {
		return err
	}
	thread, err := l.threadOf(ctx, in, e.Item.TS)
	if err != nil {
		return err
	}
	id, emoji := joinID(in.id, e.Item.TS), emojiOf(e.Reaction)
	return l.hand(ctx, bots.Heard{
		Key: "slack:" + l.cfg.Name + ":reaction:" + id + ":" + e.User + ":" + emoji, ID: id, At: instant(e.At), Again: again,
		Press: &bots.Press{On: id, Emoji: emoji},
	}, origin{user: e.User, channel: in, thread: thread, ts: e.Item.TS})
}

// threadOf is the root of a message's thread, "" outside of threads: the event of
// a reaction does not tell it, but a message is the first of its own "thread".
func (l *listener) threadOf(ctx context.Context, in channel, ts string) (string, error) {
	if in.kind == direct || in.kind == group {
		return "", nil
	}
	var said struct {
		result
		Messages []struct {
			Thread string `json:"thread_ts"`
		} `json:"messages"`
	}
	err := l.call(ctx, "conversations.replies", url.Values{"channel": {in.id}, "ts": {ts}, "limit": {"1"}, "inclusive": {"true"}}, &said)
	if is(err, codesNowhere...) {
		return "", nil
	}
	if err != nil || len(said.Messages) == 0 {
		return "", err
	}
	return said.Messages[0].Thread, nil
}
