package slack

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/slack-go/slack"
)

// kind tells what a conversation is.
type kind int

const (
	stream kind = iota // a channel, public or private
	direct             // of two
	group              // of several, without a name
)

// channel is a conversation, as far as it matters.
type channel struct {
	id, name string
	kind     kind
	asked    time.Time // it is known as it was then
}

const (
	listPage     = 1000
	listPages    = 50 // a workspace with more channels than 50,000 is read no further
	longestName  = 80 // of a channel
	nameTaken    = "name_taken"
	notInChannel = "not_in_channel"
)

// channel looks a conversation up by id. Its id is empty when it is none that the bot can see.
func (t *Transport) channel(ctx context.Context, id string) (channel, error) {
	if strings.HasPrefix(id, "D") {
		return channel{id: id, kind: direct}, nil
	}
	t.mu.Lock()
	c, known := t.channels.Get(id)
	t.mu.Unlock()
	if known {
		return c, nil
	}
	var info struct {
		result
		Channel conversation `json:"channel"`
	}
	asked := t.cfg.Now()
	err := t.ask(ctx, func() error { return t.call(ctx, "conversations.info", url.Values{"channel": {id}}, &info) })
	if is(err, codesNowhere...) {
		t.cfg.Log.Info("a channel that the bot cannot see is passed over", "channel", id, "why", err)
		return channel{}, nil
	}
	if err != nil {
		return channel{}, err
	}
	return t.saw(channel{id: id, name: info.Channel.Name, kind: info.Channel.kind(), asked: asked}), nil
}

// saw remembers a conversation, so that neither hearing nor answering there needs
// to ask for it; unless it is known as it was later, as an event may have told.
func (t *Transport) saw(c channel) channel {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, ok := t.channels.Get(c.id); ok && known.asked.After(c.asked) {
		return known
	}
	t.channels.Put(c.id, c)
	if c.kind == stream && c.name != "" {
		t.names[c.name] = c.id
	}
	return c
}

// conversation is what is read of a conversation.
type conversation struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	IsIM  bool   `json:"is_im"`
	IsMpM bool   `json:"is_mpim"`
}

func (c conversation) kind() kind {
	switch {
	case c.IsIM:
		return direct
	case c.IsMpM:
		return group
	default:
		return stream
	}
}

// renamed takes notice of a channel's new name.
func (t *Transport) renamed(id, name string) {
	if !conversing.MatchString(id) || name == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c, known := t.channels.Get(id)
	if known {
		delete(t.names, c.name)
	}
	t.channels.Put(id, channel{id: id, name: name, kind: c.kind, asked: t.cfg.Now()})
	t.names[name] = id
}

// find is the id of the channel of a stream, "" when there is none that the bot can see.
func (t *Transport) find(ctx context.Context, stream string) (string, error) {
	name := channelName(stream)
	t.mu.Lock()
	id := t.names[name]
	t.mu.Unlock()
	if id != "" || name == "" {
		return id, nil
	}
	names := map[string]string{}
	cursor := ""
	for range listPages {
		page, next, err := t.api.GetConversationsContext(ctx, &slack.GetConversationsParameters{
			Cursor: cursor, ExcludeArchived: true, Limit: listPage, Types: []string{"public_channel", "private_channel"},
		})
		if err != nil {
			return "", err
		}
		for _, c := range page {
			names[c.Name] = c.ID
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.names = names
	return names[name], nil
}

// findOrMake is the id of the channel of a stream, which is made when there is none.
func (t *Transport) findOrMake(ctx context.Context, stream string) (string, error) {
	id, err := t.find(ctx, stream)
	if err != nil || id != "" {
		return id, err
	}
	name := channelName(stream)
	if name == "" {
		return "", fmt.Errorf("no channel of Slack can be named %q", stream)
	}
	c, err := t.api.CreateConversationContext(ctx, slack.CreateConversationParams{ChannelName: name})
	if is(err, nameTaken) {
		if id, err := t.find(ctx, stream); err != nil || id != "" { // somebody else just made it
			return id, err
		}
		return "", fmt.Errorf("the channel %s is private or archived: invite the bot to it, or restore it: %w", name, err)
	}
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	t.names[name] = c.ID
	t.channels.Put(c.ID, channel{id: c.ID, name: name})
	t.mu.Unlock()
	t.invite(ctx, stream, c.ID)
	return c.ID, nil
}

// invite invites the people whom a new channel is for. Without them the bot still posts.
func (t *Transport) invite(ctx context.Context, stream, id string) {
	if t.cfg.Invite == nil {
		return
	}
	people := t.cfg.Invite(stream)
	if len(people) == 0 {
		return
	}
	if _, err := t.api.InviteUsersToConversationContext(ctx, id, people...); err != nil {
		t.cfg.Log.Warn("people could not be invited to a new channel", "stream", stream, "error", err)
	}
}

// join makes the bot a member of a public channel.
func (t *Transport) join(ctx context.Context, id string) error {
	if _, _, _, err := t.api.JoinConversationContext(ctx, id); err != nil {
		return fmt.Errorf("join channel %s: %w", id, err)
	}
	return nil
}

// forget forgets where a stream's channel is: it was archived or deleted.
func (t *Transport) forget(stream string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.names, channelName(stream))
}

// channelName is a stream's name as Slack lets channels be named: letters without
// case, digits, hyphens and underscores.
func channelName(stream string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(strings.TrimPrefix(stream, "#"))) {
		switch {
		case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 0x7f && unicode.IsLetter(r):
			b.WriteRune(r)
		default:
			b.WriteByte('-')
		}
	}
	name := []rune(strings.Trim(b.String(), "-"))
	return string(name[:min(len(name), longestName)])
}
