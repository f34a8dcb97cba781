package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/bots/slack"
	"platform.dev/platform/commands"
	"platform.dev/platform/flowclient/store"
)

// BenchmarkSlackMentionToReply is a mention to its reply over Socket Mode, with
// 32 under way, in 64 channels, for calls of the Web API that take no time and
// that take 50 ms. Its limit, in the same run, is a loop over two raw websockets
// and a pool of connections that posts the same body and commits the same rows:
// none for a read, three times for a write. x-limit is how much fewer messages a second the bot answers.
func BenchmarkSlackMentionToReply(b *testing.B) {
	for _, call := range []time.Duration{0, 50 * time.Millisecond} {
		for _, verb := range []string{"read", "write"} {
			limit := 0.0
			b.Run(fmt.Sprintf("call=%s/%s/limit", call, verb), func(b *testing.B) {
				w := newSlackLoad(b, botstest.SlackConfig{})
				w.raw(b, verb == "write")
				limit = w.load(b, call, verb)
			})
			b.Run(fmt.Sprintf("call=%s/%s/bot", call, verb), func(b *testing.B) {
				w := newSlackLoad(b, botstest.SlackConfig{})
				w.bot(b, 0)
				b.ReportMetric(limit/w.load(b, call, verb), "x-limit")
			})
		}
	}
}

// BenchmarkSlackAcknowledgement is how long Slack waits to be told that an event
// was taken, asked a hundred times a second while every handler runs for five
// seconds. Its limit is the raw loop, which acknowledges once a row is committed.
func BenchmarkSlackAcknowledgement(b *testing.B) {
	for _, who := range []struct {
		name, verb string
		run        func(b *testing.B, w *slackLoad)
	}{
		{"limit", "read", func(b *testing.B, w *slackLoad) { w.raw(b, true) }},
		{"bot", "slow", func(b *testing.B, w *slackLoad) { w.bot(b, 0) }},
	} {
		b.Run(who.name, func(b *testing.B) {
			w := newSlackLoad(b, botstest.SlackConfig{})
			who.run(b, w)
			w.warm(b, "read")
			w.slack.AwaitQuiet(b)
			w.slack.Acked()
			over := make(chan struct{})
			defer close(over)
			go func() { // the limit's replies are of no interest
				for {
					select {
					case <-w.replied:
					case <-over:
						return
					}
				}
			}()
			every := time.NewTicker(10 * time.Millisecond)
			defer every.Stop()
			n := 0
			for b.Loop() {
				w.ask(n, who.verb)
				n++
				<-every.C
			}
			w.slack.AwaitQuiet(b)
			acked := w.slack.Acked()
			slices.Sort(acked)
			b.ReportMetric(float64(acked[len(acked)/2].Microseconds()), "ack-p50-µs")
			b.ReportMetric(float64(acked[len(acked)*99/100].Microseconds()), "ack-p99-µs")
		})
	}
}

// BenchmarkSlackRedelivery asks 200 times, each of whose two events comes twice:
// replies is how many replies there are to them.
func BenchmarkSlackRedelivery(b *testing.B) {
	const all = 200
	w := newSlackLoad(b, botstest.SlackConfig{})
	w.bot(b, 0)
	w.warm(b, "read")
	w.slack.Twice()
	for b.Loop() {
		before := w.slack.Calls("chat.postMessage")
		for n := range all {
			w.ask(n, "read")
			if n >= slackUnderWay {
				<-w.replied
			}
		}
		for range slackUnderWay {
			<-w.replied
		}
		w.slack.AwaitQuiet(b)
		b.ReportMetric(float64(w.slack.Calls("chat.postMessage")-before), "replies")
	}
}

// BenchmarkSlackRateLimit asks 20 times in one channel that takes one post a
// second and refuses the others: replies is how many there are in the end.
func BenchmarkSlackRateLimit(b *testing.B) {
	const all = 20
	w := newSlackLoad(b, botstest.SlackConfig{PostEvery: time.Second})
	w.bot(b, time.Second)
	w.slack.AwaitStreams(b, 2)
	for b.Loop() {
		for range all {
			w.ask(0, "read")
		}
		replies := 0
		late := time.NewTimer(2 * time.Minute)
		for waiting := true; waiting && replies < all; {
			select {
			case <-w.replied:
				replies++
			case <-late.C:
				waiting = false
			}
		}
		b.ReportMetric(float64(replies), "replies")
	}
}

const (
	slackChannels = 64
	slackUnderWay = 32
	slackWarm     = 2500 * time.Millisecond
)

