package bots_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// promote shows progress, has an effect, announces it elsewhere and answers. The
// effect is a durable write of the same life.
func promote(done *effects, life **botstest.Mortal) commands.Command {
	return command("promote", commands.Write, func(ctx context.Context, req commands.Request, reply commands.Reply) error {
		if err := reply.Progress(ctx, said("test.progress", "promoting for "+req.Key, markup.Working)); err != nil {
			return err
		}
		effect := func() error { done.do(req.Key); return nil }
		if *life == nil {
			_ = effect()
		} else if err := (*life).Write("effect", effect); err != nil {
			return err
		}
		if err := reply.Post(ctx, "news", news, said("test.news", "news for "+req.Key, markup.Notice)); err != nil {
			return err
		}
		return reply.Answer(ctx, said("test.done", "promoted for "+req.Key, markup.Done))
	})
}

func TestDyingAtEveryDurableWriteLosesAndDoublesNothing(t *testing.T) {
	// Hear, the decision, the progress, the effect, the news, the answer, the mark, the record closed, and try and sent of three rows.
	const known = 8 + 5
	writes, died := 0, true
	// The last round's run needs fewer than n writes.
	for n := 1; died && !t.Failed(); n++ {
		var life *botstest.Mortal
		synctest.Test(t, func(t *testing.T) {
			var done effects
			w := newWorld(t, promote(&done, &life))
			w.chat.SetLatency(10 * time.Millisecond)
			id := w.chat.Say("10", shop, "promote")

			life = botstest.NewMortal(w.store, n)
			stop := w.start(life)
			until(t, "death or the end", func() bool { return isClosed(life.Died()) || w.settled() })
			stop()
			writes, died = max(writes, len(life.Writes())), isClosed(life.Died())

			again := life
			life = nil
			stop = w.start(nil)
			until(t, "settled", w.settled)
			stop()
			life = again

			assert.Equal(t, []string{"test:platform:1"}, done.list(), "one effect after dying at write %d", n)
			assert.Equal(t, []string{"promoted for test:platform:1"}, w.titles(shop), "one answer after dying at write %d: %v", n, life.Writes())
			assert.Equal(t, []string{"news for test:platform:1"}, w.titles(news), "one announcement after dying at write %d", n)
			m, _ := w.chat.Message(id)
			assert.Equal(t, []string{bots.ReactionDone}, m.Reactions, "after dying at write %d", n)
		})
	}
	require.GreaterOrEqual(t, writes, known, "every known durable write was died at")
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// ordeal is what happens to a bot: questions in places, lives that end early, a chat that fails.
type ordeal struct {
	Places []int // which place each question is asked in
	Lives  []int // durable writes of each life but the last
	Faults []botstest.Fault
}

func drawOrdeal(t *rapid.T) ordeal {
	return ordeal{
		Places: rapid.SliceOfN(rapid.IntRange(0, 2), 1, 6).Draw(t, "places"),
		Lives:  rapid.SliceOfN(rapid.IntRange(1, 25), 0, 3).Draw(t, "lives"),
		Faults: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) botstest.Fault {
			return botstest.Fault{
				Kind:  rapid.SampledFrom([]botstest.FaultKind{botstest.None, botstest.Lost, botstest.Vanished, botstest.Limited, botstest.Down}).Draw(t, "kind"),
				After: time.Duration(rapid.IntRange(1, 60_000).Draw(t, "after")) * time.Millisecond,
			}
		}), 0, 12).Draw(t, "faults"),
	}
}

func TestWhateverFailsEveryQuestionIsAnsweredOnceAndInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := drawOrdeal(rt)
		var wrong []string
		synctest.Test(t, func(t *testing.T) { wrong = o.endure(t) })
		if len(wrong) > 0 {
			rt.Fatalf("%v", wrong)
		}
	})
}

// endure plays the ordeal and tells what went wrong.
func (o ordeal) endure(t *testing.T) (wrong []string) {
	var done effects
	var life *botstest.Mortal
	w := newWorld(t, promote(&done, &life))
	w.chat.Fail(o.Faults...)
	want := map[commands.Place][]string{}
	var keys []string
	for i, p := range o.Places {
		place := commands.Place{Stream: "shop", Topic: fmt.Sprint(p)}
		w.chat.Say("10", place, "promote")
		keys = append(keys, fmt.Sprintf("test:platform:%d", i+1))
		want[place] = append(want[place], "promoted for "+keys[i])
	}
	for _, n := range o.Lives {
		life = botstest.NewMortal(w.store, n)
		stop := w.start(life)
		until(t, "death or the end", func() bool { return isClosed(life.Died()) || len(w.store.Outcomes()) == len(keys) && w.settled() })
		stop()
	}
	life = nil
	stop := w.start(nil)
	until(t, "settled", func() bool { return len(w.store.Outcomes()) == len(keys) && w.settled() })
	stop()
	did := done.list()
	slices.Sort(did)
	if !slices.Equal(did, keys) {
		wrong = append(wrong, fmt.Sprintf("effects %v, want %v", did, keys))
	}
	for place, titles := range want {
		if got := w.titles(place); !slices.Equal(got, titles) {
			wrong = append(wrong, fmt.Sprintf("in %s: %q, want %q", place.Topic, got, titles))
		}
	}
	if got := w.titles(news); len(got) != len(keys) {
		wrong = append(wrong, fmt.Sprintf("news %q", got))
	}
	return wrong
}
