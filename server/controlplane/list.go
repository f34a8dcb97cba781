package controlplane

import (
	"encoding/base64"
	"net/http"
	"strconv"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/web"
)

const (
	defaultPage = 20
	largestPage = 100
)

// page is a list answer.
type page struct {
	Items      []flowclient.Object `json:"items"`
	Pagination pagination          `json:"pagination"`
}

type pagination struct {
	NextCursor string `json:"nextCursor,omitempty"`
}

// list answers GET on a collection, by name. The cursor is the last name given,
// so that a page stays right while objects come and go.
func (s *Server) list(k kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		sel, err := readSelection(k, r)
		if err != nil {
			s.answer(w, r, err)
			return
		}
		limit := sel.limit
		sel.limit++ // one more tells whether there is a next page
		found, err := find(r.Context(), s.db.Reader(), sel)
		if err != nil {
			s.answer(w, r, err)
			return
		}
		answer := page{Items: []flowclient.Object{}}
		if len(found) > limit {
			found = found[:limit]
			answer.Pagination.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(found[limit-1].name))
		}
		for _, o := range found {
			answer.Items = append(answer.Items, o.wire(s.namespace, k.cluster))
		}
		web.JSON(w, http.StatusOK, answer)
	}
}

// readSelection reads a list's query.
func readSelection(k kind, r *http.Request) (selection, error) {
	query := r.URL.Query()
	sel := selection{kind: k.name, refs: map[string]string{}, limit: defaultPage}
	if raw := query.Get("limit"); raw != "" {
		n, err := strconv.Atoi(raw)
		if err != nil {
			return sel, bad(http.StatusBadRequest, "limit", web.Echo(raw), "must be a number")
		}
		sel.limit = min(max(n, 1), largestPage) // clamped: clients ask for 500
	}
	if raw := query.Get("cursor"); raw != "" {
		after, err := base64.RawURLEncoding.DecodeString(raw)
		if err != nil || !dnsLabel.Match(after) {
			return sel, bad(http.StatusBadRequest, "cursor", web.Echo(raw), "must be a nextCursor of this list")
		}
		sel.after = string(after)
	}
	for _, f := range k.refs {
		if value := query.Get(f.field); f.public && value != "" {
			sel.refs[f.field] = value
		}
	}
	var err error
	sel.labels, err = parseSelector(query.Get("labelSelector"))
	return sel, err
}
