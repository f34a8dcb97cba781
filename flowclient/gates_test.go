package flowclient

import (
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
		set  func(c *candidate)
		pass bool
		says string
	}{
		"no lock": {"lock", func(*candidate) {}, true, "no lock holds shop-web aaaaaaa."},
		"locked everywhere": {"lock", func(c *candidate) { c.Locks = []Lock{lock} }, false,
			"shop-web aaaaaaa is locked in every environment by sre since Wed 18 Nov 18:00 UTC: breaks the cart. Clear the lock on shop-web aaaaaaa to go on."},
		"locked in production": {"lock", func(c *candidate) { c.Locks = []Lock{in(lock, Production)} }, false, "is locked in production by sre"},
		"locked in staging":    {"lock", func(c *candidate) { c.Locks = []Lock{in(lock, Staging)} }, true, "no lock"},
		"another commit locked": {"lock", func(c *candidate) {
			c.Locks = []Lock{{Component: "shop-web", Commit: shaB, Releases: []string{"shop-web-2"}}}
		}, true, "no lock"},
		"another component's lock": {"lock", func(c *candidate) { l := lock; l.Component = "shop-api"; c.Locks = []Lock{l} }, true, "no lock"},
		"a release cut anew of the locked commit": {"lock", func(c *candidate) {
			c.Locks = []Lock{lock}
			c.Target.Name, c.Target.Image = "shop-web-9", "r/shop/web@sha256:9"
		}, false, "is locked"},
		"a release of another commit with the locked digest": {"lock", func(c *candidate) {
			c.Locks = []Lock{{Component: "shop-web", Commit: shaB, Who: "sre", Reason: "same bytes"}}
			c.Releases = []release{{Name: "shop-web-2", Of: "shop-web", Commit: shaB, Image: "other:1/shop/web@sha256:1"}}
		}, false, "Clear the lock on shop-web bbbbbbb"},
		"a release without a digest is not every other's": {"lock", func(c *candidate) {
			c.Locks = []Lock{{Component: "shop-web", Commit: shaB, Who: "sre"}}
			c.Target.Image = "r/shop/web:latest"
			c.Releases = []release{{Name: "shop-web-2", Of: "shop-web", Commit: shaB, Image: "r/shop/web:latest"}}
		}, true, "no lock"},
		"a release that does not tell its commit, named by the lock": {"lock", func(c *candidate) {
			c.Locks, c.Target.Commit = []Lock{lock}, ""
		}, false, "shop-web shop-web-1 is locked"},
		"no reason given": {"lock", func(c *candidate) { l := lock; l.Reason = ""; c.Locks = []Lock{l} }, false, "no reason given"},

		"no window":     {"window", func(*candidate) {}, true, "Production changes to shop are allowed at any time."},
		"window open":   {"window", func(c *candidate) { c.Window = "Mon-Fri 09:00-19:00 Europe/London" }, true, "Open now; closes Fri 20 Nov 19:00 GMT, in 1 h."},
		"window closed": {"window", func(c *candidate) { c.Window = "Mon-Fri 09:00-17:00 Europe/London" }, false, "Closed now; opens Mon 23 Nov 09:00 GMT, in 2 d 15 h."},
		"window broken": {"window", func(c *candidate) { c.Window = "weekdays" }, false, `"weekdays" cannot be read`},

		"ready":      {"ready", func(*candidate) {}, true, "shop-web aaaaaaa is Ready in staging."},
		"not ready":  {"ready", func(c *candidate) { c.Ready, c.Reason, c.Message = false, "ResourcesProgressing", "pulling" }, false, "(ResourcesProgressing: pulling); ask again when it is."},
		"no release": {"ready", func(c *candidate) { c.Target = release{Of: "shop-web"} }, false, "shop-web runs nothing in staging yet"},

		"no soak":           {"soak", func(*candidate) {}, true, "no soak"},
		"soaked":            {"soak", func(c *candidate) { c.Soak = "1h" }, true, "for 1 h; 1 h was asked for."},
		"soaking":           {"soak", func(c *candidate) { c.Soak = "1h30m" }, false, "has been in staging for 1 h of 1 h 30 min; ask again in 30 min."},
		"soak by default":   {"soak", func(c *candidate) { c.Default = 2 * time.Hour }, false, "1 h of 2 h"},
		"soak of nothing":   {"soak", func(c *candidate) { c.Soak, c.Target = "1h", release{} }, true, "no soak"},
		"soak 0 overrides":  {"soak", func(c *candidate) { c.Default, c.Soak = 2*time.Hour, "0s" }, true, "no soak"},
		"soak unreadable":   {"soak", func(c *candidate) { c.Soak = "5 minutes" }, false, `the soak "5 minutes" of shop is no duration`},
		"soak negative":     {"soak", func(c *candidate) { c.Soak = "-5m" }, false, "is no duration"},
		"no check":          {"check", func(c *candidate) { c.Status = 0 }, true, "no URL check"},
		"check passes":      {"check", func(c *candidate) { c.Check, c.Status = "http", 404 }, true, "answers 404."},
		"check fails":       {"check", func(c *candidate) { c.Check, c.Status = "http", 500 }, false, "answers 500 at http://staging-shop/shop-web-http"},
		"check unanswered":  {"check", func(c *candidate) { c.Check, c.Status, c.CheckFail = "http", 0, "refused" }, false, "does not answer"},
		"check unbound":     {"check", func(c *candidate) { c.Check, c.Status, c.Unbound = "http", 404, true }, true, "the answer is the gateway's"},
		"check no address":  {"check", func(c *candidate) { c.Check, c.URL = "http", "" }, false, "no address"},
		"check not a check": {"check", func(c *candidate) { c.Check = "tcp" }, false, `the promotion check "tcp" of shop is not known`},
	} {
		t.Run(name, func(t *testing.T) {
			one := eligible()
			c.set(&one)
			for _, g := range gates {
				if g.name == c.gate {
					v := g.verdict(one, friday)
					assert.Equal(t, c.pass, v.Pass, v.Sentence)
					assert.Contains(t, v.Sentence, c.says)
					assert.Equal(t, v, g.verdict(one, friday), "same candidate and instant, same verdict")
					return
				}
			}
			t.Fatalf("no gate %s", c.gate)
		})
	}
}

