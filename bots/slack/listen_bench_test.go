package slack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/slack"
)

// BenchmarkReading is what it costs to take an event off a stream and to
// acknowledge it, with 64 under way. Its limit is a loop that reads a frame of a
// websocket, decodes what it must know of it and writes the acknowledgement.
func BenchmarkReading(b *testing.B) {
	for _, who := range []struct {
		name string
		run  func(b *testing.B, f *fountain) func()
	}{
		{"limit", readRaw},
		{"transport", readTransport},
	} {
		b.Run(who.name, func(b *testing.B) {
			f := newFountain(b)
			defer who.run(b, f)()
			f.flow(b)
		})
	}
}

// underWay is how many events are sent and not acknowledged.
const underWay = 64

// fountain is as much of a Slack as it takes to send events as fast as they are acknowledged.
type fountain struct {
	api  string
	turn chan struct{} // one element for each event that may be sent
	conn chan *websocket.Conn
}

func newFountain(b *testing.B) *fountain {
	f := &fountain{turn: make(chan struct{}, underWay), conn: make(chan *websocket.Conn, 2)}
	mux := http.NewServeMux()
	answer := func(method, text string) {
		mux.HandleFunc("POST /api/"+method, func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(strings.ReplaceAll(text, "HOST", r.Host)))
		})
	}
	answer("auth.test", `{"ok":true,"url":"https://shop.slack.test/","user":"platform","team_id":"T012","user_id":"U0BOT","bot_id":"B012"}`)
	answer("apps.connections.open", `{"ok":true,"url":"ws://HOST/link"}`)
	answer("users.list", `{"ok":true,"members":[{"id":"U0DEV","team_id":"T012","name":"dev"}]}`)
	var channels []string
	for i := range 32 {
		channels = append(channels, fmt.Sprintf(`{"id":"C%04d","name":"room-%d"}`, i, i))
	}
	answer("users.conversations", `{"ok":true,"channels":[`+strings.Join(channels, ",")+`]}`)
	answer("conversations.info", `{"ok":true,"channel":{"id":"C0000","name":"room"}}`)
	answer("users.info", `{"ok":true,"user":{"id":"U0DEV","team_id":"T012","name":"dev"}}`)
	mux.HandleFunc("GET /link", func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		_ = conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"hello"}`))
		f.conn <- conn
	})
	server := httptest.NewServer(mux)
	b.Cleanup(server.Close)
	f.api = server.URL + "/api/"
	return f
}

// flow sends b.N events over the first of two streams.
func (f *fountain) flow(b *testing.B) {
	conn, other := <-f.conn, <-f.conn
	var reading sync.WaitGroup
	defer reading.Wait()
	defer conn.Close()
	defer other.Close()
	done := make(chan struct{})
	for range underWay {
		f.turn <- struct{}{}
	}
	var n int
	reading.Go(func() {
		for acks := 0; ; acks++ {
			if _, _, err := conn.ReadMessage(); err != nil {
				return
			}
			select {
			case f.turn <- struct{}{}:
			case <-done:
				return
			}
		}
	})
	frame := func(n int) []byte {
		return fmt.Appendf(nil, `{"envelope_id":"57d6a792-4d35-4d0b-b6aa-%012d","payload":{"token":"x","team_id":"T012","api_app_id":"A012","event":{"type":"app_mention",`+
			`"user":"U0DEV","text":"<@U0BOT> status shop","ts":"1700000000.%06d","team":"T012","blocks":[{"type":"rich_text","block_id":"b","elements":[{"type":`+
			`"rich_text_section","elements":[{"type":"user","user_id":"U0BOT"},{"type":"text","text":" status shop"}]}]}],"channel":"C%04d","event_ts":"1700000000.%06d"},`+
			`"type":"event_callback","event_id":"Ev%06d","event_time":1700000000,"authorizations":[{"team_id":"T012","user_id":"U0BOT","is_bot":true}]},`+
			`"type":"events_api","accepts_response_payload":false,"retry_attempt":0,"retry_reason":""}`, n, n%1_000_000, n%32, n%1_000_000, n)
	}
	b.ReportAllocs()
	for b.Loop() {
		<-f.turn
		n++
		require.NoError(b, conn.WriteMessage(websocket.TextMessage, frame(n)))
	}
	for range underWay {
		<-f.turn
	}
	close(done)
}

// readRaw is the limit.
func readRaw(b *testing.B, f *fountain) (stop func()) {
	var reading sync.WaitGroup
	var conns []*websocket.Conn
	for range 2 {
		conn, resp, err := websocket.DefaultDialer.Dial(strings.Replace(strings.TrimSuffix(f.api, "api/"), "http", "ws", 1)+"link", nil)
		require.NoError(b, err)
		require.NoError(b, resp.Body.Close())
		conns = append(conns, conn)
		reading.Go(func() {
			for {
				_, text, err := conn.ReadMessage()
				if err != nil {
					return
				}
				var e struct {
					ID      string `json:"envelope_id"`
					Payload struct {
						Event struct{ Type, Channel, User, Text, TS string } `json:"event"`
					} `json:"payload"`
				}
				if json.Unmarshal(text, &e) == nil && e.ID != "" {
					_ = conn.WriteJSON(map[string]string{"envelope_id": e.ID})
				}
			}
		})
	}
	return func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
		reading.Wait()
	}
}

// readTransport is the transport, with a sink that takes everything at once.
func readTransport(b *testing.B, f *fountain) (stop func()) {
	store := botstest.NewStore()
	tr, err := slack.New(slack.Config{Tokens: slack.Tokens{Bot: "xoxb-1", App: "xapp-1", API: f.api}, Name: "platform", Threads: store})
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- tr.Run(ctx, func(context.Context, bots.Heard) error { return nil }) }()
	return func() {
		cancel()
		require.NoError(b, <-ended)
		require.NoError(b, tr.Close())
	}
}
