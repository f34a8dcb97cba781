package botstest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// slackStream is an open event stream of an app.
type slackStream struct {
	app  *slackApp
	conn *websocket.Conn
	out  chan json.RawMessage
	done chan struct{}
	once sync.Once
	sent map[string]*slackEvent // over this stream, by envelope id

	frozen chan struct{} // closed when the network swallows whatever is sent over it
	freeze sync.Once
}

// slackStreamQueue is how many events a stream holds that its app has not read.
const slackStreamQueue = 8192

// next is the app's stream that is to carry the next event, nil without one; the lock is held.
func (a *slackApp) next() *slackStream {
	if len(a.streams) == 0 {
		return nil
	}
	a.turn++
	return a.streams[a.turn%len(a.streams)]
}

func (s *Slack) openStream(c slackCall) (answer, string) {
	if len(c.app.streams) >= 10 {
		return nil, "too_many_websockets"
	}
	ticket := s.id("ticket-")
	s.tickets[ticket] = c.app
	return answer{"url": "ws://" + c.host + "/link?ticket=" + ticket + "&app_id=" + c.app.id}, ""
}

// serveStream is one event stream, from its greeting to its end.
func (s *Slack) serveStream(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if len(s.refuse) > 0 {
		status := s.refuse[0]
		s.refuse = s.refuse[1:]
		s.mu.Unlock()
		http.Error(w, http.StatusText(status), status)
		return
	}
	app := s.tickets[r.URL.Query().Get("ticket")]
	delete(s.tickets, r.URL.Query().Get("ticket")) // good once
	if app == nil || s.closed {
		s.mu.Unlock()
		http.Error(w, "invalid ticket", http.StatusForbidden)
		return
	}
	s.served.Add(1)
	s.mu.Unlock()
	defer s.served.Done()
	upgrade := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := upgrade.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &slackStream{
		app: app, conn: conn, out: make(chan json.RawMessage, slackStreamQueue), done: make(chan struct{}), sent: map[string]*slackEvent{},
		frozen: make(chan struct{}),
	}
	conn.SetPongHandler(func(string) error { s.ponged(); return nil })
	conn.SetPingHandler(func(text string) error {
		if !c.swallows() {
			_ = conn.WriteControl(websocket.PongMessage, []byte(text), time.Now().Add(time.Second))
		}
		return nil
	})
	var writing sync.WaitGroup
	writing.Go(func() { c.writes(s.cfg.Ping, s.cfg.Lifetime) })
	s.opened(c)
	c.reads(s)
	s.ended(c)
	c.close()
	writing.Wait()
}

// opened greets the app and sends what waits.
func (s *Slack) opened(c *slackStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		c.close()
		return
	}
	s.streams[c] = true
	c.app.streams = append(c.app.streams, c)
	c.write(slackJSON(answer{
		"type": "hello", "num_connections": len(c.app.streams), "connection_info": answer{"app_id": c.app.id},
		"debug_info": answer{"host": "applink-0", "build_number": 7, "approximate_connection_time": int(s.cfg.Lifetime.Seconds())},
	}))
	if s.cfg.Eager {
		waiting := slices.SortedFunc(slices.Values(s.unsent), func(a, b *slackEvent) int { return strings.Compare(a.id, b.id) })
		for _, e := range waiting {
			if e.app == c.app {
				s.dispatch(e)
			}
		}
	}
	s.change()
}

// ended takes a stream away; what it carried and was not acknowledged comes again.
func (s *Slack) ended(c *slackStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.app.streams = slices.DeleteFunc(c.app.streams, func(other *slackStream) bool { return other == c })
	delete(s.streams, c)
	s.fewest = min(s.fewest, len(s.streams))
	for id, e := range c.sent {
		if s.envelopes[id] == e {
			s.unanswered(id, e)
		}
	}
	s.change()
}

