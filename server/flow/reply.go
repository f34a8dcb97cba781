package flow

import (
	"io"
	"net/http"
	"strings"

	"platform.dev/platform/flowclient/wire"
	"platform.dev/platform/server/web"
)

// reply writes an answer: as lines for a script that reads no JSON, where it
// has any, else as JSON.
func reply(w http.ResponseWriter, r *http.Request, status int, answer any) {
	if kind, _, _ := strings.Cut(r.Header.Get("Accept"), ";"); strings.TrimSpace(kind) == wire.TextType {
		if text, ok := wire.Text(answer); ok {
			w.Header().Set("Content-Type", wire.TextType+"; charset=utf-8")
			w.Header().Set("X-Content-Type-Options", "nosniff")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text) // the client went away: there is nobody to tell
			return
		}
	}
	web.JSON(w, status, answer)
}
