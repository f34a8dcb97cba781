package announcer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/fixtures/goldenfile"
	"platform.dev/platform/flowclient"
)

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
		goldenfile.Compare(t, filepath.Join(goldens, file), text)
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

// verdicts are those of gates that let something through; a gate that was asked for nothing has no numbers.
var verdicts = []flowclient.Verdict{
	{Gate: "lock", Pass: true, Sentence: "no lock holds shop-web 9988776."},
	{Gate: "window", Pass: true, Numbers: map[string]string{"window": "@**all** 09:00"}, Sentence: "Production changes to shop are allowed @**all** 09:00. Open now."},
	{Gate: "capacity", Pass: true, Lifted: "force", Sentence: "shop-web needs no more than it has."},
	{Gate: "soak", Component: "shop-web", Pass: true, Numbers: map[string]string{"soak": "5m0s"}, Sentence: "shop-web 9988776 has been in staging for 7 min; 5 min was asked for."},
	{Gate: "check", Component: "shop-web", Pass: true, Sentence: "no URL check is asked for."},
}

// moveBy is a move of two components, one of which waits.
func moveBy(who, result string) flowclient.MoveEvent {
	return flowclient.MoveEvent{
		Origin: flowclient.Origin{Key: "zulip:31", Who: who, Link: "http://127.0.0.1:9991/#narrow/channel/1-shop/topic/deploy/near/31"},
		Outcome: flowclient.Outcome{Project: "shop", Note: "code alone moved: schema changes are not reverted", Components: []flowclient.ComponentOutcome{
			{Component: "shop-web", Result: result, From: "shop-web-aaa", To: "shop-web-bbb", FromCommit: firstCommit, ToCommit: secondCommit,
				URL: "http://production-shop.apps.platform.localhost:19080/shop-web-http/", Gates: verdicts},
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
	freeze := flowclient.Freeze{ID: 3, Project: "shop", From: noon, Until: noon.AddDate(0, 0, 45), Reason: "the fair: ask @**Sam SRE** first", Who: "sre @**all**", At: noon}
	everyProject := freeze
	everyProject.ID, everyProject.Project, everyProject.From = 4, "", noon.AddDate(0, 0, 40)
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
	all := map[string]flowclient.Event{
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
		"promoted-resources": event(t, flowclient.EventPromoted, "promote/36", func() flowclient.MoveEvent {
			m := moveBy("developer", flowclient.Promoted)
			m.Outcome.Note = "More than code changes: of shop-web between 1122334 and 9988776: the component type deployment/service and the resource *orders*, made since. A rollback would not take that back; check that the older code could work with it."
			return m
		}()),
		"rolled-back":     event(t, flowclient.EventRolledBack, "rollback/33", moveBy("sre", flowclient.RolledBack)),
		"refused":         event(t, flowclient.EventPromoteRefuse, "refused/34", refusal),
		"refused-by-pass": event(t, flowclient.EventPromoteRefuse, "refused/35", byPass),
		"lock-set":        event(t, flowclient.EventLockSet, "lock/1/set", flowclient.LockEvent{Who: "sre", Link: "http://127.0.0.1:9991/#narrow/channel/1-shop/topic/deploy/near/40", Locks: []flowclient.Lock{lock}}),
		"lock-cleared":    event(t, flowclient.EventLockCleared, "lock/1/cleared", flowclient.LockEvent{Who: "admin", Locks: []flowclient.Lock{lock, everywhere}}),
		"freeze-set":      event(t, flowclient.EventFreezeSet, "freeze/36/set", flowclient.FreezeEvent{Who: freeze.Who, Link: "http://127.0.0.1:9991/#narrow/channel/1-shop/topic/deploy/near/41", Freeze: freeze}),
		"freeze-set-all":  event(t, flowclient.EventFreezeSet, "freeze/37/set", flowclient.FreezeEvent{Who: "admin", Freeze: everyProject}),
		"freeze-cleared":  event(t, flowclient.EventFreezeCleared, "freeze/38/cleared", flowclient.FreezeEvent{Who: "admin", Freeze: freeze}),
		"scaffolded": event(t, flowclient.EventScaffolded, "project/shop/scaffolded", flowclient.ProjectEvent{
			Who: "developer", Template: "static",
			Repository: flowclient.Repository{Name: "platform/shop", WebURL: "http://127.0.0.1:3001/platform/shop"},
			Commit:     flowclient.Commit{SHA: firstCommit, Subject: "Start from the template static"},
		}),
		"removed": event(t, flowclient.EventRemoved, "project/shop/removed", flowclient.ProjectEvent{Who: "admin"}),

		"pull-opened": event(t, flowclient.EventPullOpened, "pull/4/open/1", flowclient.PullEvent{Pull: pull("")}),
		"pull-updated": event(t, flowclient.EventPullUpdated, "pull/4/open/1/updated/1", flowclient.PullEvent{Pull: func() flowclient.Pull {
			p := pull("")
			p.Head, p.Title = secondCommit, "say hello to nobody"
			return p
		}()}),
		"pull-merged": event(t, flowclient.EventPullMerged, "pull/4/merged/1", flowclient.PullEvent{Pull: pull(secondCommit)}),
		"pull-closed": event(t, flowclient.EventPullClosed, "pull/4/closed/1", flowclient.PullEvent{Pull: pull("")}),

		"review-queued": event(t, flowclient.EventReviewQueued, "review/4/1/queued", reviewing(flowclient.ReviewQueued, func(b *flowclient.ReviewEvent) {
			b.Review.Place, b.Why = 2, "all 2 places for review environments are taken"
		})),
		"review-created": event(t, flowclient.EventReviewCreated, "review/4/1/created", reviewing(flowclient.ReviewPresent, nil)),
		"review-updated": event(t, flowclient.EventReviewUpdated, "review/4/1/updated/1", reviewing(flowclient.ReviewPresent, func(b *flowclient.ReviewEvent) { b.Review.Head = secondCommit })),
		"review-failed": event(t, flowclient.EventReviewFailed, "review/4/1/failed/1", reviewing(flowclient.ReviewFailed, func(b *flowclient.ReviewEvent) {
			b.Stage, b.Run, b.Page, b.Lines = "test", "shop-web-pr-7-run-1a2b3c4d", "http://127.0.0.1:10081/builds/shop-web-pr-7-run-1a2b3c4d", lines
			b.Why = "shop-web: its build failed in stage test: @**all** exit status 1"
		})),
		"review-refused": event(t, flowclient.EventReviewFailed, "review/4/1/failed/0", reviewing(flowclient.ReviewFailed, func(b *flowclient.ReviewEvent) {
			b.Why, b.Pull.Author, b.Pull.Title, b.Pull.URL = "Component shop-web-pr-7: exists already and was not made for platform/shop#7; delete or rename it.", "", "", ""
		})),
		"review-left":      event(t, flowclient.EventReviewDestroyed, "review/4/1/destroyed", reviewing(flowclient.ReviewQueued, func(b *flowclient.ReviewEvent) { b.Why = "the pull request was closed" })),
		"review-destroyed": event(t, flowclient.EventReviewDestroyed, "review/4/1/destroyed", reviewing(flowclient.ReviewDestroying, func(b *flowclient.ReviewEvent) { b.Pull, b.Why = pull(secondCommit), "the pull request was merged" })),
	}
	for _, b := range append(autoBodies(noon), sampleBody{flowclient.EventRollbackRefuse, refusal}) {
		name := strings.ReplaceAll(strings.ReplaceAll(b.kind, "promotion.", ""), ".", "-")
		all[name] = event(t, b.kind, b.kind+"/1", b.body)
	}
	return all
}

// pull is a pull request with hostile words; merge is its merge commit, "" while it is open.
func pull(merge string) flowclient.Pull {
	p := flowclient.Pull{
		Repo: "platform/shop", Number: 7, Title: "say hello to @**all** and `everybody`", State: flowclient.PullOpen, Branch: "hello", Head: firstCommit, Base: "main",
		Author: "Dev *Developer*", URL: "http://127.0.0.1:3001/platform/shop/pulls/7", Updated: noon,
	}
	if merge != "" {
		p.State, p.Merged, p.MergeCommit = flowclient.PullClosed, true, merge
	}
	return p
}

// reviewing is a review environment in a state.
func reviewing(state string, change func(*flowclient.ReviewEvent)) flowclient.ReviewEvent {
	b := flowclient.ReviewEvent{Pull: pull(""), Review: flowclient.Review{
		Project: "shop", Repo: "platform/shop", Number: 7, Environment: "pr-7", State: state, Head: firstCommit, Active: noon,
	}}
	if state == flowclient.ReviewPresent {
		b.Review.URL = "http://pr-7-shop.apps.platform.localhost:19080/shop-web-http"
	}
	if change != nil {
		change(&b)
	}
	return b
}

func TestAFailedBuildMentionsItsAuthorWhenThePersonIsKnown(t *testing.T) {
	a, err := New(Config{Person: func(author string) (string, bool) { return "10", author == "Dev *Developer*" }})
	require.NoError(t, err)
	for _, tc := range []struct {
		sample  string
		author  string
		mention bool
	}{
		{"build-failed", "Dev *Developer*", true}, {"review-failed", "Dev *Developer*", true},
		{"build-failed", "somebody", false}, {"review-failed", "somebody", false},
		{"build-passed", "Dev *Developer*", false}, {"build-started", "Dev *Developer*", false}, {"review-created", "Dev *Developer*", false},
	} {
		e := samples(t)[tc.sample]
		e.Body = bytes.ReplaceAll(e.Body, []byte("Dev *Developer*"), []byte(tc.author))
		_, m, err := kinds[e.Kind].write(e, a.author)
		require.NoError(t, err)
		mentioned := 0
		visit(m, func(s markup.Span) {
			if s.Kind == markup.SpanMention {
				mentioned++
				assert.Equal(t, "10", s.User)
				assert.Equal(t, tc.author, s.Text)
			}
		})
		assert.Equal(t, tc.mention, mentioned == 1, "%s by %s: %d mentions", tc.sample, tc.author, mentioned)
	}
	golden(t, "build-failed-mention", written(t, samples(t)["build-failed"], a.author))
	golden(t, "review-failed-mention", written(t, samples(t)["review-failed"], a.author))
}

func written(t *testing.T, e flowclient.Event, who people) markup.Message {
	t.Helper()
	_, m, err := kinds[e.Kind].write(e, who)
	require.NoError(t, err)
	return m
}

func TestEveryKindOfEventHasItsMessage(t *testing.T) {
	produced := map[string]bool{}
	for name, e := range samples(t) {
		t.Run(name, func(t *testing.T) {
			_, m, err := kinds[e.Kind].write(e, foreign)
			require.NoError(t, err)
			assert.Equal(t, "announce."+cmp.Or(kinds[e.Kind].as, e.Kind), m.Kind)
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
	for kind, k := range kinds {
		assert.Equal(t, k.as == "", sampled["announce."+kind], "the sample of %s", kind)
	}
	assert.True(t, sampled["announce.summary"])
	for kind := range severals {
		assert.True(t, sampled["announce."+kind], "no sample of %s", kind)
	}
	assert.Len(t, sampled, len(kindNames())+1)
}

func TestEveryGoldenHasAProducer(t *testing.T) {
	files, err := os.ReadDir(goldens)
	require.NoError(t, err)
	known := samples(t)
	for _, f := range files {
		name, _, _ := strings.Cut(f.Name(), ".")
		_, made := known[name]
		assert.True(t, made || strings.HasPrefix(name, "summary-") || strings.HasPrefix(name, "several-") || strings.HasPrefix(name, "template-") || strings.HasSuffix(name, "-mention"), "nothing makes %s", f.Name())
	}
}

func TestAFailedBuildShowsTheLastFortyLinesAndLinksItsStage(t *testing.T) {
	_, m, err := kinds[flowclient.EventBuildFailed].write(samples(t)["build-failed"], foreign)
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
		_, m, err := kinds[e.Kind].write(e, foreign)
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
		kind  string
		want  place
	}{
		{"a project has a stream", flowclient.Event{Project: "shop"}, flowclient.EventBuildPassed, place{"shop", "builds"}},
		{"its pull requests too", flowclient.Event{Project: "shop"}, flowclient.EventPullOpened, place{"shop", "pull requests"}},
		{"its review environments are not production", flowclient.Event{Project: "shop"}, flowclient.EventReviewCreated, place{"platform-sandbox", "shop: pull requests"}},
		{"a walkthrough has topics in the sandbox", flowclient.Event{Project: "static-7", Walkthrough: true}, flowclient.EventPromoted, place{"platform-sandbox", "static-7: promotions"}},
		{"its pull requests too", flowclient.Event{Project: "static-7", Walkthrough: true}, flowclient.EventPullMerged, place{"platform-sandbox", "static-7: pull requests"}},
		{"what concerns every project is told where all look", flowclient.Event{}, flowclient.EventFreezeSet, place{"platform-sandbox", "every project: promotions"}},
		{"a topic is no longer than chats take", flowclient.Event{Project: long, Walkthrough: true}, flowclient.EventPromoted,
			place{"platform-sandbox", strings.Repeat("é", 47) + "…: promotions"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := kinds[tc.kind].place(tc.event, "platform-sandbox")
			assert.Equal(t, tc.want, got)
			assert.LessOrEqual(t, len([]rune(got.Topic)), maxTopic)
		})
	}
}

func TestTimesReadWell(t *testing.T) {
	at := func(d time.Duration) *time.Time { t := noon.Add(d); return &t }
	for want, d := range map[string]time.Duration{
		"0 ms": 0, "66 ms": 66 * time.Millisecond, "1.5 s": 1500 * time.Millisecond, "12 s": 12 * time.Second, "1 min": time.Minute,
		"1 h 1 min": time.Hour + time.Minute + 900*time.Millisecond, "": -time.Second,
	} {
		assert.Equal(t, want, span(at(0), at(d)))
	}
	assert.Empty(t, span(nil, at(0)))
}
