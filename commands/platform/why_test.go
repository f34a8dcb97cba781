package platform_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/commands/commandstest"
	"platform.dev/platform/flowclient"
)

func (f *flow) Why(_ context.Context, project, component string) (flowclient.Why, error) {
	f.whys = append(f.whys, project+" "+component)
	return f.why, f.err
}

func (f *flow) Unlocking(_ context.Context, r flowclient.LockRequest) (flowclient.Unlocking, error) {
	f.unlocking = append(f.unlocking, r)
	return flowclient.Unlocking{Locks: f.locks, Sentence: "shop-web would move at once."}, f.err
}

func TestWhySaysWhatKeepsAProject(t *testing.T) {
	monday := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	window := flowclient.Verdict{Gate: "window", Sentence: "Closed now; opens Mon 23 Nov 09:00 UTC.", Flips: &monday}
	soaked := flowclient.Verdict{Gate: "soak", Component: "shop-web", Pass: true, Sentence: "it soaked."}
	hold := flowclient.Verdict{Gate: "hold", Component: "shop-web", Sentence: "it was rolled back."}
	moving := func(result string, earliest *time.Time, gates ...flowclient.Verdict) flowclient.WhyComponent {
		return flowclient.WhyComponent{Component: "shop-web", Result: result, Sentence: "shop-web: the window is closed.", From: "a", FromCommit: "1a2b3c4d", To: "b", ToCommit: "9f8e7d6c", Earliest: earliest, Gates: gates}
	}
	same := flowclient.WhyComponent{Component: "shop-api", Result: flowclient.Unchanged, ToCommit: "1a2b3c4d"}
	for _, c := range []struct {
		name       string
		components []flowclient.WhyComponent
		kind       string
		says       []string
		not        []string
	}{
		{"against, until an instant", []flowclient.WhyComponent{moving("refused", &monday, window, soaked), same}, "why.against",
			[]string{"What keeps shop from production", "shop-web: 1a2b3c4 → 9f8e7d6, refused by window; possible from Mon 23 Nov 09:00 UTC on, in 2 d 15 h.", "shop-api: production runs 1a2b3c4 already", "window: Closed now", "it soaked."}, []string{"@platform promote shop moves it"}},
		{"against, and nothing to wait for", []flowclient.WhyComponent{moving("refused", nil, window)}, "why.against", []string{"refused by window; waiting alone does not help"}, []string{"possible from"}},
		{"against another of them", []flowclient.WhyComponent{moving("refused", &monday, soaked)}, "why.against", []string{"refused because of the others; @platform promote shop --component shop-web leaves them out; possible from"}, nil},
		{"waiting", []flowclient.WhyComponent{moving(flowclient.Retry, nil, soaked, flowclient.Verdict{Gate: "ready", Component: "shop-web", Sentence: "it is not Ready."})}, "why.against", []string{"waits for ready; waiting alone does not help", "@platform watch shop-web staging"}, nil},
		{"what only the pass asks does not keep a person", []flowclient.WhyComponent{moving(flowclient.Promoted, &monday, soaked, hold)}, "why.clear",
			[]string{"Nothing keeps shop from production", "could be promoted now", "@platform promote shop moves it", "it was rolled back."}, []string{"gainst it:"}},
		{"nothing differs", []flowclient.WhyComponent{same}, "why.current", []string{"runs in production what staging runs"}, []string{"What you can do"}},
		{"no component", nil, "why.nothing", []string{"shop has no component yet"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFlow()
			f.why = flowclient.Why{Project: "shop", Components: c.components}
			rec := ask(t, f, commandstest.Ask{Text: "why", Project: "shop"})
			require.NoError(t, rec.Err)
			assert.Equal(t, []string{"shop "}, f.whys)
			assert.Equal(t, c.kind, rec.Answer().Kind)
			for _, says := range c.says {
				assert.Contains(t, markup.Plain(rec.Answer()), says)
			}
			for _, not := range c.not {
				assert.NotContains(t, markup.Plain(rec.Answer()), not)
			}
		})
	}
}

func TestWhyOfOneComponent(t *testing.T) {
	f := newFlow()
	require.NoError(t, ask(t, f, commandstest.Ask{Text: "why shop --component shop-api"}).Err)
	assert.Equal(t, []string{"shop shop-api"}, f.whys)
	require.ErrorContains(t, ask(t, f, commandstest.Ask{Text: "why shop --component shop-ap"}).Err, "Did you mean shop-api?")
}

