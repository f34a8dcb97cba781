package chat

import (
	"database/sql"
	"fmt"
)

// topicPage shows a topic of a channel.
func (s *Server) topicPage(v *visit) (model, error) {
	st, err := s.pageStream(v)
	if err != nil {
		return nil, err
	}
	name, err := narrowDecode(v.PathValue("topic"))
	if err != nil {
		return nil, sql.ErrNoRows
	}
	// A topic is called as its newest message spells it; without a message there is none.
	err = s.file.Reader().QueryRowContext(v.Context(), `SELECT topic FROM messages WHERE recipient_id = ? AND topic_key = ? ORDER BY id DESC LIMIT 1`,
		st.Recipient, fold(name)).Scan(&name)
	if err != nil {
		return nil, err
	}
	m := &conversation{Stream: &streamRef{ID: st.ID, Name: st.Name, Address: fmt.Sprintf("/read/%d", st.ID)}, Topic: name,
		Address: topicAddress(st.ID, name), name: name + " · #" + st.Name, recipient: st.Recipient}
	if v.known() {
		m.Compose = s.newCompose(m.Address, "#"+st.Name+" › "+name)
	}
	return m, s.fill(v, m, spot{st.Recipient, fold(name)})
}
