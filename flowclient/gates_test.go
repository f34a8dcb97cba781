package flowclient

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var friday = time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)

const (
	shaA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	shaB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// eligible is a candidate that passes every gate.
func eligible() candidate {
	return candidate{
		Project: "shop", Component: "shop-web", Environment: Production,
		Target: release{Name: "shop-web-1", Of: "shop-web", Commit: shaA, Image: "r/shop/web@sha256:1"},
		Ready:  true, Since: friday.Add(-time.Hour), URL: "http://staging-shop/shop-web-http", Status: 200,
	}
}

func TestGates(t *testing.T) {
	lock := Lock{Component: "shop-web", Commit: shaA, Reason: "breaks the cart", Who: "sre", At: friday.Add(-48 * time.Hour), Releases: []string{"shop-web-1"}}
	in := func(l Lock, environment string) Lock { l.Environment = environment; return l }
	for name, c := range map[string]struct {
		gate string
		set  func(q *question, c *candidate)
		pass bool
		says string
	}{
		"no lock": {"lock", func(*question, *candidate) {}, true, "no lock holds shop-web aaaaaaa."},
		"locked everywhere": {"lock", func(_ *question, c *candidate) { c.Locks = []Lock{lock} }, false,
			"shop-web aaaaaaa is locked in every environment by sre since Wed 18 Nov 18:00 UTC: breaks the cart. Clear the lock on shop-web aaaaaaa to go on."},
		"locked in production": {"lock", func(_ *question, c *candidate) { c.Locks = []Lock{in(lock, Production)} }, false, "is locked in production by sre"},
		"locked in staging":    {"lock", func(_ *question, c *candidate) { c.Locks = []Lock{in(lock, Staging)} }, true, "no lock"},
		"another commit locked": {"lock", func(_ *question, c *candidate) {
			c.Locks = []Lock{{Component: "shop-web", Commit: shaB, Releases: []string{"shop-web-2"}}}
		}, true, "no lock"},
		"another component's lock": {"lock", func(_ *question, c *candidate) { l := lock; l.Component = "shop-api"; c.Locks = []Lock{l} }, true, "no lock"},
		"a release cut anew of the locked commit": {"lock", func(_ *question, c *candidate) {
			c.Locks = []Lock{lock}
			c.Target.Name, c.Target.Image = "shop-web-9", "r/shop/web@sha256:9"
		}, false, "is locked"},
		"a release of another commit with the locked digest": {"lock", func(_ *question, c *candidate) {
			c.Locks = []Lock{{Component: "shop-web", Commit: shaB, Who: "sre", Reason: "same bytes"}}
			c.Releases = []release{{Name: "shop-web-2", Of: "shop-web", Commit: shaB, Image: "other:1/shop/web@sha256:1"}}
		}, false, "Clear the lock on shop-web bbbbbbb"},
		"a release without a digest is not every other's": {"lock", func(_ *question, c *candidate) {
			c.Locks = []Lock{{Component: "shop-web", Commit: shaB, Who: "sre"}}
			c.Target.Image = "r/shop/web:latest"
			c.Releases = []release{{Name: "shop-web-2", Of: "shop-web", Commit: shaB, Image: "r/shop/web:latest"}}
		}, true, "no lock"},
		"a release that does not tell its commit, named by the lock": {"lock", func(_ *question, c *candidate) {
			c.Locks, c.Target.Commit = []Lock{lock}, ""
		}, false, "shop-web shop-web-1 is locked"},
		"no reason given": {"lock", func(_ *question, c *candidate) { l := lock; l.Reason = ""; c.Locks = []Lock{l} }, false, "no reason given"},

		"no window":     {"window", func(*question, *candidate) {}, true, "Production changes to shop are allowed at any time."},
		"window open":   {"window", func(q *question, _ *candidate) { q.Window = "Mon-Fri 09:00-19:00 Europe/London" }, true, "Open now; closes Fri 20 Nov 19:00 GMT, in 1 h."},
		"window closed": {"window", func(q *question, _ *candidate) { q.Window = "Mon-Fri 09:00-17:00 Europe/London" }, false, "Closed now; opens Mon 23 Nov 09:00 GMT, in 2 d 15 h."},
		"window broken": {"window", func(q *question, _ *candidate) { q.Window = "weekdays" }, false, `"weekdays" cannot be read`},

		"ready": {"ready", func(*question, *candidate) {}, true, "shop-web aaaaaaa is Ready in staging."},
		"not ready": {"ready", func(_ *question, c *candidate) {
			c.Ready, c.Reason, c.Message = false, "ResourcesProgressing", "pulling"
		}, false, "(ResourcesProgressing: pulling); ask again when it is."},
		"nothing to lock": {"lock", func(_ *question, c *candidate) { c.Target = release{Of: "shop-web"} }, true, "no lock holds shop-web."},
		"nothing to hold": {"hold", func(_ *question, c *candidate) { c.Target = release{Of: "shop-web"} }, true, "no rollback holds shop-web."},
		"nothing to fit":  {"capacity", func(_ *question, c *candidate) { c.Target = release{Of: "shop-web"} }, true, "nothing of shop would move, so that nothing needs room in production."},
		"no release":      {"ready", func(_ *question, c *candidate) { c.Target = release{Of: "shop-web"} }, false, "shop-web runs nothing in staging yet"},

		"no soak":            {"soak", func(*question, *candidate) {}, true, "no soak"},
		"soaked":             {"soak", func(_ *question, c *candidate) { c.Soak = "1h" }, true, "for 1 h; 1 h was asked for."},
		"soaking":            {"soak", func(_ *question, c *candidate) { c.Soak = "1h30m" }, false, "has been in staging for 1 h of 1 h 30 min; ask again in 30 min."},
		"soaking to the end": {"soak", func(_ *question, c *candidate) { c.Soak = "1h0m2.4s" }, false, "ask again in 3 s."},
		"soak by default":    {"soak", func(_ *question, c *candidate) { c.Default = 2 * time.Hour }, false, "1 h of 2 h"},
		"soak of nothing":    {"soak", func(_ *question, c *candidate) { c.Soak, c.Target = "1h", release{} }, true, "no soak"},
		"soak 0 overrides":   {"soak", func(_ *question, c *candidate) { c.Default, c.Soak = 2*time.Hour, "0s" }, true, "no soak"},
		"soak unreadable":    {"soak", func(_ *question, c *candidate) { c.Soak = "5 minutes" }, false, `the soak "5 minutes" of shop is no duration`},
		"soak negative":      {"soak", func(_ *question, c *candidate) { c.Soak = "-5m" }, false, "is no duration"},
		"no check":           {"check", func(_ *question, c *candidate) { c.Status = 0 }, true, "no URL check"},
		"check passes":       {"check", func(_ *question, c *candidate) { c.Check, c.Status = "http", 404 }, true, "answers 404."},
		"check fails":        {"check", func(_ *question, c *candidate) { c.Check, c.Status = "http", 500 }, false, "answers 500 at http://staging-shop/shop-web-http"},
		"check unanswered":   {"check", func(_ *question, c *candidate) { c.Check, c.Status, c.CheckFail = "http", 0, "refused" }, false, "does not answer"},
		"check unbound":      {"check", func(_ *question, c *candidate) { c.Check, c.Status, c.Unbound = "http", 404, true }, true, "the answer is the gateway's"},
		"check no address":   {"check", func(_ *question, c *candidate) { c.Check, c.URL = "http", "" }, false, "no address"},
		"check spared":       {"check", func(_ *question, c *candidate) { c.Check, c.Unasked, c.Status = "http", true, 0 }, true, "when nothing else keeps it"},
		"no hold":            {"hold", func(*question, *candidate) {}, true, "no rollback holds"},
		"held": {"hold", func(_ *question, c *candidate) {
			c.Held = &Hold{Release: "shop-web-1", Who: "sre", At: friday.Add(-time.Hour)}
		}, false, "was rolled back by sre on Fri 20 Nov 17:00 UTC and is not moved again by itself; promote it, or push another commit."},
		"another is held":         {"hold", func(_ *question, c *candidate) { c.Held = &Hold{Release: "shop-web-0"} }, true, "no rollback holds"},
		"in service":              {"service", func(*question, *candidate) {}, true, "not out of service"},
		"out of service":          {"service", func(_ *question, c *candidate) { c.Undeployed = true }, false, "promote it to bring it back."},
		"no backoff":              {"backoff", func(*question, *candidate) {}, true, "has refused nothing"},
		"backed off":              {"backoff", func(_ *question, c *candidate) { at := friday.Add(time.Second); c.Backoff = &at }, false, "asked again in 1 s."},
		"backed off for a moment": {"backoff", func(_ *question, c *candidate) { at := friday.Add(2400 * time.Millisecond); c.Backoff = &at }, false, "asked again in 3 s."},
		"backoff over":            {"backoff", func(_ *question, c *candidate) { at := friday; c.Backoff = &at }, true, "has refused nothing"},
		"check not a check":       {"check", func(_ *question, c *candidate) { c.Check = "tcp" }, false, `the promotion check "tcp" of shop is not known`},
	} {
		t.Run(name, func(t *testing.T) {
			one, q := eligible(), question{Project: "shop"}
			c.set(&q, &one)
			for _, g := range gates {
				if g.name == c.gate {
					v := g.verdict(q.about(one), friday)
					assert.Equal(t, c.pass, v.Pass, v.Sentence)
					assert.Contains(t, v.Sentence, c.says)
					assert.Equal(t, v, g.verdict(q.about(one), friday), "same candidate and instant, same verdict")
					return
				}
			}
			t.Fatalf("no gate %s", c.gate)
		})
	}
}

func TestEachGateSaysWhenItFlips(t *testing.T) {
	c := eligible()
	c.Soak = "90m"
	j := judge(question{Project: "shop", Window: "Mon-Fri 09:00-17:00 Europe/London"}, []candidate{c}, promoting, Promotion{}, friday)
	require.NotNil(t, j.Refused)
	assert.Equal(t, "window", j.Refused.Gate)
	assert.Equal(t, time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC), j.Refused.Flips.UTC())
	assert.Equal(t, friday.Add(30*time.Minute), *j.Stops["shop-web"].Flips)
	assert.Len(t, j.All, 6, "what the table asks of a promotion")
}

