package chat

import "net/http"

// upload is POST /user_uploads: refused, since this server keeps no files.
func (s *Server) upload(*call) (reply, error) {
	return nil, &apiError{status: http.StatusBadRequest, code: codeBadRequest,
		msg: "Files cannot be uploaded here: put the file where its readers can fetch it, and post the link"}
}

// attachments is GET /attachments: there are none.
func (s *Server) attachments(*call) (reply, error) {
	return reply{"attachments": []any{}, "upload_space_used": 0}, nil
}
