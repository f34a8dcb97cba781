package announcer

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/flowclient"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var goldens = filepath.Join("..", "fixtures", "golden", "announcer")

// golden compares a message with its files: the document, and each rendering.
func golden(t *testing.T, name string, m markup.Message) {
	t.Helper()
	for file, text := range map[string]string{
		name + ".json":         indented(t, m),
		name + ".zulip.md":     strings.Join(markup.Zulip(m), "\n---\n"),
		name + ".slack.json":   indented(t, markup.Slack(m)),
		name + ".terminal.txt": markup.Terminal(m, 80, false),
		name + ".plain.txt":    markup.Plain(m),
	} {
		path := filepath.Join(goldens, file)
		if *update {
			require.NoError(t, os.MkdirAll(goldens, 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, string(want), text, file)
	}
}

func indented(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	require.NoError(t, enc.Encode(v))
	return b.String()
}

const (
	firstCommit  = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"
	secondCommit = "99887766554433221100ffeeddccbbaa99887766"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// event is an event of shop at noon.
func event(t *testing.T, kind, key string, body any) flowclient.Event {
	t.Helper()
	text, err := json.Marshal(body)
	require.NoError(t, err)
	return flowclient.Event{Key: key, Kind: kind, At: noon, Project: "shop", Component: "shop-web", Body: text}
}

// building is a build at a phase, with hostile words in its commit.
func building(phase string, change func(*flowclient.BuildEvent)) flowclient.BuildEvent {
	at := func(d time.Duration) *time.Time { t := noon.Add(d); return &t }
	b := flowclient.BuildEvent{
		Build: flowclient.Build{
			Run: "shop-web-run-0a1b2c3d", Project: "shop", Component: "shop-web", Commit: firstCommit, Phase: phase,
			CreatedAt: noon, StartedAt: at(0), URL: "http://127.0.0.1:10081/builds/shop-web-run-0a1b2c3d",
			Stages: []flowclient.Task{
				{Name: "checkout", Phase: "Succeeded", StartedAt: at(0), CompletedAt: at(300 * time.Millisecond)},
				{Name: "test", Phase: "Succeeded", StartedAt: at(time.Second), CompletedAt: at(13 * time.Second)},
				{Name: "build", Phase: "Pending"},
			},
		},
		Subject: "say hello to @**all** and `everybody`", Author: "Dev *Developer*",
	}
	if change != nil {
		change(&b)
	}
	return b
}

// moveBy is a move of two components, one of which waits.
func moveBy(who, result string) flowclient.MoveEvent {
	return flowclient.MoveEvent{
		Origin: flowclient.Origin{Key: "zulip:31", Who: who, Link: "http://127.0.0.1:9991/#narrow/channel/1-shop/topic/deploy/near/31"},
		Outcome: flowclient.Outcome{Project: "shop", Note: "code alone moved: schema changes are not reverted", Components: []flowclient.ComponentOutcome{
			{Component: "shop-web", Result: result, From: "shop-web-aaa", To: "shop-web-bbb", FromCommit: firstCommit, ToCommit: secondCommit,
				URL: "http://production-shop.apps.platform.localhost:19080/shop-web-http/"},
			{Component: "shop-new", Result: result, To: "shop-new-ccc"},
			{Component: "shop-api", Result: flowclient.Retry, Sentence: "shop-api is not Ready in staging; ask again in a minute"},
		}},
	}
}

// samples has an event of every kind, in each of its forms, by golden name.
func samples(t *testing.T) map[string]flowclient.Event {
	end := noon.Add(74 * time.Second)
	var lines []string
	for i := range 60 {
		lines = append(lines, fmt.Sprintf("line %d ``` @**all**", i+1))
	}
	failed := func(change func(*flowclient.BuildEvent)) flowclient.BuildEvent {
		return building(flowclient.BuildFailed, func(b *flowclient.BuildEvent) {
			b.Build.CompletedAt, b.Build.FailedStage = &end, "test"
			b.Build.Stages[1].Phase = "Failed"
			b.Lines = lines
			change(b)
		})
	}
	lock := flowclient.Lock{ID: 1, Component: "shop-web", Commit: secondCommit, Environment: "production", Reason: "breaks @**Sam SRE**'s pager", Who: "sre", At: noon}
	everywhere := lock
	everywhere.Environment = ""
	refusal := flowclient.MoveEvent{
		Origin: flowclient.Origin{Key: "zulip:32", Who: "developer"},
		Refusal: &flowclient.Refusal{Sentence: "commit 99887766 of shop-web is locked by sre: breaks production; clear the lock first", Gate: "lock",
			Gates: []flowclient.Verdict{
				{Gate: "lock", Sentence: "commit 99887766 of shop-web is locked by sre: breaks production; clear the lock first"},
				{Gate: "window", Sentence: "the window Mon-Fri 09:00-17:00 UTC is closed; it opens tomorrow at 09:00"},
				{Gate: "soak", Pass: true, Sentence: "soaked for 5m"},
			}},
	}
	byPass := refusal
	byPass.Origin.Who, byPass.Refusal = automatic, &flowclient.Refusal{Sentence: "memory: 3 GiB used + 1 GiB > 3.5 GiB; asked again in 10 minutes"}
	return map[string]flowclient.Event{
		"build-started": event(t, flowclient.EventBuildStarted, "build/r/started", building(flowclient.BuildRunning, nil)),
		"build-passed":  event(t, flowclient.EventBuildPassed, "build/r/passed", building(flowclient.BuildSucceeded, func(b *flowclient.BuildEvent) { b.Build.CompletedAt = &end })),
		"build-failed":  event(t, flowclient.EventBuildFailed, "build/r/failed", failed(func(*flowclient.BuildEvent) {})),
		"build-failed-without-stage": event(t, flowclient.EventBuildFailed, "build/r/failed", failed(func(b *flowclient.BuildEvent) {
			b.Build.FailedStage, b.Build.Message, b.Lines = "", "could not read Username for 'http://127.0.0.1:3001'", lines[:1]
		})),
		"build-failed-bare": event(t, flowclient.EventBuildFailed, "build/r/failed", failed(func(b *flowclient.BuildEvent) {
			b.Subject, b.Author, b.Lines, b.Build.URL = "", "", nil, ""
		})),
		"promoted":         event(t, flowclient.EventPromoted, "promote/31", moveBy("developer", flowclient.Promoted)),
		"promoted-by-pass": event(t, flowclient.EventPromoted, "promote/32", func() flowclient.MoveEvent { m := moveBy(automatic, flowclient.Promoted); m.Origin.Link = ""; return m }()),
		"rolled-back":      event(t, flowclient.EventRolledBack, "rollback/33", moveBy("sre", flowclient.RolledBack)),
		"refused":          event(t, flowclient.EventPromoteRefuse, "refused/34", refusal),
		"refused-by-pass":  event(t, flowclient.EventPromoteRefuse, "refused/35", byPass),
		"lock-set":         event(t, flowclient.EventLockSet, "lock/1/set", flowclient.LockEvent{Who: "sre", Locks: []flowclient.Lock{lock}}),
		"lock-cleared":     event(t, flowclient.EventLockCleared, "lock/1/cleared", flowclient.LockEvent{Who: "admin", Locks: []flowclient.Lock{lock, everywhere}}),
		"scaffolded": event(t, flowclient.EventScaffolded, "project/shop/scaffolded", flowclient.ProjectEvent{
			Who: "developer", Template: "static",
			Repository: flowclient.Repository{Name: "platform/shop", WebURL: "http://127.0.0.1:3001/platform/shop"},
			Commit:     flowclient.Commit{SHA: firstCommit, Subject: "Start from the template static"},
		}),
		"removed": event(t, flowclient.EventRemoved, "project/shop/removed", flowclient.ProjectEvent{Who: "admin"}),
	}
}

func TestEveryKindOfEventHasItsMessage(t *testing.T) {
	produced := map[string]bool{}
	for name, e := range samples(t) {
		t.Run(name, func(t *testing.T) {
			_, m, err := kinds[e.Kind].write(e)
			require.NoError(t, err)
			assert.Equal(t, "announce."+e.Kind, m.Kind)
			golden(t, name, m)
		})
		produced[e.Kind] = true
	}
	for kind := range kinds {
		assert.True(t, produced[kind], "no sample of %s", kind)
	}
}

func TestTheCatalogueHasASampleOfEveryKind(t *testing.T) {
	sampled := map[string]bool{}
	for _, m := range Catalogue() {
		sampled[m.Kind] = true
	}
	for kind := range kinds {
		assert.True(t, sampled["announce."+kind], "no sample of %s", kind)
	}
	assert.True(t, sampled["announce.summary"])
	assert.Len(t, sampled, len(kinds)+1)
}

func TestEveryGoldenHasAProducer(t *testing.T) {
	files, err := os.ReadDir(goldens)
	require.NoError(t, err)
	known := samples(t)
	for _, f := range files {
		name, _, _ := strings.Cut(f.Name(), ".")
		_, made := known[name]
		assert.True(t, made || strings.HasPrefix(name, "summary-"), "nothing makes %s", f.Name())
	}
}

func TestAFailedBuildShowsTheLastFortyLinesAndLinksItsStage(t *testing.T) {
	_, m, err := kinds[flowclient.EventBuildFailed].write(samples(t)["build-failed"])
	require.NoError(t, err)
	var log, link bool
	for _, b := range m.Blocks {
		if b.Kind == markup.BlockLog {
			log = true
			require.Len(t, b.Lines, 40)
			assert.Contains(t, b.Lines[39], "line 60 ")
			assert.Contains(t, b.Lines[0], "line 21 ")
		}
		for _, s := range b.Spans {
			if s.Kind == markup.SpanLink {
				link = true
				assert.Equal(t, "http://127.0.0.1:10081/builds/shop-web-run-0a1b2c3d?ci_stage=test", s.URL)
			}
		}
	}
	assert.True(t, log)
	assert.True(t, link)
}

func TestWordsOfOthersAreForeign(t *testing.T) {
	ours := map[markup.SpanKind]bool{markup.SpanText: true}
	hostile := []string{"@**all**", "*Developer*", "@**Sam SRE**", "http://"}
	for name, e := range samples(t) {
		_, m, err := kinds[e.Kind].write(e)
		require.NoError(t, err)
		visit(m, func(s markup.Span) {
			for _, h := range hostile {
				assert.False(t, ours[s.Kind] && strings.Contains(s.Text, h), "%s: %q stands as our own words", name, s.Text)
			}
		})
	}
}

// visit shows every span of a message.
func visit(m markup.Message, see func(markup.Span)) {
	for _, s := range m.Title {
		see(s)
	}
	for _, b := range m.Blocks {
		for _, s := range b.Spans {
			see(s)
		}
		for _, row := range b.Rows {
			for _, cell := range row {
				for _, s := range cell {
					see(s)
				}
			}
		}
	}
}

func TestWhereAnEventIsTold(t *testing.T) {
	long := strings.Repeat("é", 63)
	for _, tc := range []struct {
		name  string
		event flowclient.Event
		topic string
		want  place
	}{
		{"a project has a stream", flowclient.Event{Project: "shop"}, topicBuilds, place{"shop", "builds"}},
		{"a walkthrough has topics in the sandbox", flowclient.Event{Project: "static-7", Walkthrough: true}, topicPromotions, place{"platform-sandbox", "static-7: promotions"}},
		{"a topic is no longer than chats take", flowclient.Event{Project: long, Walkthrough: true}, topicPromotions,
			place{"platform-sandbox", strings.Repeat("é", 47) + "…: promotions"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := placeOf(tc.event, tc.topic, "platform-sandbox")
			assert.Equal(t, tc.want, got)
			assert.LessOrEqual(t, len([]rune(got.Topic)), maxTopic)
		})
	}
}

func TestTimesReadWell(t *testing.T) {
	at := func(d time.Duration) *time.Time { t := noon.Add(d); return &t }
	for want, d := range map[string]time.Duration{
		"0 ms": 0, "66 ms": 66 * time.Millisecond, "1.5 s": 1500 * time.Millisecond, "12 s": 12 * time.Second, "1 min 0 s": time.Minute,
		"61 min 1 s": time.Hour + time.Minute + 900*time.Millisecond, "": -time.Second,
	} {
		assert.Equal(t, want, span(at(0), at(d)))
	}
	assert.Empty(t, span(nil, at(0)))
}
