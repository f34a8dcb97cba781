package slack

import (
	"context"
	"slices"

	"github.com/slack-go/slack/slackevents"

	"platform.dev/platform/bots"
	"platform.dev/platform/commands"
)

// said is a message as either of the two events tells it that Slack sends for one.
type said struct {
	team            string // the workspace whose app is told
	channel, thread string // thread is the root's timestamp, "" outside of threads
	ts              string
	user, bot       string
	teams           []string // of whoever wrote it, as far as told
	text            string
	other           bool // an edit, a deletion, somebody joining: nothing said anew
}

// mentioned reads an app_mention event.
func mentioned(team string, e *slackevents.AppMentionEvent) said {
	return said{
		team: team, channel: e.Channel, thread: e.ThreadTimeStamp, ts: e.TimeStamp, user: e.User, bot: e.BotID,
		teams: []string{e.UserTeam, e.SourceTeam}, text: e.Text, other: e.Edited != nil,
	}
}

// writtenKinds are the kinds of message events in which a person says something.
var writtenKinds = []string{"", "file_share", "thread_broadcast", "me_message"}

// written reads a message event.
func written(team string, e *slackevents.MessageEvent) said {
	return said{
		team: team, channel: e.Channel, thread: e.ThreadTimeStamp, ts: e.TimeStamp, user: e.User, bot: e.BotID,
		teams: []string{e.UserTeam, e.SourceTeam}, text: e.Text, other: !slices.Contains(writtenKinds, e.SubType),
	}
}

// message hands a message over when it is for this bot.
func (t *Transport) message(ctx context.Context, m said, take sink) error {
	if m.other || m.bot != "" || !timestamp.MatchString(m.ts) || !conversing.MatchString(m.channel) {
		return nil
	}
	me, err := t.me(ctx)
	if err != nil {
		return err
	}
	if m.user == me.user || m.foreign(me) {
		return nil
	}
	text, addressed := address(m.text, me.user, t.nameOf)
	c, err := t.channel(ctx, m.channel)
	if err != nil || c.id == "" || !addressed && c.kind != direct {
		return err
	}
	return t.hand(ctx, bots.Heard{
		Key: t.key(joinID(m.channel, m.ts)), ID: joinID(m.channel, m.ts), Text: text, At: instant(m.ts),
	}, origin{user: m.user, channel: c, thread: m.thread, ts: m.ts, begins: m.thread == ""}, take)
}

// foreign tells whether a message was written in another workspace, as channels shared between two bring.
func (m said) foreign(me self) bool {
	return !me.at(m.team) || slices.ContainsFunc(m.teams, func(team string) bool { return team != "" && !me.at(team) })
}

// at tells whether an id is that of the bot's workspace, or of the organisation that the workspace is part of.
func (me self) at(team string) bool { return team != "" && (team == me.team || team == me.enterprise) }

// origin is who did something, and where.
type origin struct {
	user       string
	channel    channel
	thread, ts string // of the message that was written, pressed or reacted to
	begins     bool   // it was just written outside of threads: no topic can have it as its root yet
}

// hand completes what was heard and hands it over, once. Whoever is no person
// of the bot's own workspace is not heard.
func (t *Transport) hand(ctx context.Context, h bots.Heard, from origin, take sink) error {
	t.mu.Lock()
	_, known := t.heard.Get(h.Key)
	t.mu.Unlock()
	if known {
		return nil
	}
	who, err := t.person(ctx, from.user)
	if err != nil {
		return err
	}
	if !who.heard {
		t.cfg.Log.Info("an account that is no person of this workspace is passed over", "user", from.user, "key", h.Key)
		return nil
	}
	h.UserID, h.ChatID, h.Name = from.user, "slack:"+from.user, who.name
	if h.Place, err = t.place(ctx, from); err != nil {
		return err
	}
	h.Link = t.link(from.channel.id, from.thread, from.ts)
	if err := take(ctx, h); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heard.Put(h.Key, true)
	return nil
}

// place is where an answer goes: the thread, or the thread that the message
// begins; to a person, the conversation itself.
func (t *Transport) place(ctx context.Context, from origin) (commands.Place, error) {
	switch from.channel.kind {
	case direct:
		return commands.Place{Direct: from.user}, nil
	case group:
		return commands.Place{Direct: from.channel.id}, nil
	}
	root := from.thread
	if root == "" {
		root = from.ts
	}
	if from.begins {
		return commands.Place{Stream: from.channel.name, Topic: root}, nil
	}
	topic, err := t.cfg.Threads.Topic(ctx, from.channel.id, root)
	if err != nil {
		return commands.Place{}, err
	}
	if topic == "" {
		topic = root
	}
	return commands.Place{Stream: from.channel.name, Topic: topic}, nil
}

// key is a message's key: transport, bot and message. The bot is part of it,
// since one message may mention two bots and each must hear it.
func (t *Transport) key(id string) string { return "slack:" + t.cfg.Name + ":" + id }