// slackLoad is a Slack with people who ask, and a memory.
type slackLoad struct {
	slack    *botstest.Slack
	api      string
	app      botstest.SlackApp
	person   string
	channels []string
	store    *store.Store

	mu      sync.Mutex
	asked   map[string]time.Time // channel -> when it was last asked in
	took    []time.Duration
	replied chan struct{}
}

func newSlackLoad(b *testing.B, cfg botstest.SlackConfig) *slackLoad {
	w := &slackLoad{asked: map[string]time.Time{}, replied: make(chan struct{}, slackUnderWay)}
	cfg.Posted = w.posted
	w.slack = botstest.NewSlack(cfg)
	w.app, w.person = w.slack.App("platform"), w.slack.Person("Dev Developer")
	for i := range slackChannels {
		w.channels = append(w.channels, w.slack.Channel(fmt.Sprintf("room-%d", i), w.person, w.app.User))
	}
	w.api = w.slack.Start(b)
	var err error
	w.store, err = store.Open(b.Context(), filepath.Join(b.TempDir(), "flow.db"), nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, w.store.Close()) })
	return w
}

// posted takes notice of a reply.
func (w *slackLoad) posted(channel, _ string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.took = append(w.took, time.Since(w.asked[channel]))
	w.replied <- struct{}{}
}

// ask asks in one of the channels, which take turns: with twice as many as are
// under way, an answer is to the last question of its channel.
func (w *slackLoad) ask(n int, verb string) {
	channel := w.channels[n%slackChannels]
	w.mu.Lock()
	w.asked[channel] = time.Now()
	w.mu.Unlock()
	w.slack.Say(w.person, channel, "", "<@"+w.app.User+"> "+verb)
}

