package chat

import (
	"database/sql"
	"strconv"
)

// changeModel is the page on which a message is edited, or deleted.
type changeModel struct {
	Message messageModel `json:"message"`
	Content string       `json:"content"` // raw, as it was written
	Limit   int          `json:"limit"`   // code points
	Back    string       `json:"-"`       // the conversation, to which one comes back

	name string
}

func (m *changeModel) title() string { return m.name }

// editPage is GET /message/{message_id}/edit: the message's own text in a box.
func (s *Server) editPage(v *visit) (model, error) {
	return s.changePage(v, "Edit a message", func(m message) error { return s.mayChange(m, v.who, change{content: &m.Content}) })
}

// deletePage is GET /message/{message_id}/delete: it asks whether one means it.
func (s *Server) deletePage(v *visit) (model, error) {
	return s.changePage(v, "Delete a message", func(m message) error { return s.mayDelete(m, v.who) })
}

// changePage reads a message that its reader may change; a refusal is the API's.
func (s *Server) changePage(v *visit, name string, may func(message) error) (model, error) {
	id, err := strconv.ParseInt(v.PathValue("message_id"), 10, 64)
	if err != nil {
		return nil, sql.ErrNoRows
	}
	list, err := loadMessages(v.Context(), s.file.Reader(), v.who.ID, []int64{id})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 || !list[0].visible(v.who.ID) {
		return nil, sql.ErrNoRows
	}
	if err := may(list[0]); err != nil {
		return nil, err
	}
	models, err := s.messageModels(v, []int64{id})
	if err != nil || len(models) == 0 {
		return nil, err
	}
	return &changeModel{Message: models[0], Content: list[0].Content, Limit: s.cfg.MaxContent, Back: conversationAddress(list[0], v.who.ID), name: name}, nil
}

// conversationAddress is where a message's conversation is read.
func conversationAddress(m message, reader int64) string {
	if m.StreamID != 0 {
		return topicAddress(m.StreamID, m.Topic)
	}
	return directAddress(without(m.Members, reader))
}

// pageEdit changes a message's content, as PATCH /messages/{message_id} does.
func (s *Server) pageEdit(c *call) (reply, string, error) {
	content, err := c.params.need("content")
	if err != nil {
		return nil, "", err
	}
	back := c.params.text("", "back")
	c.params.values = map[string][]string{"content": {s.typed(content)}} // a page changes nothing else
	out, err := s.editMessage(c)
	return out, comeBack(back, c.path("message_id")), err
}

// pageDelete deletes a message, as DELETE /messages/{message_id} does.
func (s *Server) pageDelete(c *call) (reply, string, error) {
	out, err := s.deleteMessage(c)
	return out, comeBack(c.params.text("", "back"), ""), err
}
