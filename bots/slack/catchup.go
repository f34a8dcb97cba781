package slack

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// How far back conversations are read after nobody listened, and how much of each.
const (
	catchUpMost   = 24 * time.Hour     // what was said before is not heard
	threadAge     = 7 * 24 * time.Hour // threads that began earlier are read only where they are topics
	historyPage   = 200
	historyPages  = 10 // of a conversation: 2,000 messages
	repliesPages  = 5  // of a thread
	threadsMost   = 100
	readingsAtOne = 20                      // calls that may follow each other at once
	readEvery     = 1500 * time.Millisecond // between two calls after that; Slack allows 50 a minute
)

// catchUp hands over what was said to the bot since an instant, in the order in
// which it was said in each conversation, as heard again: the events may have told
// of it as well, before or meanwhile. It reads one conversation after the other, slowly, beside
// hearing. False: ctx has ended before all was handed over.
//
// What an edit may have turned into a mention is passed over, since Slack does not
// show what was written first.
func (l *listener) catchUp(ctx context.Context, all []channel, since time.Time) bool {
	if most := l.cfg.Now().Add(-catchUpMost); since.Before(most) {
		l.cfg.Log.Warn("nobody listened for long; what was said before is not heard", "since", since, "before", most)
		since = most
	}
	r := &reading{listener: l, since: stamp(since), from: stamp(since.Add(-threadAge)), calls: rate.NewLimiter(rate.Every(readEvery), readingsAtOne)}
	heard := 0
	for _, in := range all {
		said, err := r.conversation(ctx, in)
		if err != nil && ctx.Err() == nil {
			l.cfg.Log.Warn("what was said in a conversation is not known", "channel", in.id, "why", err)
		}
		for _, e := range said {
			if !l.again(ctx, e) {
				return false
			}
			heard++
		}
	}
	if ctx.Err() != nil {
		return false
	}
	l.cfg.Log.Info("what was said while nobody listened is heard", "since", since, "conversations", len(all), "messages", heard)
	return true
}

// again hands one message over, behind what its channel brought before; false when ctx ended first.
func (l *listener) again(ctx context.Context, e *event) bool {
	done := make(chan bool, 1)
	m := task{
		lane: e.Channel, do: l.until(func(ctx context.Context) error { return l.message(ctx, e, true) }, e.TS), done: func(ok bool) { done <- ok },
	}
	for tries := 0; !l.lanes.put(ctx, m); tries++ { // too many events wait
		sleep(ctx, backoff(tries, nil))
		if ctx.Err() != nil {
			return false
		}
	}
	return <-done
}

// reading is one look at all conversations.
type reading struct {
	*listener
	since string // timestamp: what is later is looked for
	from  string // of the oldest thread that is looked at
	calls *rate.Limiter
}

// past is a message of a conversation's history; of the first of a thread it tells of the thread.
type past struct {
	event
	Team        string   `json:"team"` // its author's
	Replies     int      `json:"reply_count"`
	LatestReply string   `json:"latest_reply"`
	ReplyUsers  []string `json:"reply_users"`
}

// conversation is what concerns the bot of what was said in a conversation, oldest first.
func (r *reading) conversation(ctx context.Context, in channel) ([]*event, error) {
	var found []*event
	roots := map[string]bool{} // of threads that were looked at, or need not be
	threads, err := r.pages(ctx, "conversations.history", url.Values{"channel": {in.id}, "oldest": {r.from}}, historyPages, func(m *past) bool {
		found = r.add(found, in, m)
		roots[m.TS] = true
		return m.Replies > 0 && m.LatestReply > r.since && !r.alone(m.ReplyUsers)
	})
	if err != nil {
		return nil, err
	}
	topics, err := r.cfg.Threads.Roots(ctx, in.id, threadsMost)
	if err != nil {
		return found, err
	}
	for _, root := range topics {
		if !roots[root] {
			threads = append(threads, root)
		}
	}
	if len(threads) > threadsMost {
		r.cfg.Log.Warn("of a channel's many threads only the newest are read", "channel", in.id, "threads", len(threads), "read", threadsMost)
		threads = threads[:threadsMost]
	}
	for _, root := range threads {
		form := url.Values{"channel": {in.id}, "ts": {root}, "oldest": {r.since}}
		_, err := r.pages(ctx, "conversations.replies", form, repliesPages, func(m *past) bool {
			found = r.add(found, in, m)
			return false
		})
		if err != nil && !is(err, codesNowhere...) {
			return found, err
		}
	}
	slices.SortStableFunc(found, func(a, b *event) int { return strings.Compare(a.TS, b.TS) })
	return slices.CompactFunc(found, func(a, b *event) bool { return a.TS == b.TS }), nil
}

// alone tells whether nobody but the bot has answered in a thread. Slack names bots by either of their ids.
func (r *reading) alone(users []string) bool {
	return len(users) > 0 && !slices.ContainsFunc(users, func(u string) bool { return u != r.me.user && u != r.me.bot })
}

// pages reads the messages of a conversation or a thread; those that keep says yes to are returned, by timestamp.
func (r *reading) pages(ctx context.Context, method string, form url.Values, most int, keep func(*past) bool) (kept []string, err error) {
	form.Set("limit", strconv.Itoa(historyPage))
	cursor := ""
	for range most {
		var page struct {
			result
			Messages []past `json:"messages"`
		}
		if err := r.calls.Wait(ctx); err != nil {
			return nil, err
		}
		if err := r.patiently(ctx, method, with(form, cursor), &page); err != nil {
			return nil, err
		}
		for i := range page.Messages {
			if keep(&page.Messages[i]) {
				kept = append(kept, page.Messages[i].TS)
			}
		}
		if cursor = page.Metadata.Cursor; cursor == "" {
			return kept, nil
		}
	}
	r.cfg.Log.Warn("more was said than is read", "in", form.Get("channel"), "method", method, "pages", most)
	return kept, nil
}

// add keeps a message that is late enough and concerns the bot.
func (r *reading) add(found []*event, in channel, m *past) []*event {
	e := &m.event
	if e.TS <= r.since {
		return found
	}
	e.Channel = in.id
	switch in.kind {
	case direct:
		e.ChannelType = "im"
	case group:
		e.ChannelType = "mpim"
	}
	e.UserTeam = m.Team
	if e.Edited != nil {
		e.Edited = nil
		if r.concerns(r.me.team, e) {
			r.cfg.Log.Info("a message is passed over that was edited before it could be heard", "channel", in.id, "message", e.TS)
		}
		return found
	}
	if r.concerns(r.me.team, e) {
		found = append(found, e)
	}
	return found
}
