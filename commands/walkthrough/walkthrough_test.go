package walkthrough_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/commands/commandstest"
	"platform.dev/platform/commands/walkthrough"
	"platform.dev/platform/flowclient"
)

const goldens = "../../fixtures/golden/messages"

func TestEveryMessageOfThisPackageHasItsGoldens(t *testing.T) {
	commandstest.Catalogue(t, goldens, walkthrough.Catalogue())
}

func bot(t *testing.T, f *flow) []commands.Command {
	t.Helper()
	cmds, err := walkthrough.New(walkthrough.Deps{
		Reader: f, Author: f, Promoter: f, Locker: f, Puller: f, Walker: f, Fetch: f.fetch, Now: func() time.Time { return f.now }, Wait: f.wait, Limit: 10 * time.Second,
	})
	require.NoError(t, err)
	return cmds
}

func say(t *testing.T, f *flow, text string) *commandstest.Recorder {
	t.Helper()
	verb, _, _ := strings.Cut(text, " ")
	return commandstest.Run(t, commandstest.Pick(t, bot(t, f), verb), commandstest.Ask{Text: text, Key: "zulip:" + text, Link: "http://chat.example/31"})
}

// kinds lists what stands in the topic at the end.
func kinds(rec *commandstest.Recorder) []string {
	var out []string
	for _, p := range rec.Final() {
		out = append(out, p.Message.Kind)
	}
	return out
}

var allSteps = []string{
	"walkthrough.started", "walkthrough.scaffolded", "walkthrough.built", "walkthrough.staging", "walkthrough.promoted", "walkthrough.changed",
	"walkthrough.locked", "walkthrough.unlocked", "walkthrough.rolledback", "walkthrough.proposed", "walkthrough.merged", "walkthrough.broken", "walkthrough.closing.passed",
}

// effects are those of a walkthrough that held, each once.
var effects = map[string]int{"scaffold": 1, "commit": 2, "promote": 2, "rollback": 1, "lock": 1, "unlock": 1, "pull": 1, "merge": 1}

func TestDepsAreChecked(t *testing.T) {
	_, err := walkthrough.New(walkthrough.Deps{})
	require.ErrorContains(t, err, "Fetch")
}

func TestAWalkthroughHoldsStepByStep(t *testing.T) {
	f := newFlow()
	rec := say(t, f, "static")
	require.NoError(t, rec.Err)
	assert.Equal(t, allSteps, kinds(rec))
	var told []markup.Message
	for _, p := range rec.Final() {
		assert.Equal(t, commands.Place{Stream: "walkthroughs", Topic: "static-1 2026-11-20"}, p.To)
		assert.True(t, strings.HasPrefix(p.Key, "static-1/"), p.Key)
		assert.Equal(t, markup.Done, p.Message.Status)
		told = append(told, p.Message)
	}
	commandstest.Catalogue(t, "../../fixtures/golden/walkthrough", told)
	commandstest.Complete(t, "../../fixtures/golden/walkthrough", told)
	assert.Equal(t, "walkthrough.began", rec.Progress[0].Kind)
	assert.Equal(t, "walkthrough.ended.passed", rec.Answer().Kind)
	assert.Equal(t, effects, f.counts)
	require.Len(t, f.runs, 1)
	assert.Equal(t, "passed", f.runs[0].Result)
	assert.NotNil(t, f.runs[0].Ended)
	assert.Equal(t, "static-1 2026-11-20", f.runs[0].Topic)
	assert.NotNil(t, f.sites["static-1"], "nothing is torn down unless asked")
	assert.Empty(t, f.locks)
}