// warm asks until everything is known that is looked up once, and until the bot
// has run for so long that nothing may have been told to one before it.
func (w *slackLoad) warm(b *testing.B, verb string) {
	w.slack.AwaitStreams(b, 2)
	for began, n := time.Now(), 0; time.Since(began) < slackWarm; n++ {
		w.ask(n, verb)
		<-w.replied
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.took = nil
}

// load asks, with as many under way as there may be, one at a time in a channel,
// and returns how many were answered a second.
func (w *slackLoad) load(b *testing.B, call time.Duration, verb string) float64 {
	w.warm(b, verb)
	w.slack.Slow(call)
	began, n := time.Now(), 0
	for b.Loop() {
		if n >= slackUnderWay {
			<-w.replied
		}
		w.ask(n, verb)
		n++
	}
	for range min(n, slackUnderWay) {
		<-w.replied
	}
	perSecond := float64(n) / time.Since(began).Seconds()
	b.ReportMetric(perSecond, "msg/s")
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.took)
	b.ReportMetric(float64(w.took[len(w.took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(w.took[len(w.took)*95/100].Microseconds()), "p95-µs")
	return perSecond
}

// slackPong is what is replied.
var slackPong = markup.Message{Kind: "bench.pong", Title: markup.Spans(markup.T("pong"))}

// bot runs the real runtime over the real transport, as the server does; pace 0 is none.
func (w *slackLoad) bot(b *testing.B, pace time.Duration) {
	pong := func(ctx context.Context, _ commands.Request, reply commands.Reply) error {
		return reply.Answer(ctx, slackPong)
	}
	slow := func(ctx context.Context, _ commands.Request, reply commands.Reply) error {
		five := time.NewTimer(5 * time.Second)
		defer five.Stop()
		select {
		case <-five.C:
			return reply.Progress(ctx, slackPong)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	registry, err := commands.NewRegistry(
		commands.Command{Bot: "platform", Verb: "read", Summary: "answer", Examples: []string{"read"}, Effect: commands.Read, Run: pong},
		commands.Command{Bot: "platform", Verb: "slow", Summary: "take long", Examples: []string{"slow"}, Effect: commands.Read, Run: slow},
		commands.Command{Bot: "platform", Verb: "write", Summary: "change", Examples: []string{"write"}, Effect: commands.Write, Action: "bench:write", Run: pong},
	)
	require.NoError(b, err)
	if pace == 0 {
		pace = -1
	}
	transport, err := slack.New(slack.Config{
		Tokens: slack.Tokens{Bot: w.app.BotToken, App: w.app.AppToken, API: w.api}, Name: "platform", Threads: w.store, Cursor: w.store, Pace: pace,
	})
	require.NoError(b, err)
	r, err := bots.New(bots.Config{
		Bot: "platform", Transport: transport, Commands: registry, Inbox: w.store, Outbox: w.store, Marks: slackMarks,
		Directory: botstest.Everybody{"admins"}, Policy: bots.Grants{"admins": {"*"}},
	})
	require.NoError(b, err)
	w.lasting(b, r.Run)
	b.Cleanup(func() { require.NoError(b, transport.Close()) })
}

// lasting runs something until the benchmark ends.
func (w *slackLoad) lasting(b *testing.B, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	b.Cleanup(func() {
		cancel()
		require.NoError(b, <-done)
	})
}

// raw runs the limit: two streams and a pool, and nothing that is not needed to answer.
func (w *slackLoad) raw(b *testing.B, rows bool) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConns: 64, MaxIdleConnsPerHost: 64}}
	b.Cleanup(client.CloseIdleConnections)
	w.lasting(b, func(ctx context.Context) error {
		var streams sync.WaitGroup
		for range 2 {
			streams.Go(func() { w.rawStream(ctx, b, client, rows) })
		}
		streams.Wait()
		return nil
	})
}

// rawEvent is what the limit reads of an event.
type rawEvent struct {
	ID      string `json:"envelope_id"`
	Payload struct {
		Event struct{ Type, Channel, TS, User string } `json:"event"`
	} `json:"payload"`
}

func (w *slackLoad) rawStream(ctx context.Context, b *testing.B, client *http.Client, rows bool) {
	var open struct{ URL string }
	w.rawCall(b, client, "apps.connections.open", w.app.AppToken, url.Values{}, &open)
	conn, resp, err := websocket.DefaultDialer.DialContext(ctx, open.URL, nil)
	if err != nil {
		b.Error(err)
		return
	}
	_ = resp.Body.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	var writing sync.Mutex
	var work sync.WaitGroup
	defer work.Wait()
	for {
		_, frame, err := conn.ReadMessage()
		if err != nil {
			return
		}
		work.Go(func() {
			var e rawEvent
			if err := json.Unmarshal(frame, &e); err != nil || e.ID == "" {
				return
			}
			mention := e.Payload.Event.Type == "app_mention"
			key := "raw:" + e.Payload.Event.Channel + e.Payload.Event.TS
			if mention && rows {
				_, err := w.store.Hear(context.WithoutCancel(ctx), key, time.Now(), frame)
				require.NoError(b, err)
			}
			writing.Lock()
			_ = conn.WriteJSON(map[string]string{"envelope_id": e.ID})
			writing.Unlock()
			if mention {
				w.rawReply(context.WithoutCancel(ctx), b, client, key, e, rows)
			}
		})
	}
}

// rawReply posts the reply; with rows, it writes what the runtime writes for it.
func (w *slackLoad) rawReply(ctx context.Context, b *testing.B, client *http.Client, key string, e rawEvent, rows bool) {
	place := []byte(e.Payload.Event.Channel + "/" + e.Payload.Event.TS)
	var id int64
	if rows {
		body, err := json.Marshal(slackPong)
		require.NoError(b, err)
		id, _, err = w.store.Offer(ctx, key+"/answer", "raw", place, body, time.Now())
		require.NoError(b, err)
	}
	part := markup.Slack(slackPong)[0]
	blocks, err := json.Marshal(part.Blocks)
	require.NoError(b, err)
	w.rawCall(b, client, "chat.postMessage", w.app.BotToken, url.Values{
		"channel": {e.Payload.Event.Channel}, "thread_ts": {e.Payload.Event.TS}, "text": {part.Text}, "blocks": {string(blocks)},
		"unfurl_links": {"false"}, "unfurl_media": {"false"},
		"metadata": {`{"event_type":"platform_message","event_payload":{"key":"0123456789abcdef01234567","part":0,"content":"0123456789abcdef01234567"}}`},
	}, nil)
	if rows {
		require.NoError(b, w.store.Answered(ctx, id, 1, e.Payload.Event.TS, key, bots.ReactionDone, time.Now()))
	}
}

func (w *slackLoad) rawCall(b *testing.B, client *http.Client, method, token string, form url.Values, answer any) {
	req, err := http.NewRequest(http.MethodPost, w.api+method, strings.NewReader(form.Encode())) //nolint:noctx // the loop is the limit
	require.NoError(b, err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := client.Do(req)
	if err != nil {
		b.Error(err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(b, err)
	if answer != nil {
		require.NoError(b, json.Unmarshal(body, answer))
	}
}
