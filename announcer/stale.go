package announcer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

// maxFolded is how many announcements a summary names, the newest ones.
const maxFolded = 20

// summary is what is too old to be announced by itself, of one place.
type summary struct {
	place       place
	keys        []string // of the newest announcements, oldest first
	titles      map[string][]markup.Span
	seen        map[string]bool
	first, last time.Time
}

// add notes an announcement; a later one under the same key replaces it.
func (s *summary) add(key string, m markup.Message, at time.Time) {
	if len(s.seen) == 0 {
		s.first = at
	}
	s.last = at
	s.seen[key] = true
	s.keys = slices.DeleteFunc(s.keys, func(k string) bool { return k == key })
	s.keys = append(s.keys, key)
	s.titles[key] = m.Title
	if len(s.keys) > maxFolded {
		delete(s.titles, s.keys[0])
		s.keys = s.keys[1:]
	}
}

// message is the summary as one message.
func (s *summary) message() markup.Message {
	const layout = "2006-01-02 15:04"
	title := fmt.Sprintf("%d announcements from the time when nothing was announced", len(s.seen))
	if len(s.seen) == 1 {
		title = "One announcement from the time when nothing was announced"
	}
	m := markup.Message{
		Kind: "announce.summary", Status: markup.Notice, Title: markup.Spans(markup.T(title)),
		Blocks: []markup.Block{markup.Text(markup.T(fmt.Sprintf("Between %s and %s UTC.", s.first.UTC().Format(layout), s.last.UTC().Format(layout))))},
	}
	if left := len(s.seen) - len(s.keys); left > 0 {
		m.Blocks = append(m.Blocks, markup.Text(markup.T(fmt.Sprintf("The last %d; %d earlier ones are left out:", len(s.keys), left))))
	}
	items := make([][]markup.Span, len(s.keys))
	for i, key := range s.keys {
		items[i] = s.titles[key]
	}
	m.Blocks = append(m.Blocks, markup.List(items...))
	return m
}

// foldStale announces the events after the cursor that are older than Stale:
// one summary per place, and then moves the cursor behind them. The summaries'
// keys hang on where the cursor stood, so that doing it again after a crash
// edits the same messages.
func (a *Announcer) foldStale(ctx context.Context, after int64) (int64, error) {
	old := a.cfg.Now().Add(-Stale)
	last := after
	var order []*summary
	byPlace := map[place]*summary{}
	begun := map[string]bool{}
	err := a.each(ctx, after, func(e flowclient.Event) (bool, error) {
		if !e.At.Before(old) {
			return false, nil
		}
		last = e.Seq
		s, ok := a.say(ctx, e)
		if !ok {
			return true, nil
		}
		if s.goesOn(begun) {
			return true, a.put(ctx, s.key, s.place, s.message)
		}
		begun[s.key], begun[s.marks] = true, true
		if byPlace[s.place] == nil {
			byPlace[s.place] = &summary{place: s.place, titles: map[string][]markup.Span{}, seen: map[string]bool{}}
			order = append(order, byPlace[s.place])
		}
		byPlace[s.place].add(s.key, s.message, e.At)
		return true, nil
	})
	if err != nil || last == after {
		return after, err
	}
	for _, s := range order {
		key := fmt.Sprintf("announce/summary/%d/%s/%s", after, s.place.Stream, s.place.Topic)
		if err := a.put(ctx, key, s.place, s.message()); err != nil {
			return after, err
		}
	}
	return last, a.advance(ctx, last)
}