func TestALockIsNamedBeforeAClosedWindow(t *testing.T) {
	c := eligible()
	q := question{Project: "shop", Window: "Mon 09:00-17:00 UTC"}
	assert.Equal(t, "window", judge(q, []candidate{c}, promoting, Promotion{}, friday).Refused.Gate)
	c.Locks = []Lock{{Component: "shop-web", Commit: shaA}}
	j := judge(q, []candidate{c}, rollingBack, Promotion{}, friday)
	assert.Equal(t, "lock", j.Refused.Gate)
	assert.Len(t, j.All, 2, "a rollback is asked about locks and the window alone")
}

// The table of the promotion rules, written out a second time: a change of
// policy has to be made in both.
func TestTheGateTableIsThePolicy(t *testing.T) {
	var table []string
	for _, g := range gates {
		table = append(table, strings.Join([]string{g.name, string(g.automatic), string(g.promote), string(g.rollback), string(g.lift)}, " | "))
	}
	assert.Equal(t, []string{
		"lock | left out | refused | refused | ",
		"window | parked | refused | refused | ",
		"capacity | backed off | refused | - | force",
		"hold | left out | - | - | ",
		"service | left out | - | - | ",
		"ready | waiting | retry | - | ",
		"soak | waiting | retry | - | skipSoak",
		"check | left out | retry | - | skipSoak",
		"backoff | waiting | - | - | ",
	}, table)
}