func TestUnlockingIsToldBeforeItIsDone(t *testing.T) {
	f := newFlow()
	f.locks = []flowclient.Lock{{Component: "shop-web", Commit: "1a2b3c4d", Environment: "production", Reason: "x", Who: "sre", At: now}}
	rec := ask(t, f, commandstest.Ask{Text: "unlock shop-web 1a2b3c4 --to production --dry-run"})
	require.NoError(t, rec.Err)
	assert.Empty(t, f.clear)
	require.Len(t, f.unlocking, 1)
	assert.Equal(t, "production", f.unlocking[0].Environment)
	for _, says := range []string{"Would unlock 1a2b3c4 of shop-web", "shop-web would move at once.", "@platform unlock shop-web 1a2b3c4 --to production does it"} {
		assert.Contains(t, markup.Plain(rec.Answer()), says)
	}
	f.locks, f.err = nil, &flowclient.NotFound{Kind: "lock", Name: "shop-web 1a2b3c4"}
	assert.Equal(t, "unlock.nothing", ask(t, f, commandstest.Ask{Text: "unlock shop-web 1a2b3c4 --dry-run"}).Answer().Kind)
	f.err = flowclient.Refuse("commit 1a2b is ambiguous; write more of it.")
	assert.Equal(t, "unlock.refused", ask(t, f, commandstest.Ask{Text: "unlock shop-web 1a2b --dry-run"}).Answer().Kind)
}

func TestOldLocksAreListedByAge(t *testing.T) {
	f := newFlow()
	f.locks = []flowclient.Lock{{Component: "shop-web", Commit: "1a2b3c4d", Reason: "forgotten", Who: "sre", At: now.Add(-15 * 24 * time.Hour)}, {Component: "shop-api", Commit: "1a2b3c4d", Reason: "fresh", Who: "sre", At: now}}
	rec := ask(t, f, commandstest.Ask{Text: "locks --older-than 14d"})
	require.NoError(t, rec.Err)
	assert.Equal(t, "locks.old", rec.Answer().Kind)
	assert.Contains(t, markup.Plain(rec.Answer()), "1 commit lock holds for longer than 14 d")
	assert.NotContains(t, markup.Plain(rec.Answer()), "fresh")
	assert.Equal(t, "locks.none", ask(t, f, commandstest.Ask{Text: "locks --older-than 30d"}).Answer().Kind)
	require.ErrorContains(t, ask(t, f, commandstest.Ask{Text: "locks --older-than ages"}).Err, `--older-than "ages": it is no duration; write it in weeks`)
}

func TestAWatchEditsItsOneMessageUntilTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, began := newFlow(), time.Now()
		f.delivers = func() flowclient.Delivery {
			d := flowclient.Deployment{Environment: "staging", Release: "shop-web-2", Commit: "9f8e7d6c", State: "Active", Reason: "Starting"}
			if time.Since(began) >= 3*time.Second {
				d.Ready = true
			}
			return flowclient.Delivery{Components: []flowclient.ComponentDelivery{{Project: "shop", Component: "shop-web", Environments: []flowclient.Deployment{d}}}}
		}
		f.clock = time.Now
		rec := ask(t, f, commandstest.Ask{Text: "watch shop-web staging"})
		require.NoError(t, rec.Err)
		require.Len(t, rec.Progress, 1, "what does not change is not said again")
		assert.Equal(t, "watch.starting", rec.Progress[0].Kind)
		assert.Equal(t, markup.Working, rec.Progress[0].Status)
		assert.Equal(t, "watch.ready", rec.Answer().Kind)
		assert.Contains(t, markup.Plain(rec.Answer()), "It took 3.0 s from when you asked.")

		began = time.Now().Add(time.Hour)
		rec = ask(t, f, commandstest.Ask{Text: "watch shop-web staging --for 90s"})
		require.NoError(t, rec.Err)
		assert.Equal(t, "watch.late", rec.Answer().Kind)
		assert.Contains(t, markup.Plain(rec.Answer()), "After 1 min 30 s shop-web in staging is being started")
		assert.Empty(t, append(f.promotions, f.rollbacks...), "it only reads")
	})
}

func TestAWatchIsBounded(t *testing.T) {
	for text, says := range map[string]string{
		"watch shop-web staging --for 26m": `--for "26m0s": must be longer than nothing and at most 25m`,
		"watch shop-web staging --for 0s":  "must be longer than nothing",
		"watch shop-wbe staging":           "Did you mean shop-web?",
		"watch shop-web prod":              `Environment "prod" does not exist.`,
	} {
		rec := ask(t, newFlow(), commandstest.Ask{Text: text})
		var refusal commands.Refusal
		require.ErrorAs(t, rec.Err, &refusal, text)
		assert.Contains(t, refusal.Refused(), says)
	}
}
