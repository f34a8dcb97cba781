package observer

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"platform.dev/platform/server/web"
)

const (
	defaultTraces = 20     // as Tempo
	mostTraces    = 1000   // of one answer
	scannedTraces = 20_000 // looked at for one answer, newest first
	rootUnknown   = "<root span not yet received>"
)

// Query asks for traces. Zero fields ask for nothing.
type Query struct {
	Tags     map[string]string // each must be an attribute of a span or of its resource; "name" is the span's name
	From, To time.Time         // when a span of it began
	Shortest time.Duration
	Longest  time.Duration
	Limit    int // 0: 20
}

// Found is a trace as a search tells it.
type Found struct {
	TraceID     string // 32 hexadecimal digits
	RootSpan    string // 16 hexadecimal digits; "" while the root is not known
	RootService string
	RootName    string
	Started     time.Time
	Took        time.Duration
}

// Search finds the traces that match, those begun last first. It looks at the
// newest twenty thousand of the time asked for.
func (s *Server) Search(ctx context.Context, q Query) ([]Found, error) {
	ids, err := s.recentTraces(ctx, q)
	if err != nil {
		return nil, err
	}
	found := []Found{}
	for _, id := range ids {
		if len(found) == cmp.Or(q.Limit, defaultTraces) {
			break
		}
		rows, err := s.spansIn(ctx, id, maxTrace)
		if err != nil {
			return nil, err
		}
		f, matches, err := q.match(rows)
		if err != nil {
			return nil, err
		}
		if matches {
			found = append(found, f)
		}
	}
	slices.SortStableFunc(found, func(a, b Found) int { return b.Started.Compare(a.Started) })
	return found, nil
}