func TestEachStepSaysWhatItWaitsForBeforeItSaysHowItEnded(t *testing.T) {
	rec := say(t, newFlow(), "static")
	state := map[string]string{}
	for _, p := range rec.Posts {
		if p.Key == "static-1/closing" {
			continue
		}
		if p.Message.Status == markup.Working {
			assert.Contains(t, []string{"", "working"}, state[p.Key])
			state[p.Key] = "working"
		} else {
			assert.Equal(t, "working", state[p.Key], p.Key)
			state[p.Key] = "done"
		}
	}
	all := ""
	for _, p := range rec.Posts {
		all += markup.Plain(p.Message) + "\n"
	}
	assert.Contains(t, all, "is in stage test", "what is seen meanwhile is told")
	assert.Contains(t, all, `FAULT index.html: link "nowhere.html" leads nowhere`, "the log lines are the build's own")
	assert.Contains(t, all, "ok    check 50")
	assert.NotContains(t, all, "ok    check 11\n", "only the last forty lines")
}

func TestEveryStepThatBuiltOrMovedSomethingFoldsRealLinesAway(t *testing.T) {
	rec := say(t, newFlow(), "static")
	require.NoError(t, rec.Err)
	folded := map[string]int{}
	for _, p := range rec.Final() {
		for _, b := range p.Message.Blocks {
			if b.Kind != markup.BlockSpoiler {
				continue
			}
			for _, inner := range b.Blocks {
				folded[strings.TrimPrefix(p.Message.Kind, "walkthrough.")] += len(inner.Lines)
			}
		}
	}
	for _, step := range []string{"built", "staging", "promoted", "changed", "unlocked", "rolledback", "proposed", "merged", "broken"} {
		assert.Positive(t, folded[step], step)
	}
}

func TestALogThatCannotBeReadDoesNotFailAStepThatHeld(t *testing.T) {
	f := newFlow()
	f.lostLogs = true
	rec := say(t, f, "static")
	require.NoError(t, rec.Err)
	said := ""
	for _, p := range rec.Posts {
		said += p.Message.Kind + "\n" + markup.Plain(p.Message) + "\n"
	}
	assert.Contains(t, said, "the log could not be read: log store: away")
	assert.Equal(t, allSteps, kinds(rec))
}

func TestOneWalkthroughAtATime(t *testing.T) {
	f := newFlow()
	f.runs = []flowclient.Walkthrough{{ID: 7, Key: "other", Project: "static-7", Template: "static", Who: "admin", Started: f.now}}
	rec := say(t, f, "static")
	require.NoError(t, rec.Err)
	assert.Equal(t, "walkthrough.refused", rec.Answer().Kind)
	assert.Contains(t, markup.Plain(rec.Answer()), "walkthrough static-7 is under way: admin started it.")
	assert.Empty(t, rec.Posts)
	assert.Empty(t, f.counts)
}

func TestBelowTheMemoryFloorItDoesNotStart(t *testing.T) {
	f := newFlow()
	f.refuse = flowclient.Refuse("a walkthrough needs 1.5 GB free for static; 0.9 GB is available. Free some memory and ask again.")
	rec := say(t, f, "static")
	assert.Contains(t, markup.Plain(rec.Answer()), "a walkthrough needs 1.5 GB free for static; 0.9 GB is available.")
	f.refuse = errors.New("control plane: refused")
	require.ErrorIs(t, say(t, f, "static").Err, f.refuse)
}

func TestRailsSaysThatItsTemplateIsNotThere(t *testing.T) {
	f := newFlow()
	rec := say(t, f, "rails")
	assert.Equal(t, "walkthrough.rails", rec.Answer().Kind)
	assert.Empty(t, f.runs, "nothing was started")
}