// reads takes acknowledgements until the stream ends.
func (c *slackStream) reads(s *Slack) {
	for {
		var ack struct {
			ID string `json:"envelope_id"`
		}
		if err := c.conn.ReadJSON(&ack); err != nil {
			return
		}
		if c.swallows() {
			continue
		}
		s.mu.Lock()
		delete(c.sent, ack.ID)
		s.acknowledged(ack.ID)
		s.mu.Unlock()
	}
}

// writes sends what is queued, and pings, as long as the stream may live.
func (c *slackStream) writes(every, lifetime time.Duration) {
	ping := time.NewTicker(every)
	defer ping.Stop()
	end := time.AfterFunc(lifetime, func() { c.write(slackDisconnect("refresh_requested")) })
	defer end.Stop()
	defer c.conn.Close()
	for {
		var err error
		select {
		case frame := <-c.out:
			if c.swallows() {
				continue
			}
			if err = c.conn.WriteMessage(websocket.TextMessage, frame); err == nil && isDisconnect(frame) {
				return
			}
		case <-ping.C:
			if c.swallows() {
				continue
			}
			err = c.conn.WriteControl(websocket.PingMessage, []byte("Ping from applink-0"), time.Now().Add(time.Second))
		case <-c.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// isDisconnect tells whether the stream ends with a frame. After a warning it lasts a while yet.
func isDisconnect(frame json.RawMessage) bool {
	var f struct {
		Type, Reason string
	}
	return json.Unmarshal(frame, &f) == nil && f.Type == "disconnect" && f.Reason != "warning"
}

// swallows tells whether nothing reaches the app any more.
func (c *slackStream) swallows() bool {
	select {
	case <-c.frozen:
		return true
	default:
		return false
	}
}

// write queues a frame. A stream whose app reads nothing is ended.
func (c *slackStream) write(frame json.RawMessage) {
	select {
	case c.out <- frame:
	default:
		c.close()
	}
}

func (c *slackStream) close() { c.once.Do(func() { close(c.done) }) }

// Streams is how many event streams are open.
func (s *Slack) Streams() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.streams)
}

// ponged counts an answer to a ping.
func (s *Slack) ponged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pongs++
	s.change()
}

// AwaitPongs waits until pings were answered that many times more.
func (s *Slack) AwaitPongs(t testing.TB, n int) {
	t.Helper()
	s.mu.Lock()
	before := s.pongs
	s.mu.Unlock()
	s.await(t, Patience, func() bool { return s.pongs >= before+n }, "%d answers to pings", n)
}

// AwaitStreams waits until exactly that many event streams are open.
func (s *Slack) AwaitStreams(t testing.TB, n int) {
	t.Helper()
	s.await(t, Patience, func() bool { return len(s.streams) == n }, "%d event streams", n)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fewest = n
}

// AwaitPosts waits, within a time, until a channel has that many messages of apps, outside of threads and in them.
func (s *Slack) AwaitPosts(t testing.TB, channel string, n int, within time.Duration) {
	t.Helper()
	s.await(t, within, func() bool {
		posts := 0
		for _, m := range s.channels[channel].messages {
			if m.bot != "" {
				posts++
			}
		}
		return posts >= n
	}, "%d messages in channel %s", n, channel)
}

// AwaitQuiet waits until every event is acknowledged, or given up.
func (s *Slack) AwaitQuiet(t testing.TB) {
	t.Helper()
	s.await(t, Patience, func() bool { return len(s.envelopes)+len(s.unsent) == 0 }, "end of events")
}

// await waits until something is so; it looks at every change, with the lock held.
func (s *Slack) await(t testing.TB, within time.Duration, so func() bool, what string, args ...any) {
	t.Helper()
	late := time.NewTimer(within)
	defer late.Stop()
	for {
		s.mu.Lock()
		changed, is := s.changed, so()
		s.mu.Unlock()
		if is {
			return
		}
		select {
		case <-changed:
		case <-late.C:
			t.Fatalf("no "+what+" after %s", append(args, within)...)
			return
		}
	}
}
