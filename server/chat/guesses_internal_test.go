package chat

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var midday = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func TestAsManySignInsAreLookedAtAsMayFailHoweverManyComeAtOnce(t *testing.T) {
	g := newGuesses()
	var looked atomic.Int64
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if g.begin("192.0.2.1", "ann", midday) == 0 {
				looked.Add(1)
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, 5, looked.Load())
}

func TestFailuresAreForgottenOneByOne(t *testing.T) {
	g := newGuesses()
	now := midday
	for range 5 {
		assert.Zero(t, g.begin("192.0.2.1", "ann", now))
	}
	assert.Equal(t, time.Minute, g.begin("192.0.2.1", "ann", now), "five in five minutes: one a minute")
	now = now.Add(59 * time.Second)
	assert.Equal(t, time.Second, g.begin("192.0.2.1", "ann", now), "what was refused does not count")
	now = now.Add(time.Second)
	assert.Zero(t, g.begin("192.0.2.1", "ann", now))
	assert.Equal(t, time.Minute, g.begin("192.0.2.1", "ann", now))
	now = now.Add(-time.Hour)
	assert.Equal(t, time.Minute, g.begin("192.0.2.1", "ann", now), "a clock that goes back forgets nothing")
}

func TestAccountsAndAddressesAreCountedApartUpToALimitOfAnAddress(t *testing.T) {
	g := newGuesses()
	for range 5 {
		g.begin("192.0.2.1", "ann", midday)
	}
	assert.Zero(t, g.begin("192.0.2.1", "bob", midday), "another account")
	assert.Zero(t, g.begin("192.0.2.2", "ann", midday), "another address: nobody is locked out by others")
	for i := range 44 {
		assert.Zero(t, g.begin("192.0.2.1", fmt.Sprint("guessed ", i), midday))
	}
	assert.Equal(t, 12*time.Second, g.begin("192.0.2.1", "one more", midday), "fifty in ten minutes")
	assert.Zero(t, g.begin("192.0.2.2", "one more", midday))
}

func TestWhoSignsInStartsAnew(t *testing.T) {
	g := newGuesses()
	for range 12 {
		for range 4 {
			g.begin("192.0.2.1", "ann", midday)
		}
		assert.Zero(t, g.begin("192.0.2.1", "ann", midday))
		g.succeeded("192.0.2.1", "ann", midday)
	}
	assert.Nil(t, g.find(guess{rule: 0, address: "192.0.2.1", who: "ann"}))
	assert.InDelta(t, 48, g.find(guess{rule: 1, address: "192.0.2.1"}).times, 0.1, "time alone has an address's failures forgotten")
	later := midday.Add(time.Hour)
	assert.Zero(t, g.begin("192.0.2.1", "ann", later))
	g.succeeded("192.0.2.1", "ann", later)
	assert.Empty(t, g.at)
	assert.Zero(t, g.order.Len())
}

func TestWhatIsRememberedOfFailuresIsBounded(t *testing.T) {
	g := newGuesses()
	for i := range maxGuesses * 3 / 5 { // each counts twice: for its account and for itself
		g.begin(fmt.Sprint("address ", i), "ann", midday.Add(time.Duration(i)*time.Millisecond))
	}
	assert.Len(t, g.at, maxGuesses)
	assert.Equal(t, maxGuesses, g.order.Len())
	_, known := g.at[guess{rule: 1, address: fmt.Sprint("address ", maxGuesses*3/5-1)}]
	assert.True(t, known, "the newest are kept")
}

func TestWhenceARequestComes(t *testing.T) {
	for from, want := range map[string]string{
		"192.0.2.1:4000": "192.0.2.1", "[::ffff:192.0.2.1]:4000": "192.0.2.1", "[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:80": "fe80::/64", "[::1]:80": "::/64", "memory": "memory", "": "",
	} {
		assert.Equal(t, want, guesser(&http.Request{RemoteAddr: from}), from)
	}
}