func TestOnlyWhatTheTableSaysIsLifted(t *testing.T) {
	locked := eligible()
	locked.Locks = []Lock{{Component: "shop-web", Commit: shaA}}
	everything := Promotion{Force: true, SkipSoak: "the fix of the outage"}
	assert.Equal(t, "lock", judge(question{Project: "shop"}, []candidate{locked}, promoting, everything, friday).Refused.Gate)
	closed := question{Project: "shop", Window: "Mon 09:00-17:00 UTC"}
	assert.Equal(t, "window", judge(closed, []candidate{eligible()}, promoting, everything, friday).Refused.Gate)

	soaking := eligible()
	soaking.Soak, soaking.Check, soaking.Status = "2h", "http", 503
	j := judge(question{Project: "shop"}, []candidate{soaking}, promoting, everything, friday)
	assert.Len(t, j.Eligible, 1)
	assert.Contains(t, note(snapshot{}, nil, j, nil), "Lifted by skipSoak: the fix of the outage: shop-web aaaaaaa has been in staging for 1 h of 2 h")
	unready := eligible()
	unready.Ready = false
	assert.Empty(t, judge(question{Project: "shop"}, []candidate{unready}, promoting, everything, friday).Eligible, "nothing makes it Ready but itself")
}

func TestWhatAGateKeepsIsNotAskedToFit(t *testing.T) {
	unready, ready := eligible(), eligible()
	unready.Component, unready.Ready = "shop-api", false
	j := judge(question{Project: "shop"}, []candidate{unready, ready}, automatically, Promotion{}, friday)
	require.Len(t, j.Eligible, 1)
	assert.Equal(t, "shop-web", j.Eligible[0].Component)
	assert.Equal(t, waits, j.Stops["shop-api"].Effect)
	assert.Nil(t, j.Refused, "the automatic pass refuses nobody")
}
