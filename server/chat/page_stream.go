package chat

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"
)

// streamTopics is how many topics a channel's page shows.
const streamTopics = 500

// streamModel is a channel with its topics, the most recently used first.
type streamModel struct {
	ID          int64        `json:"stream_id"`
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Address     string       `json:"address"`
	Topics      []topicModel `json:"topics"`
	More        int          `json:"more"` // topics not shown
	Unread      int          `json:"unread"`
	Compose     *compose     `json:"-"` // of the channel's own page, for who is signed in

	recipient int64
}

func (m *streamModel) title() string       { return "#" + m.Name }
func (m *streamModel) at() (int64, string) { return m.recipient, "" }

// topicModel is a line of a list of topics.
type topicModel struct {
	Name    string    `json:"name"`
	Address string    `json:"address"`
	Count   int       `json:"count"`
	Unread  int       `json:"unread"`
	Last    time.Time `json:"last_message_at"`
}

// compose is the box to write in.
type compose struct {
	Action string // where it is sent
	Origin string // makes what is sent twice one message
	To     string // whom it reaches, in words
	Topic  bool   // it asks for a topic
	Limit  int    // code points
}

// newCompose is a fresh box.
func (s *Server) newCompose(action, to string) *compose {
	return &compose{Action: action, Origin: newAPIKey(), To: to, Limit: s.cfg.MaxContent}
}

// streamPage lists a channel's topics.
func (s *Server) streamPage(v *visit) (model, error) {
	st, err := s.pageStream(v)
	if err != nil {
		return nil, err
	}
	count, err := s.unread(v.Context(), v.who.ID)
	if err != nil {
		return nil, err
	}
	m, err := s.streamModel(v.Context(), st, streamTopics, count)
	if v.known() {
		m.Compose = s.newCompose(m.Address, "#"+st.Name)
		m.Compose.Topic = true
	}
	return &m, err
}

// pageStream is the channel that a page's address names.
func (s *Server) pageStream(v *visit) (stream, error) {
	id, err := strconv.ParseInt(v.PathValue("stream_id"), 10, 64)
	if err != nil {
		return stream{}, sql.ErrNoRows
	}
	return streamByID(v.Context(), s.file.Reader(), id)
}

// streamModel reads a channel's topics, at most limit of them.
func (s *Server) streamModel(ctx context.Context, st stream, limit int, count unread) (streamModel, error) {
	m := streamModel{ID: st.ID, Name: st.Name, Description: st.Description, Address: fmt.Sprintf("/read/%d", st.ID),
		Topics: []topicModel{}, Unread: count.streams[st.Recipient], recipient: st.Recipient}
	err := eachRow(ctx, s.file.Reader(), func(scan func(...any) error) error {
		var t topicModel
		var last, at int64
		err := scan(&t.Name, &last, &t.Count, &at)
		t.Address, t.Last, t.Unread = topicAddress(st.ID, t.Name), time.Unix(at, 0).UTC(), count.spots[spot{st.Recipient, fold(t.Name)}]
		if len(m.Topics) < limit {
			m.Topics = append(m.Topics, t)
		} else {
			m.More++
		}
		return err
	}, `SELECT topic, max(id), count(*), sent_at FROM messages WHERE recipient_id = ? GROUP BY topic_key ORDER BY 2 DESC`, st.Recipient)
	if err != nil {
		return m, fmt.Errorf("read topics of %s: %w", st.Name, err)
	}
	return m, nil
}
