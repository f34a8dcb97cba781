package chat

import (
	"container/list"
	"math"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// guessRules are how often signing in may fail before it has to wait. What
// failed is forgotten evenly over the rule's time.
var guessRules = []struct {
	failures int
	over     time.Duration
	each     bool // counted for each account; else for all that one address tries
}{
	{failures: 5, over: 5 * time.Minute, each: true},
	{failures: 50, over: 10 * time.Minute},
}

// maxGuesses is how many addresses and accounts are remembered; the one that
// failed longest ago makes room.
const maxGuesses = 10_000

// guess is what a rule counts: an address, and for some rules an account.
type guess struct {
	rule         int
	address, who string
}

// failed is how often a guess has failed, as of an instant.
type failed struct {
	guess
	times float64
	at    time.Time
}

// guesses counts failed sign-ins in memory: a restart forgets them.
type guesses struct {
	mu    sync.Mutex
	at    map[guess]*list.Element
	order *list.List // of *failed, the one that failed last at its end
}

func newGuesses() *guesses { return &guesses{at: map[guess]*list.Element{}, order: list.New()} }

// countsFor is what a sign-in counts for, by rule.
func countsFor(address, who string) []guess {
	out := make([]guess, len(guessRules))
	for i, rule := range guessRules {
		out[i] = guess{rule: i, address: address}
		if rule.each {
			out[i].who = who
		}
	}
	return out
}

// begin counts a sign-in as failed, before anybody looks whether it is: as many
// at once as there are tries left are looked at. Where none is left it counts
// nothing and tells how long to wait for the next.
func (g *guesses) begin(address, who string, now time.Time) (wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, key := range countsFor(address, who) {
		rule := guessRules[key.rule]
		if over := g.times(key, now) + 1 - float64(rule.failures); over > 0 {
			millis := over * float64(rule.over.Milliseconds()) / float64(rule.failures)
			wait = max(wait, time.Duration(math.Ceil(millis))*time.Millisecond)
		}
	}
	if wait > 0 {
		return wait
	}
	for _, key := range countsFor(address, who) {
		g.set(key, g.times(key, now)+1, now)
	}
	return 0
}

// succeeded takes back what begin has counted, and forgets what failed for the account before.
func (g *guesses) succeeded(address, who string, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, key := range countsFor(address, who) {
		left := g.times(key, now) - 1
		if guessRules[key.rule].each {
			left = 0
		}
		g.set(key, left, now)
	}
}

// times is how often a guess has failed and is not forgotten.
func (g *guesses) times(key guess, now time.Time) float64 {
	f := g.find(key)
	if f == nil {
		return 0
	}
	rule := guessRules[key.rule]
	forgotten := float64(rule.failures) * float64(now.Sub(f.at)) / float64(rule.over)
	return max(0, f.times-max(0, forgotten))
}

// find is what is remembered of a guess; nil for nothing.
func (g *guesses) find(key guess) *failed {
	if e := g.at[key]; e != nil {
		if f, ok := e.Value.(*failed); ok {
			return f
		}
	}
	return nil
}

// set remembers how often a guess has failed; the oldest makes room.
func (g *guesses) set(key guess, times float64, now time.Time) {
	if e := g.at[key]; e != nil {
		g.order.Remove(e)
		delete(g.at, key)
	}
	if times <= 0 {
		return
	}
	for g.order.Len() >= maxGuesses {
		if old, ok := g.order.Remove(g.order.Front()).(*failed); ok {
			delete(g.at, old.guess)
		}
	}
	g.at[key] = g.order.PushBack(&failed{guess: key, times: times, at: now})
}

// seconds is a wait as Retry-After has it: whole seconds, never too few.
func seconds(wait time.Duration) int { return int(math.Ceil(wait.Seconds())) }

// guesser is whence a request comes: its address without the port, and of IPv6
// the network that one subscriber has.
func guesser(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	address := at.Addr().Unmap().WithZone("")
	if address.Is6() {
		if network, err := address.Prefix(64); err == nil {
			return network.String()
		}
	}
	return address.String()
}
