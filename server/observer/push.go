package observer

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"time"

	"platform.dev/platform/server/web"
)

// maxPushed is how many lines one push may carry.
const maxPushed = 20_000

// early is how far ahead of this clock a pushed line's time may be, as Loki's creation grace period.
const early = 10 * time.Minute

// push answers POST /loki/api/v1/push: JSON, 204 after the commit. A push that
// is wrong anywhere is refused whole, so that its sender may send it again.
func (s *Server) push(w http.ResponseWriter, r *http.Request) error {
	if mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); mediaType != "application/json" {
		return refuse(http.StatusUnsupportedMediaType, "Content-Type %q: send application/json", web.Echo(mediaType))
	}
	body, err := unpacked(r)
	if err != nil {
		return refuse(refusedStatus(err), "%v", err)
	}
	var sent struct {
		Streams []struct {
			Stream map[string]string   `json:"stream"`
			Values [][]json.RawMessage `json:"values"` // time, line, and optional structured metadata
		} `json:"streams"`
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		return refuse(http.StatusBadRequest, "the body is no push of streams: %s", web.Echo(err.Error()))
	}
	var entries []entry
	for i, st := range sent.Streams {
		stream, err := streamOf(st.Stream)
		if err != nil {
			return refuse(http.StatusBadRequest, "stream %d: %v", i, err)
		}
		for j, value := range st.Values {
			l, err := s.pushed(value)
			if err != nil {
				return refuse(http.StatusBadRequest, "stream %d, value %d: %v", i, j, err)
			}
			entries = append(entries, entryOf(stream, l))
		}
	}
	switch {
	case len(entries) == 0:
		return refuse(http.StatusUnprocessableEntity, "the push holds no line")
	case len(entries) > maxPushed:
		return refuse(http.StatusRequestEntityTooLarge, "%d lines in one push; %d are allowed", len(entries), maxPushed)
	}
	if err := s.writeLines(r.Context(), entries, 0); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// pushed reads ["<nanoseconds>", "line"].
func (s *Server) pushed(value []json.RawMessage) (Line, error) {
	var stamp, text string
	if len(value) < 2 || len(value) > 3 || json.Unmarshal(value[0], &stamp) != nil || json.Unmarshal(value[1], &text) != nil {
		return Line{}, fmt.Errorf("must be [\"<nanoseconds>\", \"<line>\"]")
	}
	nanos, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return Line{}, fmt.Errorf("time %q: must be nanoseconds since 1970", web.Echo(stamp))
	}
	at, now := time.Unix(0, nanos), s.cfg.Now()
	switch {
	case at.Before(now.Add(-s.cfg.Limits.Age)):
		return Line{}, fmt.Errorf("time %s: too old, lines are kept for %v", at.UTC().Format(time.RFC3339Nano), s.cfg.Limits.Age)
	case at.After(now.Add(early)):
		return Line{}, fmt.Errorf("time %s: too far ahead, it is %s here", at.UTC().Format(time.RFC3339Nano), now.UTC().Format(time.RFC3339Nano))
	}
	return Line{At: at, Text: text}, nil
}
