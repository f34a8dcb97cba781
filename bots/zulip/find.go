package zulip

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"platform.dev/platform/bots"
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
	if err := t.ready(ctx); err != nil {
		return "", false, err
	}
	to, err := t.address(out.Place)
	if err != nil {
		return "", false, err
	}
	parts, ids, err := t.locate(ctx, to, out, t.divisions(out.Message))
	if err != nil {
		return "", false, retry(err)
	}
	if len(ids) < len(parts) {
		return "", false, nil
	}
	t.claim(out.Key, ids...)
	return joinIDs(ids), true, nil
}

// locate looks for a message in each of the ways in which it may have been
// divided. It returns the way that it is there in, whole or, from the first part
// on, in part, with the ids; where it is not there, the first way without ids.
// What was begun in another way than the first is gone on with as long as the
// organisation takes the parts that are missing.
func (t *Transport) locate(ctx context.Context, to Post, out bots.Outgoing, ways [][]string) (parts []string, ids []int64, err error) {
	for _, way := range ways {
		if ids := t.tellsOf(out.Key, way); len(ids) == len(way) {
			return way, ids, nil
		}
	}
	said, err := t.said(ctx, to, out.Since.Add(-findSlack))
	if err != nil {
		return nil, nil, err
	}
	parts = ways[0]
	for i, way := range ways {
		run := t.run(out.Key, way, said)
		if len(run) == len(way) {
			return way, run, nil
		}
		if len(run) > len(ids) && (i == 0 || t.takes(way[len(run):])) {
			parts, ids = way, run
		}
	}
	return parts, ids, nil
}

// run is the ids of the longest run of parts, from the first on, among what was said.
func (t *Transport) run(key string, parts []string, said []Message) (ids []int64) {
	for _, m := range said {
		if len(ids) < len(parts) && same(m.Content, parts[len(ids)]) && !t.isClaimed(m.ID, key, len(ids), parts) {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// takes tells whether the organisation takes parts uncut.
func (t *Transport) takes(parts []string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !slices.ContainsFunc(parts, func(p string) bool { return utf8.RuneCountInString(p) > t.limits.Message })
}

// tellsOf is the run of parts that the queue has told of.
func (t *Transport) tellsOf(key string, parts []string) []int64 {
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

// truncated is what Zulip ends a message with that it has cut.
const truncated = "\n[message truncated]"

// same tells whether the server keeps sent as kept: it strips empty lines
// before and white space after, and cuts what is over its limit.
func same(kept, sent string) bool {
	trim := func(s string) string { return strings.TrimRight(strings.TrimLeft(s, "\n"), " \t\r\n") }
	if head, cut := strings.CutSuffix(kept, truncated); cut && len(head) > 0 && strings.HasPrefix(strings.TrimLeft(sent, "\n"), head) {
		return true
	}
	return trim(kept) == trim(sent)
}