func TestAStepThatDoesNotHoldSaysWhatWasExpectedAndSeen(t *testing.T) {
	for _, c := range []struct {
		name, step, seen string
		fault            func(f *flow)
	}{
		{"a page without its commit", "staging", "does not say which commit it is", func(f *flow) {
			f.pages = func(_, body string) string { return strings.ReplaceAll(body, `name="commit"`, `name="other"`) }
		}},
		{"two headings", "staging", "has 2 first-level headings, want one", func(f *flow) {
			f.pages = func(_, body string) string { return strings.ReplaceAll(body, "</body>", "<h1>again</h1></body>") }
		}},
		{"another heading", "staging", `staging shows "other" at commit`, func(f *flow) {
			f.pages = func(_, body string) string { return strings.ReplaceAll(body, "<h1>static-1</h1>", "<h1>other</h1>") }
		}},
		{"production follows staging", "changed", `"static-1, second edition" at commit`, func(f *flow) {
			f.pages = func(url, body string) string {
				if s := f.sites["static-1"]; strings.Contains(url, "production") && s.bound[flowclient.Staging] != s.bound[flowclient.Production] {
					body = strings.ReplaceAll(s.at(s.bound[flowclient.Staging]).files["index.html"], "@COMMIT@", s.bound[flowclient.Staging])
				}
				return body
			}
		}},
		{"a lock that does not hold", "locked", "it was not: static-1-web: production runs", func(f *flow) {
			f.break_["promote"] = func(*site) error { f.locks = nil; return nil }
		}},
		{"a refusal that does not say why", "locked", "no.", func(f *flow) {
			f.break_["promote"] = func(*site) error {
				if len(f.locks) > 0 {
					return flowclient.Refuse("no.")
				}
				return nil
			}
		}},
		{"a rollback refused", "rolledback", "nothing recorded.", func(f *flow) {
			f.break_["rollback"] = func(s *site) error { s.displaced = ""; return nil }
		}},
		{"a scaffold that fails", "scaffolded", "git server: connection refused", func(f *flow) {
			f.break_["scaffold"] = func(*site) error { return errors.New("git server: connection refused") }
		}},
		{"a promotion that always waits", "promoted", "production: it is not Ready", func(f *flow) {
			f.break_["promote"] = func(*site) error { return errors.New("production: it is not Ready") }
		}},
		{"a review environment that shows something else", "proposed", `pr-1 shows "static-1, other" at commit`, func(f *flow) {
			f.pages = func(url, body string) string {
				if strings.Contains(url, "//pr-1-") {
					return strings.ReplaceAll(body, "third edition", "other")
				}
				return body
			}
		}},
		{"a pull request that reaches staging", "proposed", `"static-1, third edition" at commit`, func(f *flow) {
			f.pages = func(url, body string) string {
				if len(f.pulls) > 0 && strings.Contains(url, "//staging-") {
					return strings.ReplaceAll(f.sites["static-1"].at(f.pulls[0].Head).files["index.html"], "@COMMIT@", f.pulls[0].Head)
				}
				return body
			}
		}},
		{"a review environment that cannot be built", "proposed", "pr-1 is failed: static-1-web: its build failed in stage test", func(f *flow) {
			f.wrote = func(what string) {
				if what == "pull" {
					delete(f.sites["static-1"].branched[0].files, "style.css")
				}
			}
		}},
		{"no place for a review environment", "proposed", "#1 has no review environment yet", func(f *flow) {
			f.wrote = func(what string) {
				if what == "pull" {
					f.pulls[0].State = "" // looked at by nobody
				}
			}
		}},
		{"a merge refused", "merged", "#1 cannot be merged: it conflicts with main.", func(f *flow) {
			f.break_["merge"] = func(*site) error { return flowclient.Refuse("#1 cannot be merged: it conflicts with main.") }
		}},
		{"a review environment that answers on", "merged", "-web-http answers 200", func(f *flow) {
			f.stays = true
		}},
		{"a first build that fails", "built", "has failed: exit status 1", func(f *flow) {
			f.wrote = func(what string) {
				if what == "scaffold" {
					delete(f.sites["static-1"].commits[0].files, "style.css")
				}
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFlow()
			c.fault(f)
			rec := say(t, f, "static")
			require.NoError(t, rec.Err)
			require.Len(t, f.runs, 1)
			assert.Equal(t, "failed", f.runs[0].Result)
			assert.Equal(t, c.step, f.runs[0].Step)
			assert.Contains(t, f.runs[0].Message, c.seen)
			final := rec.Final()
			last, closing := final[len(final)-2], final[len(final)-1]
			assert.Equal(t, "static-1/"+c.step, last.Key)
			assert.Equal(t, "walkthrough.step.failed", last.Message.Kind)
			assert.Contains(t, markup.Plain(last.Message), c.seen)
			assert.Contains(t, markup.Plain(last.Message), "expected:")
			assert.Equal(t, "walkthrough.closing.failed", closing.Message.Kind)
			assert.Equal(t, "walkthrough.ended.failed", rec.Answer().Kind)
			assert.Contains(t, markup.Plain(rec.Answer()), c.step)
		})
	}
}

// errKilled stands for the end of the process.
var errKilled = errors.New("killed")

// killed runs the walkthrough until the flow controller's durable write n; it
// reports whether there was such a write. 0 is never reached.
func killed(t *testing.T, f *flow, rec *commandstest.Recorder, n int) bool {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	f.wrote = func(string) {
		if n--; n == 0 {
			cancel(errKilled)
		}
	}
	one := commandstest.RunContext(ctx, t, commandstest.Pick(t, bot(t, f), "static"), commandstest.Ask{Text: "static", Key: "zulip:31"})
	rec.Posts = append(rec.Posts, one.Posts...)
	rec.Answers = append(rec.Answers, one.Answers...)
	f.wrote = func(string) {}
	return errors.Is(context.Cause(ctx), errKilled)
}

func TestARunInterruptedAtAnyWriteGoesOnInItsTopicAndDoublesNothing(t *testing.T) {
	writes := 0
	for n := 1; ; n++ {
		f, rec := newFlow(), &commandstest.Recorder{}
		if !killed(t, f, rec, n) {
			break
		}
		writes++
		killed(t, f, rec, 0)
		require.Equal(t, allSteps, kinds(rec), "killed at write %d", n)
		require.Equal(t, effects, f.counts, "killed at write %d", n)
		require.Len(t, f.runs, 1)
		require.Equal(t, "passed", f.runs[0].Result, "killed at write %d", n)
		require.Equal(t, "walkthrough.ended.passed", rec.Answer().Kind)
		topics := map[string]bool{}
		for _, p := range rec.Posts {
			topics[p.To.Topic] = true
		}
		require.Len(t, topics, 1)
	}
	assert.GreaterOrEqual(t, writes, 1+12+10+1, "beginning, steps, effects, end")
}

func TestStopEndsTheRunUnderWay(t *testing.T) {
	f := newFlow()
	cmds := bot(t, f)
	var stopping *commandstest.Recorder
	f.wrote = func(what string) {
		if what == "commit" {
			stopping = commandstest.Run(t, commandstest.Pick(t, cmds, "stop"), commandstest.Ask{Text: "stop", Key: "zulip:32", Who: commands.Person{ChatID: "zulip:9", Persona: "sre"}})
		}
	}
	rec := commandstest.Run(t, commandstest.Pick(t, cmds, "static"), commandstest.Ask{Text: "static", Key: "zulip:31"})
	require.NoError(t, rec.Err)
	require.NoError(t, stopping.Err)
	assert.Equal(t, "walkthrough.stop.done", stopping.Answer().Kind)
	assert.Empty(t, stopping.Posts, "the run tells its end itself")
	assert.Equal(t, "stopped", f.runs[0].Result)
	assert.Equal(t, "stopped by sre", f.runs[0].Message)
	got := kinds(rec)
	assert.Equal(t, []string{"walkthrough.step.stopped", "walkthrough.closing.stopped"}, got[len(got)-2:])
	assert.Equal(t, "walkthrough.ended.stopped", rec.Answer().Kind)
	assert.Equal(t, 1, f.counts["commit"])
}

func TestStopEndsARunThatAnEarlierProcessLeft(t *testing.T) {
	f := newFlow()
	f.runs = []flowclient.Walkthrough{{ID: 1, Key: "zulip:31", Project: "static-1", Template: "static", Who: "admin", Started: f.now, Step: "built"}}
	rec := say(t, f, "stop")
	require.NoError(t, rec.Err)
	assert.Equal(t, "stopped", f.runs[0].Result)
	assert.Equal(t, []string{"walkthrough.closing.stopped"}, kinds(rec))
	again := commandstest.Run(t, commandstest.Pick(t, bot(t, f), "static"), commandstest.Ask{Text: "static", Key: "zulip:31"})
	assert.Equal(t, "walkthrough.ended.stopped", again.Answer().Kind, "the run does not go on")
	assert.Empty(t, again.Posts)
	assert.Equal(t, "walkthrough.stop.none", say(t, f, "stop").Answer().Kind)
}

func TestACommandsOwnTimeLimitEndsTheRunAsFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlow()
		cmds, err := walkthrough.New(walkthrough.Deps{
			Reader: f, Author: f, Promoter: f, Locker: f, Puller: f, Walker: f, Fetch: f.fetch, Now: func() time.Time { return f.now },
			Wait: func(ctx context.Context, d time.Duration) error {
				select {
				case <-ctx.Done():
				case <-time.After(d):
				}
				return f.wait(ctx, d)
			},
		})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
		defer cancel()
		rec := commandstest.RunContext(ctx, t, commandstest.Pick(t, cmds, "static"), commandstest.Ask{Text: "static"})
		require.NoError(t, rec.Err)
		assert.Equal(t, "failed", f.runs[0].Result)
		assert.Equal(t, "built", f.runs[0].Step)
		assert.Contains(t, f.runs[0].Message, "the time that a command may take was over")
		assert.Equal(t, "walkthrough.ended.failed", rec.Answer().Kind)
	})
}

