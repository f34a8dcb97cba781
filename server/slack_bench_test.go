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
// that take 50 ms. Its limits, in the same run, are a loop over a raw websocket
// and a pool of connections that does nothing else (limit), and the same loop
// writing the rows that the runtime writes (limit-with-rows). The bot marks what
// it heard with reactions, three more calls a message; without-marks leaves them out.
func BenchmarkSlackMentionToReply(b *testing.B) {
	for _, call := range []time.Duration{0, 50 * time.Millisecond} {
		for _, who := range []struct {
			name string
			run  func(b *testing.B, w *slackLoad)
		}{
			{"limit", func(b *testing.B, w *slackLoad) { w.raw(b, false) }},
			{"limit-with-rows", func(b *testing.B, w *slackLoad) { w.raw(b, true) }},
			{"without-marks", func(b *testing.B, w *slackLoad) { w.bot(b, false) }},
			{"bot", func(b *testing.B, w *slackLoad) { w.bot(b, true) }},
		} {
			b.Run(fmt.Sprintf("call=%s/%s", call, who.name), func(b *testing.B) {
				w := newSlackLoad(b)
				who.run(b, w)
				w.slack.AwaitStreams(b, 2)
				w.slack.Slow(call)
				w.load(b)
			})
		}
	}
}

const (
	slackChannels = 64
	slackUnderWay = 32
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

func newSlackLoad(b *testing.B) *slackLoad {
	w := &slackLoad{asked: map[string]time.Time{}, replied: make(chan struct{}, slackUnderWay)}
	w.slack = botstest.NewSlack(botstest.SlackConfig{Posted: w.posted})
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

// load asks, with as many under way as there may be, one at a time in a channel.
func (w *slackLoad) load(b *testing.B) {
	began, n := time.Now(), 0
	for b.Loop() {
		if n >= slackUnderWay {
			<-w.replied
		}
		// Channels take turns: with twice as many as are under way, an answer is to the last question of its channel.
		channel := w.channels[n%slackChannels]
		w.mu.Lock()
		w.asked[channel] = time.Now()
		w.mu.Unlock()
		w.slack.Say(w.person, channel, "", "<@"+w.app.User+"> ping")
		n++
	}
	for range min(n, slackUnderWay) {
		<-w.replied
	}
	b.ReportMetric(float64(n)/time.Since(began).Seconds(), "msg/s")
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.took)
	b.ReportMetric(float64(w.took[len(w.took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(w.took[len(w.took)*95/100].Microseconds()), "p95-µs")
}

// bot runs the real runtime over the real transport.
func (w *slackLoad) bot(b *testing.B, marks bool) {
	registry, err := commands.NewRegistry(commands.Command{
		Bot: "platform", Verb: "ping", Summary: "answer", Examples: []string{"ping"}, Effect: commands.Read,
		Run: func(ctx context.Context, _ commands.Request, reply commands.Reply) error {
			return reply.Answer(ctx, markup.Message{Kind: "bench.pong", Title: markup.Spans(markup.T("pong"))})
		},
	})
	require.NoError(b, err)
	full, err := slack.New(slack.Config{
		Tokens: slack.Tokens{Bot: w.app.BotToken, App: w.app.AppToken, API: w.api}, Name: "platform", Threads: w.store, Pace: -1,
	})
	require.NoError(b, err)
	transport := bots.Transport(full)
	if !marks {
		transport = unmarked{full, full, full}
	}
	r, err := bots.New(bots.Config{
		Bot: "platform", Transport: transport, Commands: registry, Inbox: w.store, Outbox: w.store,
		Directory: botstest.Everybody{"admins"}, Policy: bots.Grants{"admins": {"*"}},
	})
	require.NoError(b, err)
	w.lasting(b, r.Run)
	b.Cleanup(func() { require.NoError(b, full.Close()) })
}

// unmarked is a transport without reactions.
type unmarked struct {
	bots.Transport
	bots.Editor
	bots.Finder
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
	now := time.Now()
	place := []byte(e.Payload.Event.Channel + "/" + e.Payload.Event.TS)
	var id int64
	if rows {
		require.NoError(b, w.store.Put(ctx, key+"/answer", "raw", place, []byte(`{"title":[{"kind":"text","text":"pong"}]}`), now))
		require.NoError(b, w.store.Owed(ctx, "raw", now, func(row int64, k string, _, _ []byte, _ int64, _ string, _ time.Time) error {
			if k == key+"/answer" {
				id = row
			}
			return nil
		}))
		require.NoError(b, w.store.Try(ctx, id, now))
	}
	w.rawCall(b, client, "chat.postMessage", w.app.BotToken, url.Values{
		"channel": {e.Payload.Event.Channel}, "thread_ts": {e.Payload.Event.TS}, "text": {"pong"},
	}, nil)
	if rows {
		require.NoError(b, w.store.Sent(ctx, id, 1, e.Payload.Event.TS, now))
		require.NoError(b, w.store.Finish(ctx, key, bots.ReactionDone, now))
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
