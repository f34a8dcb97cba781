package chat

import (
	"database/sql"
	"errors"
)

// getStreamID is GET /get_stream_id: a channel's id by its name.
func (s *Server) getStreamID(c *call) (reply, error) {
	name, err := c.params.need("stream")
	if err != nil {
		return nil, err
	}
	st, err := streamByName(c.ctx, s.file.Reader(), name)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, bad("Invalid channel name '%s'", name)
	}
	return reply{"stream_id": st.ID}, err
}