func TestEachGateSaysWhenItFlips(t *testing.T) {
	c := eligible()
	c.Soak, c.Window = "90m", "Mon-Fri 09:00-17:00 Europe/London"
	all, refused, waiting := verdicts([]candidate{c}, false, friday)
	require.NotNil(t, refused)
	assert.Equal(t, "window", refused.Gate)
	assert.Equal(t, time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC), refused.Flips.UTC())
	assert.Equal(t, friday.Add(30*time.Minute), *waiting["shop-web"].Flips)
	assert.Len(t, all, len(gates))
}

func TestALockIsNamedBeforeAClosedWindow(t *testing.T) {
	c := eligible()
	c.Window = "Mon 09:00-17:00 UTC"
	_, refused, _ := verdicts([]candidate{c}, false, friday)
	assert.Equal(t, "window", refused.Gate)
	c.Locks = []Lock{{Component: "shop-web", Commit: shaA}}
	all, refused, _ := verdicts([]candidate{c}, true, friday)
	assert.Equal(t, "lock", refused.Gate)
	assert.Len(t, all, 2, "a rollback is asked about locks and the window alone")
}

func TestNothingLiftsALock(t *testing.T) {
	for _, g := range gates {
		if g.name == "lock" || g.name == "window" {
			assert.Equal(t, refuses, g.promote)
			assert.Equal(t, refuses, g.rollback)
			assert.Contains(t, g.lifts, "nothing")
		}
	}
}
