package chat

import (
	"database/sql"
	"strconv"
)

// singleModel is one message, with the way to its conversation.
type singleModel struct {
	Message messageModel `json:"message"`
}

func (m *singleModel) title() string { return m.Message.Place }

// messagePage shows one message that the reader may see.
func (s *Server) messagePage(v *visit) (model, error) {
	id, err := strconv.ParseInt(v.PathValue("message_id"), 10, 64)
	if err != nil {
		return nil, sql.ErrNoRows
	}
	m, err := loadMessages(v.Context(), s.file.Reader(), v.who.ID, []int64{id})
	if err != nil {
		return nil, err
	}
	if len(m) == 0 || !m[0].visible(v.who.ID) {
		return nil, sql.ErrNoRows
	}
	list, err := s.messageModels(v, []int64{id})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &singleModel{Message: list[0]}, nil
}
