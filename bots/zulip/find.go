package zulip

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/markup"
)

const (
	// findSlack allows for the server's times being whole seconds of another clock.
	findSlack = 2 * time.Second
	// findPages bounds a search: a place where more was said since is given up, and the message sent.
	findPages = 10
)

// Find tells whether an earlier attempt to send arrived: it looks for every
// part, first among what the queue told, then in the place itself. A message
// of which only some parts arrived is not found; Send completes it.
func (t *Transport) Find(ctx context.Context, out bots.Outgoing) (string, bool, error) {
	to, err := t.address(out.Place)
	if err != nil {
		return "", false, err
	}
	parts := markup.Zulip(out.Message)
	ids, err := t.locate(ctx, to, out, parts)
	if err != nil {
		return "", false, retry(err)
	}
	if len(ids) < len(parts) {
		return "", false, nil
	}
	t.claim(out.Key, ids...)
	return joinIDs(ids), true, nil
}

// locate is the ids of the longest run of parts, from the first on, that are there.
func (t *Transport) locate(ctx context.Context, to Post, out bots.Outgoing, parts []string) ([]int64, error) {
	ids := t.told(out.Key, parts)
	if len(ids) == len(parts) {
		return ids, nil
	}
	said, err := t.said(ctx, to, out.Since.Add(-findSlack))
	if err != nil {
		return nil, err
	}
	ids = nil
	for _, m := range said {
		if len(ids) < len(parts) && same(m.Content, parts[len(ids)]) && !t.isClaimed(m.ID, out.Key, len(ids), parts) {
			ids = append(ids, m.ID)
		}
	}
	return ids, nil
}

// told is the run of parts that the queue has told of.
func (t *Transport) told(key string, parts []string) []int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ids []int64
	for i, p := range parts {
		id, ok := t.arrived.Get(localID(key, i, p))
		if !ok {
			break
		}
		ids = append(ids, id)
	}
	return ids
}

// isClaimed tells whether a message is known to be the delivery of something
// other than this part. A part that this process posted itself, before a later
// part failed, is claimed and still this one's: the queue tells which.
func (t *Transport) isClaimed(id int64, key string, part int, parts []string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if told, ok := t.arrived.Get(localID(key, part, parts[part])); ok {
		return told != id
	}
	owner, claimed := t.claimed.Get(id)
	return claimed && owner != key
}

// said is the bot's own messages in a place since an instant, ascending.
func (t *Transport) said(ctx context.Context, to Post, since time.Time) ([]Message, error) {
	self, err := t.me(ctx)
	if err != nil {
		return nil, err
	}
	narrow := []Term{{Operator: "channel", Operand: to.Stream}, {Operator: "topic", Operand: to.Topic}}
	if to.Stream == "" {
		narrow = []Term{{Operator: "dm", Operand: to.Direct}}
	}
	var said []Message
	anchor := "newest"
	for range findPages {
		page, err := t.client.Messages(ctx, Query{Anchor: anchor, Before: pageSize, Narrow: narrow})
		if is(err, codeBadNarrow) || is(err, codeBadRequest) || is(err, codeNoStream) {
			return nil, nil // the channel does not exist, so nothing arrived in it
		}
		if err != nil {
			return nil, err
		}
		for _, m := range page.Messages {
			if m.SenderID == self.ID && !m.At().Before(since) {
				said = append(said, m)
			}
		}
		if page.FoundOldest || len(page.Messages) == 0 || page.Messages[0].At().Before(since) {
			break
		}
		anchor = strconv.FormatInt(page.Messages[0].ID, 10)
	}
	return inOrder(said, math.MaxInt64), nil
}

// same tells whether the server keeps sent as kept: it strips empty lines before and white space after.
func same(kept, sent string) bool {
	trim := func(s string) string { return strings.TrimRight(strings.TrimLeft(s, "\n"), " \t\r\n") }
	return trim(kept) == trim(sent)
}
