package slack

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whatever posts take and however many want to: of each two, the later is asked
// for no sooner than the pace after the answer to the earlier, or than Slack said.
func TestTurnsInAChannelAreNeverCloserThanItsPace(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				chance := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a test's
				every := time.Duration(1+chance.IntN(2000)) * time.Millisecond
				p := newPace(every, time.Now)
				var mu sync.Mutex // of what follows
				var free time.Time
				posted, inside := 0, 0
				post := func(took, limited time.Duration) {
					done, err := p.take(t.Context(), "C1")
					for ; err != nil; done, err = p.take(t.Context(), "C1") {
						var wait *LimitedError
						require.ErrorAs(t, err, &wait)
						require.Positive(t, wait.After)
						time.Sleep(wait.After)
					}
					mu.Lock()
					assert.False(t, time.Now().Before(free), "%s too early", time.Until(free))
					inside++
					assert.Equal(t, 1, inside, "one posts at a time")
					mu.Unlock()
					time.Sleep(took)
					mu.Lock()
					inside--
					posted++
					free = time.Now().Add(every)
					err = nil
					if limited > 0 {
						free, err = time.Now().Add(limited), &LimitedError{Method: methodPost, After: limited}
					}
					mu.Unlock()
					done(err)
				}
				var all sync.WaitGroup
				const posts = 50
				for range posts {
					took, limited := time.Duration(chance.IntN(500))*time.Millisecond, time.Duration(0)
					if chance.IntN(10) == 0 {
						limited = time.Duration(1+chance.IntN(20_000)) * time.Millisecond
					}
					all.Go(func() { post(took, limited) })
					time.Sleep(time.Duration(chance.IntN(1000)) * time.Millisecond)
				}
				all.Wait()
				assert.Equal(t, posts, posted)
				assert.Zero(t, p.channels["C1"].taken, "every place is given back")
			})
		})
	}
}

func TestABusyChannelHoldsUpFewAndTellsTheOthersWhenToCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(time.Second, time.Now)
		const all = 20
		refused := make(chan time.Duration, all)
		var group sync.WaitGroup
		for range all {
			group.Go(func() {
				done, err := p.take(t.Context(), "C1")
				var limited *LimitedError
				if errors.As(err, &limited) {
					refused <- limited.After
					return
				}
				if assert.NoError(t, err) {
					time.Sleep(100 * time.Millisecond) // the call
					done(nil)
				}
			})
		}
		began := time.Now()
		group.Wait()
		close(refused)
		assert.Equal(t, room*1100*time.Millisecond+100*time.Millisecond, time.Since(began), "the first is posted at once, and the others wait")
		assert.Len(t, refused, all-room-1)
		for after := range refused {
			assert.GreaterOrEqual(t, after, (room-1)*time.Second)
			assert.LessOrEqual(t, after, room*time.Second, "while one still waits, so that the channel is never idle")
		}
	})
}

func TestAChannelThatSlackKeepsSilentHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, every := range []time.Duration{time.Second, -1} {
			p := newPace(every, time.Now)
			done, err := p.take(t.Context(), "C1")
			require.NoError(t, err)
			done(&LimitedError{Method: methodPost, After: 30 * time.Second})
			began := time.Now()
			var limited *LimitedError
			_, err = p.take(t.Context(), "C1")
			require.ErrorAs(t, err, &limited)
			assert.Equal(t, 30*time.Second, limited.After, "what Slack said, and no more")
			other, err := p.take(t.Context(), "C2")
			require.NoError(t, err)
			other(nil)
			assert.Zero(t, time.Since(began))
		}
	})
}

func TestWhoeverIsToldToEndGivesItsTurnBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(time.Second, time.Now)
		done, err := p.take(t.Context(), "C1")
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			_, err := p.take(ctx, "C1")
			assert.ErrorIs(t, err, context.Canceled)
		})
		synctest.Wait()
		cancel() // while somebody else posts
		group.Wait()
		done(nil)
		ended, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		_, err = p.take(ended, "C1") // while its turn has not come
		require.ErrorIs(t, err, context.DeadlineExceeded)
		done, err = p.take(t.Context(), "C1")
		require.NoError(t, err)
		done(nil)
		assert.Zero(t, p.channels["C1"].taken)
	})
}

func TestOfManyChannelsThoseThatAreIdleAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(time.Second, time.Now)
		for i := range remembered {
			done, err := p.take(t.Context(), fmt.Sprint("C", i))
			require.NoError(t, err)
			done(nil)
		}
		time.Sleep(2 * time.Second)
		done, err := p.take(t.Context(), "C")
		require.NoError(t, err)
		done(nil)
		assert.Len(t, p.channels, 1)
	})
}
