package slack

import (
	"context"
	"slices"
	"strings"

	"platform.dev/platform/bots"
	"platform.dev/platform/commands"
)

// writtenKinds are the kinds of message events in which a person says something.
var writtenKinds = []string{"", "file_share", "thread_broadcast", "me_message"}

// concerns tells whether a message, as either of the two events tells it that
// Slack sends for one, is for this bot: a mention of it, or said to it directly.
// An edit is not, nor what a bot or somebody of another workspace says.
func (l *listener) concerns(team string, e *event) bool {
	switch {
	case e.Edited != nil, e.Bot != "", e.User == l.me.user, !slices.Contains(writtenKinds, e.Subtype):
		return false
	case !timestamp.MatchString(e.TS), e.Thread != "" && !timestamp.MatchString(e.Thread), !conversing.MatchString(e.Channel):
		return false
	case l.me.foreign(team, e.UserTeam, e.SourceTeam):
		return false
	}
	return isDirect(e) || strings.Contains(e.Text, "<@"+l.me.user)
}

// isDirect tells whether a message was said in a conversation of the bot and one other.
func isDirect(e *event) bool { return e.ChannelType == "im" || strings.HasPrefix(e.Channel, "D") }

// foreign tells whether something comes from another workspace than the one whose
// app is told, as channels shared between two bring: of the authors' teams those
// that are told count.
func (me self) foreign(team string, authors ...string) bool {
	return !me.at(team) || slices.ContainsFunc(authors, func(author string) bool { return author != "" && !me.at(author) })
}

// at tells whether an id is that of the bot's workspace, or of the organisation that the workspace is part of.
func (me self) at(team string) bool { return team != "" && (team == me.team || team == me.enterprise) }

// message hands a message over that concerns the bot.
func (l *listener) message(ctx context.Context, e *event, again bool) error {
	text, addressed := address(e.Text, l.me.user, l.nameOf)
	if !addressed && !isDirect(e) {
		return nil
	}
	in, err := l.conversationOf(ctx, e)
	if err != nil || in.id == "" {
		return err
	}
	id := joinID(e.Channel, e.TS)
	return l.hand(ctx, bots.Heard{
		Key: l.key(id), ID: id, Text: text, At: instant(e.TS), Again: again,
	}, origin{user: e.User, channel: in, thread: e.Thread, ts: e.TS, begins: e.Thread == ""})
}

// conversationOf is the conversation of a message. Of a direct one, and one of
// several people, the event itself tells all that matters.
func (l *listener) conversationOf(ctx context.Context, e *event) (channel, error) {
	switch {
	case isDirect(e):
		l.mu.Lock()
		l.directs.Put(e.User, e.Channel) // where the answer goes
		l.mu.Unlock()
		return channel{id: e.Channel, kind: direct}, nil
	case e.ChannelType == "mpim":
		return channel{id: e.Channel, kind: group}, nil
	}
	return l.channel(ctx, e.Channel)
}

// origin is who did something, and where.
type origin struct {
	user       string
	channel    channel
	thread, ts string // of the message that was written, pressed or reacted to
	begins     bool   // it was just written outside of threads: no topic can have it as its root yet
}

// hand completes what was heard and hands it over, once. Whoever is no person
// of the bot's own workspace is not heard, nor is one of whom Slack cannot be asked
// now: then it is tried again. Where account and channel are known, as learn and
// the events see to it, this makes no call.
func (l *listener) hand(ctx context.Context, h bots.Heard, from origin) error {
	l.mu.Lock()
	_, known := l.heard.Get(h.Key)
	l.mu.Unlock()
	if known {
		return nil
	}
	who, err := l.person(ctx, from.user)
	if err != nil {
		return err
	}
	if !who.heard {
		l.cfg.Log.Info("an account that is no person of this workspace is passed over", "user", from.user, "key", h.Key)
		return nil
	}
	h.UserID, h.ChatID, h.Name = from.user, "slack:"+from.user, who.name
	if h.Place, err = l.place(ctx, from); err != nil {
		return err
	}
	h.Link = l.link(from.channel.id, from.thread, from.ts)
	h.Again = h.Again || h.At.Before(l.began)
	select {
	case l.slots <- struct{}{}:
		err = l.take(ctx, h)
		<-l.slots
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard.Put(h.Key, true)
	return nil
}

// place is where an answer goes: the thread, or the thread that the message
// begins; to a person, the conversation itself.
func (l *listener) place(ctx context.Context, from origin) (commands.Place, error) {
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
	topic, err := l.cfg.Threads.Topic(ctx, from.channel.id, root)
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
