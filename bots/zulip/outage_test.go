package zulip

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
)

// inside serves the script's answers without a socket, so that time can be the
// test's: a connection would keep the clock of a bubble from going on.
type inside struct{ script *script }

func (i inside) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	ended := make(chan bool, 1)
	go func() {
		cut := true
		defer func() {
			_ = recover() // http.ErrAbortHandler, as a server does
			ended <- cut
		}()
		i.script.ServeHTTP(rec, r)
		cut = false
	}()
	select {
	case cut := <-ended:
		if cut {
			return nil, io.ErrUnexpectedEOF
		}
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		return rec.Result(), nil
	case <-r.Context().Done():
		<-ended
		return nil, r.Context().Err()
	}
}

// bubble runs a check of a transport in a time of its own.
func bubble(t *testing.T, check func(t *testing.T, s *script, run func() (*Transport, chan bots.Heard))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := healthy(t)
		s.url = "http://chat.test"
		check(t, s, func() (*Transport, chan bots.Heard) {
			tr := s.transport(botstest.NewStore(), func(c *Config) { c.Transport = inside{s} })
			heard := make(chan bots.Heard, 100)
			ctx, stop := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() {
				ended <- tr.Run(ctx, func(_ context.Context, h bots.Heard) error { heard <- h; return nil })
			}()
			t.Cleanup(func() { stop(); assert.NoError(t, <-ended) })
			return tr, heard
		})
	})
}

func TestASilentServerIsNoticedAndAskedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, s *script, run func() (*Transport, chan bots.Heard)) {
		s.on("GET /events", events(fmt.Sprintf(heartbeat, 3)), answer{hold: true},
			events(said(4, message(31, 10, "@**platform** status", ""), `"mentioned"`)), answer{hold: true})
		tr, heard := run()
		synctest.Wait()
		assert.True(t, tr.Connected())
		time.Sleep(59 * time.Second)
		assert.True(t, tr.Connected(), "a heartbeat may take so long")
		time.Sleep(2 * time.Second)
		assert.False(t, tr.Connected(), "neither event nor heartbeat for a minute")
		time.Sleep(40 * time.Second) // the poll is given up after the server's own time and ten seconds
		assert.Equal(t, "status", (<-heard).Text)
		synctest.Wait()
		assert.True(t, tr.Connected())
		assert.EqualValues(t, 1, tr.Reconnects())
		polls := s.requests("GET /events")
		require.Len(t, polls, 4)
		assert.Equal(t, "3", polls[2].Form.Get("last_event_id"), "a heartbeat is acknowledged like an event")
		assert.Len(t, s.requests("POST /register"), 1, "the queue outlives it")
	})
}

func TestAnOutageIsWaitedForWithPausesAndNothingIsMissed(t *testing.T) {
	for name, bad := range map[string]answer{
		"cut connections":                 {hangUp: true},
		"a gateway's page":                {status: http.StatusBadGateway, body: "<html>bad gateway</html>"},
		"an error of the server's own":    fails(http.StatusInternalServerError, "INTERNAL_SERVER_ERROR", ""),
		"maintenance":                     {status: http.StatusServiceUnavailable, body: "<html>back soon</html>"},
		"another site's page, as success": ok("<html>sign in to this network</html>"),
		"another site's page, not found":  {status: http.StatusNotFound, body: "<html>no such page</html>"},
		"a redirect to a sign-in page":    {status: http.StatusFound, header: http.Header{"Location": {"https://portal.example/"}}},
		"JSON that is not Zulip's":        ok(`{"ok":true}`),
	} {
		t.Run(name+", of polls", func(t *testing.T) {
			bubble(t, func(t *testing.T, s *script, run func() (*Transport, chan bots.Heard)) {
				s.on("GET /events", bad)
				tr, heard := run()
				time.Sleep(10 * time.Minute)
				assert.False(t, tr.Connected())
				asked := len(s.requests("GET /events"))
				assert.Greater(t, asked, 15, "asked on")
				assert.Less(t, asked, 60, "with pauses")
				assert.Len(t, s.requests("POST /register"), 1, "the queue may outlive it")
				s.on("GET /events", events(said(1, message(31, 10, "@**platform** status", ""), `"mentioned"`)), answer{hold: true})
				assert.Equal(t, "status", (<-heard).Text)
				synctest.Wait()
				assert.True(t, tr.Connected())
				assert.EqualValues(t, 1, tr.Reconnects())
			})
		})
		t.Run(name+", of registering", func(t *testing.T) {
			bubble(t, func(t *testing.T, s *script, run func() (*Transport, chan bots.Heard)) {
				s.on("POST /register", bad)
				tr, heard := run()
				time.Sleep(10 * time.Minute)
				assert.False(t, tr.Connected())
				asked := len(s.requests("POST /register"))
				assert.Greater(t, asked, 15, "asked on")
				assert.Less(t, asked, 60, "with pauses")
				s.on("POST /register", ok(registered)).on("GET /messages", page(true, message(31, 10, "@**platform** meanwhile", `,"flags":["mentioned"]`)), ok(nothing))
				assert.Equal(t, "meanwhile", (<-heard).Text)
			})
		})
	}
}

