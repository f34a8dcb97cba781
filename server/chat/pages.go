package chat

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"time"

	"platform.dev/platform/server/web"
)

//go:embed pages/*.html
var pageFiles embed.FS

//go:embed pages/page.css
var pageStyle []byte

//go:embed pages/narrow.js
var pageScript []byte

// pageTemplates are the reading pages.
type pageTemplates struct{ index, stream, topic *template.Template }

func newPageTemplates() *pageTemplates {
	parse := func(name string) *template.Template {
		return template.Must(template.New(name).ParseFS(pageFiles, "pages/frame.html", "pages/"+name))
	}
	return &pageTemplates{index: parse("index.html"), stream: parse("stream.html"), topic: parse("topic.html")}
}

// streamView is a channel with its topics, on a page.
type streamView struct {
	ID                int64
	Name, Description string
	Topics            []topicView
	More              int // topics not shown
}

// topicView is a line of a list of topics.
type topicView struct {
	Name, Address string
	Count         int
	Last          time.Time
}

// servePages adds the reading pages and what they load. They need no sign-in:
// whoever reaches a loopback server can read its file, too. For that reason
// they show public channels alone, and have no form.
func (s *Server) servePages(mux *http.ServeMux) {
	page := func(show func(*http.Request) (*template.Template, any, error)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { s.servePage(w, r, show) }
	}
	mux.HandleFunc("GET /{$}", page(s.indexPage))
	mux.HandleFunc("GET /read/{stream_id}", page(s.streamPage))
	mux.HandleFunc("GET /read/{stream_id}/{topic}", page(s.topicPage))
	mux.HandleFunc("GET /page.css", web.Style(pageStyle))
	mux.HandleFunc("GET /narrow.js", web.Asset("text/javascript; charset=utf-8", pageScript))
	mux.HandleFunc("GET /icon.svg", func(w http.ResponseWriter, _ *http.Request) { writePicture(w, s.cfg.Realm, 0) })
	mux.HandleFunc("GET /avatar/{user}", s.avatar)
}

// servePage renders a whole page before it writes any of it.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request, show func(*http.Request) (*template.Template, any, error)) {
	t, view, err := show(r)
	var b bytes.Buffer
	if err == nil {
		err = t.Execute(&b, view)
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		http.Error(w, "There is nothing at this address. The channels are listed at "+s.cfg.URL+"/", http.StatusNotFound)
		return
	case r.Context().Err() != nil:
		return
	case err != nil:
		s.cfg.Log.Error("chat page", "path", r.URL.Path, "error", err)
		http.Error(w, "The page could not be made; the log says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cache-Control", "no-store")
	web.Page(w, http.StatusOK, b.Bytes())
}

// pageStream is the channel that a page's address names.
func (s *Server) pageStream(r *http.Request) (stream, error) {
	id, err := strconv.ParseInt(r.PathValue("stream_id"), 10, 64)
	if err != nil {
		return stream{}, sql.ErrNoRows
	}
	return streamByID(r.Context(), s.file.Reader(), id)
}

// streamView reads a channel's topics.
func (s *Server) streamView(ctx context.Context, st stream) (streamView, error) {
	v := streamView{ID: st.ID, Name: st.Name, Description: st.Description}
	err := eachRow(ctx, s.file.Reader(), func(scan func(...any) error) error {
		var t topicView
		var last, at int64
		err := scan(&t.Name, &last, &t.Count, &at)
		t.Address, t.Last = topicAddress(st.ID, t.Name), time.Unix(at, 0)
		v.Topics = append(v.Topics, t)
		return err
	}, `SELECT topic, max(id), count(*), sent_at FROM messages WHERE recipient_id = ? GROUP BY topic_key ORDER BY 2 DESC`, st.Recipient)
	if err != nil {
		return v, fmt.Errorf("read topics of %s: %w", st.Name, err)
	}
	return v, nil
}

// topicAddress is where a topic is read. The topic is encoded as in a narrow's
// address, in which every text, "..", "a/b" or "%2F", is one element of a path.
func topicAddress(stream int64, topic string) string {
	return fmt.Sprintf("/read/%d/%s", stream, narrowEncode(topic))
}
