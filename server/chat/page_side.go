package chat

import (
	"context"
	"fmt"
)

const (
	sideTopics = 12   // of the channel that is open
	maxUnread  = 2000 // unread messages that are counted; with more, what is counted is the newest
)

// side is the list of places beside a page.
type side struct {
	Streams           []sideStream
	Direct, Mentioned int // unread messages
}

// sideStream is a channel in the list.
type sideStream struct {
	ID            int64
	Name, Address string
	Unread        int
	Here, Open    bool // the page is the channel's; or one of its topics'
	Topics        []sideTopic
}

// sideTopic is a topic of the open channel.
type sideTopic struct {
	Name, Address string
	Unread        int
	Here          bool
}

// spot is a place by recipient and folded topic.
type spot struct {
	recipient int64
	topic     string
}

// unread is how many messages an account has not read.
type unread struct {
	spots             map[spot]int
	streams           map[int64]int // by recipient
	direct, mentioned int
}

// unread counts what others said and a reader has not read; nobody has read everything.
func (s *Server) unread(ctx context.Context, reader int64) (unread, error) {
	u := unread{spots: map[spot]int{}, streams: map[int64]int{}}
	if reader == 0 {
		return u, nil
	}
	err := eachRow(ctx, s.file.Reader(), func(scan func(...any) error) error {
		var at spot
		var count, mentioned int
		var direct bool
		if err := scan(&at.recipient, &at.topic, &count, &mentioned, &direct); err != nil {
			return err
		}
		u.spots[at] = count
		u.streams[at.recipient] += count
		u.mentioned += mentioned
		if direct {
			u.direct += count
		}
		return nil
	}, `SELECT m.recipient_id, m.topic_key, count(*), sum(c.flags & ? <> 0), r.members IS NOT NULL
		FROM (SELECT message_id, flags FROM copies WHERE user_id = ? AND flags & 1 = 0 ORDER BY message_id DESC LIMIT ?) c
		JOIN messages m ON m.id = c.message_id JOIN recipients r ON r.id = m.recipient_id WHERE m.sender_id <> ? GROUP BY 1, 2`,
		flagsMentioned, reader, maxUnread, reader)
	if err != nil {
		return u, fmt.Errorf("count unread of %d: %w", reader, err)
	}
	return u, nil
}

// side reads the list for a reader; at is where the page is, nil when at no place.
func (s *Server) side(ctx context.Context, reader int64, at interface{ at() (int64, string) }) (*side, error) {
	list, err := listStreams(ctx, s.file.Reader(), "")
	if err != nil {
		return nil, err
	}
	count, err := s.unread(ctx, reader)
	if err != nil {
		return nil, err
	}
	out := &side{Direct: count.direct, Mentioned: count.mentioned}
	var here spot
	if at != nil {
		here.recipient, here.topic = at.at()
	}
	for _, st := range list {
		one := sideStream{ID: st.ID, Name: st.Name, Address: fmt.Sprintf("/read/%d", st.ID), Unread: count.streams[st.Recipient]}
		if st.Recipient == here.recipient {
			one.Open, one.Here = true, here.topic == ""
			if one.Topics, err = s.sideTopics(ctx, st, here, count); err != nil {
				return nil, err
			}
		}
		out.Streams = append(out.Streams, one)
	}
	return out, nil
}

// sideTopics are the newest topics of the open channel, and the one that is open.
func (s *Server) sideTopics(ctx context.Context, st stream, here spot, count unread) ([]sideTopic, error) {
	list, err := listTopics(ctx, s.file.Reader(), st.Recipient)
	if err != nil {
		return nil, err
	}
	var out []sideTopic
	for i, t := range list {
		one := sideTopic{Name: t.Name, Address: topicAddress(st.ID, t.Name), Unread: count.spots[spot{st.Recipient, fold(t.Name)}], Here: fold(t.Name) == here.topic}
		if i < sideTopics || one.Here {
			out = append(out, one)
		}
	}
	return out, nil
}
