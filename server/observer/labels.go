package observer

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"platform.dev/platform/server/web"
)

// labels answers GET /loki/api/v1/labels: the names that lines of the range have, sorted.
func (s *Server) labels(w http.ResponseWriter, r *http.Request) error {
	return s.listed(w, r, func(labels map[string]string, add func(string)) {
		for name := range labels {
			add(name)
		}
	})
}

// values answers GET /loki/api/v1/label/{name}/values: a label's values in the range, sorted.
func (s *Server) values(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if !labelName.MatchString(name) {
		return refuse(http.StatusBadRequest, "invalid label name '%s'", web.Echo(name))
	}
	return s.listed(w, r, func(labels map[string]string, add func(string)) {
		if value := labels[name]; value != "" {
			add(value)
		}
	})
}

// listed answers what each stream of the range adds, once.
func (s *Server) listed(w http.ResponseWriter, r *http.Request, each func(labels map[string]string, add func(string))) error {
	v := r.URL.Query()
	start, end, err := s.span(v, defaultLabels)
	if err != nil {
		return err
	}
	sel, err := optionalSelector(v)
	if err != nil {
		return err
	}
	streams, err := s.streams(r.Context(), sel.matches)
	if err != nil {
		return err
	}
	active, err := s.active(r.Context(), start, end)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, st := range streams {
		if active[st.id] {
			each(st.labels, func(name string) { names[name] = true })
		}
	}
	list := slices.AppendSeq(make([]string, 0, len(names)), maps.Keys(names))
	slices.Sort(list)
	return reply(w, struct {
		Status string   `json:"status"`
		Data   []string `json:"data"`
	}{"success", list})
}

// optionalSelector reads query= where it is given.
func optionalSelector(v url.Values) (selector, error) {
	if v.Get("query") == "" {
		return selector{}, nil
	}
	return parseSelector(v.Get("query"))
}

// active are the streams that have a line in the range.
func (s *Server) active(ctx context.Context, start, end time.Time) (map[int64]bool, error) {
	rows, err := s.file.Reader().QueryContext(ctx,
		`SELECT id FROM stream WHERE EXISTS (SELECT 1 FROM line WHERE stream = stream.id AND at >= ? AND at < ?)`, start.UnixNano(), end.UnixNano())
	if err != nil {
		return nil, fmt.Errorf("read streams: %w", err)
	}
	defer rows.Close()
	ids := map[int64]bool{}
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("read streams: %w", err)
		}
		ids[id] = true
	}
	return ids, rows.Err()
}
