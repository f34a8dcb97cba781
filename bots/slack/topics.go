package slack

import (
	"context"
	"fmt"
	"strings"

	"github.com/slack-go/slack"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/markup"
)

// The metadata by which the bot's own messages are found again. Slack keeps it
// beside a message and shows it to nobody.
const (
	metaMessage = "platform_message" // key, part, content
	metaTopic   = "platform_topic"   // topic
)

// spot is where a message goes: a conversation, and a thread of it or "".
type spot struct{ channel, thread string }

// spot finds a place. Without create, ok is false when the place does not exist.
func (t *Transport) spot(ctx context.Context, out bots.Outgoing, create bool) (s spot, ok bool, err error) {
	to := out.Place
	switch {
	case to.Direct != "":
		s.channel, err = t.conversation(ctx, to.Direct)
		return s, err == nil, err
	case to.Stream == "":
		return spot{}, false, fmt.Errorf("message %s: a message needs a stream or a person", out.Key)
	case create:
		s.channel, err = t.findOrMake(ctx, to.Stream)
	default:
		s.channel, err = t.find(ctx, to.Stream)
	}
	if err != nil || s.channel == "" {
		return spot{}, false, err
	}
	if topic := strings.TrimSpace(to.Topic); topic != "" {
		s.thread, err = t.thread(ctx, s.channel, topic, out, create)
		return s, err == nil && s.thread != "", err
	}
	return s, true, nil
}

// thread is the root of a topic. One that an earlier attempt posted, whose
// outcome is not known, is looked for before another is.
func (t *Transport) thread(ctx context.Context, channel, topic string, out bots.Outgoing, create bool) (string, error) {
	if timestamp.MatchString(topic) {
		return topic, nil
	}
	if root := t.rootOf(channel, topic); root != "" {
		return root, nil
	}
	root, err := t.cfg.Threads.Thread(ctx, channel, topic)
	if err != nil || root != "" {
		t.rooted(channel, topic, root)
		return root, err
	}
	if !out.Since.IsZero() {
		if root, err = t.findRoot(ctx, channel, topic, out); err != nil {
			return "", err
		}
	}
	if root == "" && create {
		root, err = t.postRoot(ctx, channel, topic, out)
	}
	if err != nil || root == "" {
		return "", err
	}
	kept, err := t.cfg.Threads.SetThread(context.WithoutCancel(ctx), channel, topic, root)
	if err != nil {
		return "", err
	}
	if kept != root { // somebody else began the topic at the same time; theirs stays
		if _, _, err := t.api.DeleteMessageContext(ctx, channel, root); err != nil {
			t.cfg.Log.Warn("a thread without a use could not be removed", "channel", channel, "topic", topic, "error", err)
		}
	}
	t.rooted(channel, topic, kept)
	return kept, nil
}

// rootOf is the root of a topic, as far as it is remembered; rooted remembers it.
func (t *Transport) rootOf(channel, topic string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	root, _ := t.threads.Get(channel + "/" + topic)
	return root
}

func (t *Transport) rooted(channel, topic, root string) {
	if root == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.threads.Put(channel+"/"+topic, root)
}

// postRoot begins a topic's thread.
func (t *Transport) postRoot(ctx context.Context, channel, topic string, out bots.Outgoing) (string, error) {
	part := markup.Slack(TopicRoot(topic))[0]
	return t.post(ctx, spot{channel: channel}, out.Place, part, slack.SlackMetadata{
		EventType: metaTopic, EventPayload: map[string]any{"topic": topic},
	})
}

// findRoot looks for the root of a topic that an attempt may have posted.
func (t *Transport) findRoot(ctx context.Context, channel, topic string, out bots.Outgoing) (string, error) {
	mine, err := t.mine(ctx, spot{channel: channel}, out.Since)
	if err != nil {
		return "", err
	}
	for _, m := range mine {
		if m.Metadata.Type == metaTopic && m.Metadata.Payload.Topic == topic {
			return m.TS, nil
		}
	}
	return "", nil
}

// TopicRoot is what stands at the head of a topic's thread.
func TopicRoot(topic string) markup.Message {
	return markup.Message{
		Kind: "slack.topic", Title: markup.Spans(markup.B(topic)),
		Blocks: []markup.Block{markup.Text(markup.T("What is said about this is in the thread."))},
	}
}

// Catalogue are samples of what the transport itself says.
func Catalogue() []markup.Message {
	return []markup.Message{TopicRoot("release"), continued(), emptied()}
}

// splitPeople reads user ids, "U012AB3CD,U061F7AUR".
func splitPeople(people string) ([]string, error) {
	users := strings.Split(people, ",")
	for _, u := range users {
		if !accounts.MatchString(u) {
			return nil, fmt.Errorf("direct message to %q: these are no user ids of Slack", people)
		}
	}
	return users, nil
}