// recentTraces are the ids of the newest traces; a service's name narrows them at once.
func (s *Server) recentTraces(ctx context.Context, q Query) ([][]byte, error) {
	from, to := int64(0), int64(math.MaxInt64)
	if !q.From.IsZero() {
		from = q.From.UnixNano()
	}
	if !q.To.IsZero() {
		to = q.To.UnixNano()
	}
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT trace_id, max(started) AS newest FROM span
		WHERE started >= ?1 AND started < ?2 AND (?3 = '' OR service = ?3) GROUP BY trace_id ORDER BY newest DESC, trace_id LIMIT ?4`,
		from, to, q.Tags["service.name"], scannedTraces)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	defer rows.Close()
	var ids [][]byte
	for rows.Next() {
		var id []byte
		var newest int64
		if err := rows.Scan(&id, &newest); err != nil {
			return nil, fmt.Errorf("search: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// match tells whether a trace's spans are what is asked for, and sums them up.
func (q Query) match(rows []span) (Found, bool, error) {
	if len(rows) == 0 {
		return Found{}, false, nil // swept away in between
	}
	f := Found{TraceID: hex.EncodeToString(rows[0].traceID), RootService: rootUnknown, Started: time.Unix(0, rows[0].started).UTC()}
	wanted, last := len(q.Tags), rows[0].ended
	met := map[string]bool{}
	for i, r := range rows {
		last = max(last, r.ended)
		if len(r.parentID) == 0 && f.RootName == "" {
			f.RootSpan, f.RootService, f.RootName = hex.EncodeToString(r.spanID), r.service, r.name
		}
		if len(met) == wanted {
			continue
		}
		attributes, err := rows[i].attributes()
		if err != nil {
			return Found{}, false, err
		}
		for key, value := range q.Tags {
			if got, ok := attributes[key]; ok && got == value {
				met[key] = true
			}
		}
	}
	f.Took = time.Duration(last - rows[0].started)
	fits := len(met) == wanted && f.Took >= q.Shortest && (q.Longest == 0 || f.Took <= q.Longest)
	return f, fits, nil
}

// search answers GET /api/search in Tempo's shape. TraceQL (q=) is not spoken.
func (s *Server) search(w http.ResponseWriter, r *http.Request) error {
	q, err := queryOf(r.URL.Query())
	if err != nil {
		return err
	}
	if err := s.pending(r.Context()); err != nil {
		return err
	}
	found, err := s.Search(r.Context(), q)
	if err != nil {
		return err
	}
	type trace struct {
		TraceID           string `json:"traceID"`
		RootServiceName   string `json:"rootServiceName"`
		RootTraceName     string `json:"rootTraceName,omitempty"`
		StartTimeUnixNano string `json:"startTimeUnixNano"`
		DurationMs        int64  `json:"durationMs,omitempty"`
	}
	answer := struct {
		Traces  []trace        `json:"traces"`
		Metrics map[string]any `json:"metrics"`
	}{Traces: []trace{}, Metrics: map[string]any{}}
	for _, f := range found {
		answer.Traces = append(answer.Traces, trace{f.TraceID, f.RootService, f.RootName,
			strconv.FormatInt(f.Started.UnixNano(), 10), f.Took.Milliseconds()})
	}
	return reply(w, answer)
}

// queryOf reads a search's parameters.
func queryOf(v url.Values) (q Query, err error) {
	if v.Get("q") != "" {
		return q, refuse(http.StatusBadRequest, "invalid q: TraceQL is not spoken here; ask with tags=key=value")
	}
	if q.Limit, err = number(v, "limit", defaultTraces, mostTraces); err != nil {
		return q, err
	}
	if q.Tags, err = tagsOf(v.Get("tags")); err != nil {
		return q, err
	}
	for field, to := range map[string]*time.Duration{"minDuration": &q.Shortest, "maxDuration": &q.Longest} {
		if text := v.Get(field); text != "" {
			if *to, err = time.ParseDuration(text); err != nil || *to < 0 {
				return q, refuse(http.StatusBadRequest, "invalid %s %q: must be a duration such as 100ms", field, web.Echo(text))
			}
		}
	}
	for field, to := range map[string]*time.Time{"start": &q.From, "end": &q.To} {
		if text := v.Get(field); text != "" {
			seconds, err := strconv.ParseInt(text, 10, 33)
			if err != nil || seconds < 0 {
				return q, refuse(http.StatusBadRequest, "invalid %s %q: must be seconds since 1970", field, web.Echo(text))
			}
			*to = time.Unix(seconds, 0)
		}
	}
	return q, nil
}

// tagsOf reads logfmt: key=value pairs with spaces between them, values quoted where they hold one.
func tagsOf(text string) (map[string]string, error) {
	tags := map[string]string{}
	if len(text) > maxQuery {
		return nil, refuse(http.StatusBadRequest, "invalid tags: more than %d bytes", maxQuery)
	}
	for rest := strings.TrimLeft(text, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		key, after, found := strings.Cut(rest, "=")
		if !found || key == "" || strings.ContainsAny(key, " \"") {
			return nil, refuse(http.StatusBadRequest, "invalid tags %q: must be key=value pairs with spaces between them", web.Echo(text))
		}
		value, next, err := valueOf(after)
		if err != nil {
			return nil, refuse(http.StatusBadRequest, "invalid tags %q: the value of %s is no quoted text", web.Echo(text), web.Echo(key))
		}
		tags[key], rest = value, next
	}
	return tags, nil
}

// valueOf splits a value from what follows it.
func valueOf(text string) (value, rest string, err error) {
	if !strings.HasPrefix(text, `"`) {
		value, rest, _ = strings.Cut(text, " ")
		return value, rest, nil
	}
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", "", err
	}
	if rest = text[len(quoted):]; rest != "" && rest[0] != ' ' {
		return "", "", errors.New("something follows the quote")
	}
	value, err = strconv.Unquote(quoted)
	return value, rest, err
}

// number reads a parameter between 1 and most; absent, it is def.
func number(v url.Values, field string, def, most int) (int, error) {
	text := v.Get(field)
	if text == "" {
		return def, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, refuse(http.StatusBadRequest, "invalid %s %q: must be a number from 1 to %d", field, web.Echo(text), most)
	}
	return n, nil
}
