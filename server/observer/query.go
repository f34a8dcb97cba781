package observer

import (
	"context"
	"encoding/json"
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

// As Loki's defaults.
const (
	defaultLines  = 100
	mostLines     = 5000
	defaultRange  = time.Hour     // of query_range
	defaultLabels = 6 * time.Hour // of labels and their values
)

// stream is a set of labels with lines.
type stream struct {
	id     int64
	labels map[string]string
	lines  []entry // found by a query, in its order
}

// queryRange answers GET /loki/api/v1/query_range: streams with their lines, at
// most limit of them in all, newest first unless direction is forward. start
// is part of the range, end is not. A range that reaches back to what was
// dropped has a warning.
func (s *Server) queryRange(w http.ResponseWriter, r *http.Request) error {
	v := r.URL.Query()
	sel, err := parseSelector(v.Get("query"))
	if err != nil {
		return err
	}
	start, end, err := s.span(v, defaultRange)
	if err != nil {
		return err
	}
	limit, err := lineLimit(v)
	if err != nil {
		return err
	}
	forward := false
	switch direction := strings.ToLower(v.Get("direction")); direction {
	case "", "backward":
	case "forward":
		forward = true
	default:
		return refuse(http.StatusBadRequest, "invalid direction '%s'", web.Echo(direction))
	}
	found, err := s.lines(r.Context(), sel, start, end, limit, forward)
	if err != nil {
		return err
	}
	warnings, err := s.warnings(r.Context(), start)
	if err != nil {
		return err
	}
	return reply(w, rangeAnswer(found, warnings))
}

// rangeAnswer is the answer in Loki's shape.
func rangeAnswer(found []*stream, warnings []string) any {
	type result struct {
		Stream map[string]string `json:"stream"`
		Values [][2]string       `json:"values"`
	}
	results := []result{}
	for _, st := range found {
		r := result{Stream: st.labels}
		for _, l := range st.lines {
			r.Values = append(r.Values, [2]string{strconv.FormatInt(l.at, 10), l.text})
		}
		results = append(results, r)
	}
	return struct {
		Status   string   `json:"status"`
		Warnings []string `json:"warnings,omitempty"`
		Data     any      `json:"data"`
	}{"success", warnings, map[string]any{"resultType": "streams", "result": results, "stats": map[string]any{}}}
}

// warnings say that lines of the time asked for may be gone.
func (s *Server) warnings(ctx context.Context, start time.Time) ([]string, error) {
	d, err := s.Dropped(ctx)
	if err != nil || d.Lines == 0 || start.After(d.LinesUpTo) {
		return nil, err
	}
	return []string{fmt.Sprintf("lines up to %s may be missing: %d were dropped, the oldest first; %d lines are kept, for %v",
		d.LinesUpTo.Format(time.RFC3339Nano), d.Lines, s.cfg.Limits.Lines, s.cfg.Limits.Age)}, nil
}

func lineLimit(v url.Values) (int, error) {
	text := v.Get("limit")
	if text == "" {
		return defaultLines, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, refuse(http.StatusBadRequest, "invalid limit %q: must be a number", web.Echo(text))
	case n <= 0:
		return 0, refuse(http.StatusBadRequest, "limit must be a positive value")
	case n > mostLines:
		return 0, refuse(http.StatusBadRequest, "max entries limit per query exceeded, limit > max_entries_limit_per_query (%d > %d)", n, mostLines)
	}
	return n, nil
}

// span is the range asked for: start and end, or since before end.
func (s *Server) span(v url.Values, back time.Duration) (start, end time.Time, err error) {
	end = s.cfg.Now()
	if text := v.Get("end"); text != "" {
		if end, err = instant("end", text); err != nil {
			return start, end, err
		}
	}
	if text := v.Get("since"); text != "" {
		if back, err = time.ParseDuration(text); err != nil || back < 0 {
			return start, end, refuse(http.StatusBadRequest, "invalid since %q: must be a duration such as 1h", web.Echo(text))
		}
	}
	start = end.Add(-back)
	if text := v.Get("start"); text != "" {
		if start, err = instant("start", text); err != nil {
			return start, end, err
		}
	}
	if end.Before(start) {
		return start, end, refuse(http.StatusBadRequest, "end timestamp must not be before or equal to start time")
	}
	return start, end, nil
}

// instant reads a time as Loki does: nanoseconds, seconds (ten digits or fewer, or with a fraction), or RFC 3339.
func instant(field, text string) (time.Time, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if len(text) <= 10 {
			return time.Unix(n, 0), nil
		}
		return time.Unix(0, n), nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(f) < 1e10 {
		whole, part := math.Modf(f)
		return time.Unix(int64(whole), int64(part*1e9)), nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return t, refuse(http.StatusBadRequest, "invalid %s %q: must be nanoseconds or seconds since 1970, or RFC 3339", field, web.Echo(text))
	}
	return t, nil
}

// lines finds a selector's lines. Streams come by their labels, lines in the order asked for.
func (s *Server) lines(ctx context.Context, sel selector, start, end time.Time, limit int, forward bool) ([]*stream, error) {
	streams, err := s.streams(ctx, sel.matches)
	if err != nil || len(streams) == 0 {
		return nil, err
	}
	byID := map[int64]*stream{}
	ids := make([]int64, 0, len(streams))
	for _, st := range streams {
		byID[st.id] = st
		ids = append(ids, st.id)
	}
	among, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	order := "DESC"
	if forward {
		order = "ASC"
	}
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT stream, at, text FROM line
		WHERE stream IN (SELECT value FROM json_each(?)) AND at >= ? AND at < ? ORDER BY at `+order+`, id `+order,
		string(among), start.UnixNano(), end.UnixNano())
	if err != nil {
		return nil, fmt.Errorf("read lines: %w", err)
	}
	defer rows.Close()
	for left := limit; left > 0 && rows.Next(); {
		var id int64
		var e entry
		if err := rows.Scan(&id, &e.at, &e.text); err != nil {
			return nil, fmt.Errorf("read lines: %w", err)
		}
		if sel.keeps(e.text) {
			byID[id].lines = append(byID[id].lines, e)
			left--
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read lines: %w", err)
	}
	return slices.DeleteFunc(streams, func(st *stream) bool { return len(st.lines) == 0 }), nil
}

// streams are those whose labels are wanted, by their labels. What is buffered is written first.
func (s *Server) streams(ctx context.Context, wanted func(map[string]string) bool) ([]*stream, error) {
	if err := s.flush(ctx); err != nil {
		return nil, err
	}
	rows, err := s.file.Reader().QueryContext(ctx, `SELECT id, labels FROM stream ORDER BY labels`)
	if err != nil {
		return nil, fmt.Errorf("read streams: %w", err)
	}
	defer rows.Close()
	var out []*stream
	for rows.Next() {
		st := &stream{}
		var text string
		if err := rows.Scan(&st.id, &text); err != nil {
			return nil, fmt.Errorf("read streams: %w", err)
		}
		if err := json.Unmarshal([]byte(text), &st.labels); err != nil {
			return nil, fmt.Errorf("read stream %d: %w", st.id, err)
		}
		if wanted(st.labels) {
			out = append(out, st)
		}
	}
	return out, rows.Err()
}