func TestAPollThatTheServerRefusesIsAskedOfANewQueue(t *testing.T) {
	for name, bad := range map[string]answer{
		"the queue is unknown":       fails(http.StatusBadRequest, "BAD_EVENT_QUEUE_ID", `,"queue_id":"q1"`),
		"its events are pruned":      fails(http.StatusBadRequest, "BAD_REQUEST", ""),
		"it is another's":            fails(http.StatusForbidden, "UNAUTHORIZED_PRINCIPAL", ""),
		"the endpoint is not there":  fails(http.StatusNotFound, "NOT_FOUND", ""),
		"a code of a server to come": fails(http.StatusConflict, "NEW_CODE", ""),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *script, run func() (*Transport, chan bots.Heard)) {
				s.on("POST /register", ok(registered), ok(strings.Replace(registered, `"q1"`, `"q2"`, 1))).
					on("GET /events", bad, events(said(0, message(31, 10, "@**platform** status", ""), `"mentioned"`)), answer{hold: true})
				_, heard := run()
				assert.Equal(t, "status", (<-heard).Text)
				polls := s.requests("GET /events")
				assert.Equal(t, []string{"q1", "q2"}, []string{polls[0].Form.Get("queue_id"), polls[1].Form.Get("queue_id")})
			})
		})
		t.Run(name+", again and again", func(t *testing.T) {
			bubble(t, func(t *testing.T, s *script, run func() (*Transport, chan bots.Heard)) {
				s.on("GET /events", bad)
				run()
				time.Sleep(10 * time.Minute)
				assert.Less(t, len(s.requests("POST /register")), 60, "with pauses")
			})
		})
	}
}

func TestAnotherPollerOfTheSameQueueMakesNoStorm(t *testing.T) {
	bubble(t, func(t *testing.T, s *script, run func() (*Transport, chan bots.Heard)) {
		s.on("GET /events", events())
		run()
		time.Sleep(time.Minute)
		assert.Less(t, len(s.requests("GET /events")), 130)
	})
}

func TestARateLimitOfRegisteringIsWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T, s *script, run func() (*Transport, chan bots.Heard)) {
		s.on("POST /register", fails(http.StatusTooManyRequests, "RATE_LIMIT_HIT", `,"retry-after":90.5`), ok(registered))
		tr, _ := run()
		time.Sleep(90 * time.Second)
		assert.Len(t, s.requests("POST /register"), 1)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Len(t, s.requests("POST /register"), 2)
		assert.NotEmpty(t, s.requests("GET /events"))
		assert.Equal(t, "7", tr.Self().ID)
	})
}

func TestASwitchedOffAccountEndsItAndTheErrorSaysSo(t *testing.T) {
	for _, c := range []struct{ name, code, says string }{
		{"the account", "USER_DEACTIVATED", "the account platform-bot@x is deactivated"},
		{"the organisation", "REALM_DEACTIVATED", "the organisation of platform-bot@x is deactivated"},
	} {
		for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
			for _, route := range []string{"POST /register", "GET /events", "GET /users/me", "GET /messages"} {
				t.Run(fmt.Sprintf("%s, %d to %s", c.name, status, route), func(t *testing.T) {
					s := newScript(t).on(route, fails(status, c.code, ""))
					_, ended := listening(t, s.transport(botstest.NewStore()), nil)
					err := <-ended
					require.ErrorContains(t, err, c.says)
					assert.Len(t, s.requests(route), 1, "it is not asked again")
				})
			}
		}
	}
}

func TestTheBotsNameIsLearntAnewWithANewQueue(t *testing.T) {
	renamed := strings.Replace(strings.Replace(registered, `"q1"`, `"q2"`, 1), `{"user_id":7,"full_name":"platform"`, `{"user_id":7,"full_name":"delivery"`, 1)
	s := newScript(t).on("POST /register", ok(registered), ok(renamed)).on("GET /events",
		fails(http.StatusBadRequest, "BAD_EVENT_QUEUE_ID", ""),
		events(said(0, message(31, 10, "@**delivery** status", ""), `"mentioned"`)), answer{hold: true})
	tr := s.transport(botstest.NewStore())
	heard, _ := listening(t, tr, nil)
	assert.Equal(t, "status", next(t, heard).Text)
	assert.Equal(t, bots.User{ID: "7", Name: "delivery"}, tr.Self())
}

func TestAccountsThatComeAndGoWhileItListens(t *testing.T) {
	s := newScript(t).on("GET /events", events(
		`{"id":1,"type":"realm_user","op":"add","person":{"user_id":20,"full_name":"new bot","is_bot":true}}`,
		`{"id":2,"type":"realm_user","op":"add","person":{"user_id":21,"full_name":"New Person","is_bot":false}}`,
		`{"id":3,"type":"realm_user","op":"update","person":{"user_id":11,"is_active":false}}`,
		`{"id":4,"type":"realm_user","op":"remove","person":{"user_id":11,"full_name":"Sam SRE"}}`,
		said(5, message(1, 20, "@**platform** from a bot", ""), `"mentioned"`),
		said(6, message(2, 99, "@**platform** from nobody known", ""), `"mentioned"`),
		said(7, message(3, 21, "@**platform** from a person", ""), `"mentioned"`)),
		answer{hold: true})
	heard, _ := listening(t, s.transport(botstest.NewStore()), nil)
	assert.Equal(t, "from a person", next(t, heard).Text, "bots and strangers are not heard")
	assert.Len(t, s.requests("GET /users/99"), 1)
}