func TestTeardownRemovesWhatWasMadeWhenAsked(t *testing.T) {
	f := newFlow()
	require.NoError(t, say(t, f, "static").Err)
	rec := say(t, f, "teardown static")
	require.NoError(t, rec.Err)
	assert.Equal(t, "walkthrough.teardown.working", rec.Progress[0].Kind)
	assert.Equal(t, "walkthrough.teardown.done", rec.Answer().Kind)
	assert.Empty(t, f.sites)
	assert.Equal(t, "walkthrough.teardown.nothing", say(t, f, "teardown").Answer().Kind)
	var usage *commands.UsageError
	require.ErrorAs(t, say(t, f, "teardown everything").Err, &usage)
	assert.Contains(t, usage.Error(), `"everything"`)
}

func TestTeardownWaitsForTheRunUnderWay(t *testing.T) {
	f := newFlow()
	f.runs = []flowclient.Walkthrough{{ID: 1, Key: "zulip:31", Project: "static-1", Template: "static", Who: "admin", Started: f.now}}
	assert.Equal(t, "walkthrough.teardown.busy", say(t, f, "teardown").Answer().Kind)
	assert.Zero(t, f.counts["teardown"])
	f.break_["teardown"] = func(*site) error { return flowclient.Refuse("not now.") }
	assert.Equal(t, "walkthrough.teardown.refused", say(t, f, "teardown rails").Answer().Kind, "another template's may go")
}

func TestStatusShowsTheRunUnderWayAndTheLastOnes(t *testing.T) {
	f := newFlow()
	assert.Equal(t, "walkthrough.status.none", say(t, f, "status").Answer().Kind)
	require.NoError(t, say(t, f, "static").Err)
	assert.Contains(t, markup.Plain(say(t, f, "status").Answer()), "passed after")
	f.runs = append([]flowclient.Walkthrough{{ID: 2, Project: "static-2", Template: "static", Who: "admin", Started: f.now, Step: "built"}}, f.runs...)
	rec := say(t, f, "status")
	assert.Equal(t, "walkthrough.status.running", rec.Answer().Kind)
	assert.Contains(t, markup.Plain(rec.Answer()), "built")
}
