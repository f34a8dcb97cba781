package flow

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"platform.dev/platform/flowclient/wire"
	"platform.dev/platform/server/web"
)

// reply writes an answer: as lines for a script that reads no JSON, where it
// has any, else as JSON.
func reply(w http.ResponseWriter, r *http.Request, status int, answer any) {
	if whole, ok := answer.(encoded); ok {
		whole.reply(w, r)
		return
	}
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

// encoded is an answer of status 200 as the bytes that are sent, and the tag by
// which a client that has them already says so.
type encoded struct {
	body []byte
	etag string
}

// encode is an answer as JSON. Its tag is made from the bytes alone: it is the
// same again after a restart, and for an answer that something else has changed around.
func encode(answer any) (encoded, error) {
	body, err := json.Marshal(answer)
	if err != nil {
		return encoded{}, fmt.Errorf("encode: %w", err)
	}
	sum := sha256.Sum256(body)
	return encoded{append(body, '\n'), `"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`}, nil
}

// reply answers 200 with the body, or 304 to a client that has it.
func (e encoded) reply(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("ETag", e.etag)
	h.Set("Cache-Control", "private, no-cache") // ask each time: most of the answers are 304
	if e.known(r.Header.Values("If-None-Match")) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(e.body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(e.body) // the client went away: there is nobody to tell
	}
}

// known tells whether the values of If-None-Match name the answer. A tag that a
// proxy has weakened still does (RFC 9110, 13.1.2).
func (e encoded) known(values []string) bool {
	for _, value := range values {
		for tag := range strings.SplitSeq(value, ",") { // our tags hold no comma
			if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == e.etag {
				return true
			}
		}
	}
	return false
}
