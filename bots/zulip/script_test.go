package zulip

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// request is one request that a script was asked.
type request struct {
	Method, Path string
	Form         url.Values
}

// script is a server for the corners of the protocol: each route answers from a
// list, the last answer for ever. What a whole server does is tested against a whole server.
type script struct {
	t   *testing.T
	url string

	mu      sync.Mutex
	answers map[string][]answer
	asked   []request
	changed chan struct{}
}

// answer is what a route says: a status and a body; or hang up, or hold the request until it is given up.
type answer struct {
	status int
	body   string
	header http.Header
	hangUp bool // after having read the request
	hold   bool
}

func ok(body string) answer { return answer{status: http.StatusOK, body: body} }

// fails is an error answer of Zulip's.
func fails(status int, code, more string) answer {
	return answer{status: status, body: fmt.Sprintf(`{"result":"error","msg":"translated words","code":%q%s}`, code, more)}
}

const (
	me         = `{"result":"success","msg":"","user_id":7,"email":"platform-bot@x","full_name":"platform","is_bot":true,"role":400}`
	registered = `{"result":"success","msg":"","queue_id":"q1","last_event_id":-1,"event_queue_longpoll_timeout_seconds":90,
		"max_message_length":10000,"max_topic_length":60,"max_stream_name_length":60,
		"realm_users":[{"user_id":7,"full_name":"platform","is_bot":true},{"user_id":10,"full_name":"Dev Developer","is_bot":false},
		{"user_id":11,"full_name":"Sam SRE","is_bot":false},{"user_id":8,"full_name":"walkthrough","is_bot":true}],
		"realm_non_active_users":[],"cross_realm_bots":[{"user_id":5,"full_name":"Notification Bot"}]}`
	nothing   = `{"result":"success","msg":"","messages":[],"found_newest":true,"found_oldest":true}`
	succeeded = `{"result":"success","msg":""}`
	heartbeat = `{"type":"heartbeat","id":%d}`
)

// healthy is the answers of a healthy, silent server.
func healthy(t *testing.T) *script {
	return &script{t: t, changed: make(chan struct{}), answers: map[string][]answer{
		"GET /users/me":  {ok(me)},
		"POST /register": {ok(registered)},
		"GET /messages":  {ok(nothing)},
		"GET /events":    {{hold: true}},
		"DELETE /events": {ok(succeeded)},
	}}
}

// newScript starts a server with those answers.
func newScript(t *testing.T) *script {
	s := healthy(t)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// on sets a route's answers: "GET /events".
func (s *script) on(route string, answers ...answer) *script {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[route] = answers
	return s
}

// ServeHTTP answers the next answer of the route.
func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	require.NoError(s.t, r.ParseForm())
	path := r.URL.Path[len("/api/v1"):]
	route := r.Method + " " + path
	s.mu.Lock()
	list := s.answers[route]
	a := fails(http.StatusNotFound, "BAD_REQUEST", "")
	if len(list) > 0 {
		a = list[0]
	}
	if len(list) > 1 {
		s.answers[route] = list[1:]
	}
	s.asked = append(s.asked, request{r.Method, path, r.Form})
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	switch {
	case a.hold:
		<-r.Context().Done()
		return
	case a.hangUp:
		panic(http.ErrAbortHandler)
	}
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_, _ = w.Write([]byte(a.body))
}

// requests are the requests of a route up to now.
func (s *script) requests(route string) (list []request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.asked {
		if r.Method+" "+r.Path == route {
			list = append(list, r)
		}
	}
	return list
}

// await waits until a route was asked n times.
func (s *script) await(route string, n int) []request {
	s.t.Helper()
	late := time.NewTimer(10 * time.Second)
	defer late.Stop()
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if list := s.requests(route); len(list) >= n {
			return list
		}
		select {
		case <-changed:
		case <-late.C:
			require.FailNow(s.t, fmt.Sprintf("%s was not asked %d times", route, n))
		}
	}
}

// transport makes a transport at the script, over a store.
func (s *script) transport(store Cursor, change ...func(*Config)) *Transport {
	s.t.Helper()
	cfg := Config{
		Site: s.url, Email: "platform-bot@x", Key: "secret-key", Name: "platform", Cursor: store,
		Principals: func(string) []int64 { return []int64{10, 11} },
		Log:        slog.New(slog.NewTextHandler(s.t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range change {
		f(&cfg)
	}
	t, err := New(cfg)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, t.Close()) })
	return t
}

// events is a batch of events.
func events(list ...string) answer {
	body := `{"result":"success","msg":"","events":[`
	for i, e := range list {
		if i > 0 {
			body += ","
		}
		body += e
	}
	return ok(body + "]}")
}

// message is a channel's message by a sender; more are further fields.
func message(id, sender int, content, more string) string {
	return fmt.Sprintf(`{"id":%d,"type":"stream","stream_id":3,"display_recipient":"shop","subject":"talk","sender_id":%d,
		"sender_full_name":"Dev Developer","content":%q,"content_type":"text/x-markdown","timestamp":%d%s}`, id, sender, content, time.Now().Unix(), more)
}

// said is the event of a message.
func said(event int, message, flags string) string {
	return fmt.Sprintf(`{"id":%d,"type":"message","flags":[%s],"message":%s}`, event, flags, message)
}

// page is an answer of GET /messages.
func page(newest bool, messages ...string) answer {
	body := fmt.Sprintf(`{"result":"success","msg":"","found_newest":%v,"found_oldest":true,"messages":[`, newest)
	for i, m := range messages {
		if i > 0 {
			body += ","
		}
		body += m
	}
	return ok(body + "]}")
}
