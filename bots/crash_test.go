package bots_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
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

// fateful are commands, one of each kind of what commands do; each takes its time
// so that a read is answered within the grace or beyond it.
func fateful(done *effects, life **botstest.Mortal) map[string]commands.Command {
	after := func(d time.Duration, run func(context.Context, commands.Request, commands.Reply) error) func(context.Context, commands.Request, commands.Reply) error {
		return func(ctx context.Context, req commands.Request, reply commands.Reply) error {
			select {
			case <-time.After(d):
			case <-ctx.Done():
				return ctx.Err()
			}
			return run(ctx, req, reply)
		}
	}
	posts := func(ctx context.Context, req commands.Request, reply commands.Reply) error {
		return errors.Join(reply.Post(ctx, "news", news, said("test.news", "news for "+req.Key, markup.Notice)), echo(ctx, req, reply))
	}
	progresses := func(ctx context.Context, req commands.Request, reply commands.Reply) error {
		if err := reply.Progress(ctx, said("test.progress", "looking for "+req.Key, markup.Working)); err != nil {
			return err
		}
		return after(20*time.Millisecond, echo)(ctx, req, reply)
	}
	runs := 0
	changes := func(ctx context.Context, req commands.Request, reply commands.Reply) error {
		runs++
		m := said("test.echo", req.Verb+" for "+req.Key, markup.Done)
		m.Blocks = []markup.Block{markup.Text(markup.T(fmt.Sprintf("as of run %d", runs)))}
		return reply.Answer(ctx, m)
	}
	return map[string]commands.Command{
		"a read that says another thing each time":  command("read", commands.Read, changes),
		"a write that says another thing each time": command("write", commands.Write, changes),
		"a short read":            command("read", commands.Read, echo),
		"a read that takes long":  command("read", commands.Read, after(time.Second, echo)),
		"a read near the grace":   command("read", commands.Read, after(5*time.Millisecond, echo)),
		"a read that posts":       command("read", commands.Read, posts),
		"a read that progresses":  command("read", commands.Read, progresses),
		"a write":                 command("write", commands.Write, echo),
		"a write that posts":      command("write", commands.Write, posts),
		"a write that progresses": command("write", commands.Write, progresses),
		"a write with everything": promote(done, life),
	}
}

// Each kind of command is killed after each of its writes: in its store, in its
// chat, and its acknowledgements; the latencies have a read's answer arrive
// within the grace, at its end and after it.
func TestDyingAtEveryWriteLosesAndDoublesNothing(t *testing.T) {
	kinds := slices.Sorted(maps.Keys(fateful(nil, nil)))
	for _, repeated := range []bool{false, true} {
		for _, latency := range []time.Duration{0, 5 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond} {
			for _, kind := range kinds {
				t.Run(fmt.Sprintf("%s, told again %t, %s", kind, repeated, latency), func(t *testing.T) {
					died := true
					// The last round's run needs fewer than n writes.
					for n := 1; died && !t.Failed(); n++ {
						synctest.Test(t, func(t *testing.T) { died = dieAt(t, n, kind, repeated, latency) })
					}
				})
			}
		}
	}
}

// dieAt has a process die at its n-th write and another go on; false when it did not come that far.
func dieAt(t *testing.T, n int, kind string, repeated bool, latency time.Duration) bool {
	var done effects
	var life *botstest.Mortal
	c := fateful(&done, &life)[kind]
	w := newWorld(t, c)
	w.repeated = repeated
	w.chat.SetLatency(latency)
	life = botstest.NewMortal(w.store, n)
	lived := life
	stop := w.start(life)
	awake()
	id := w.chat.Say("10", shop, c.Verb)
	over := func() bool { return len(w.titles(shop)) > 0 && w.store.Settled() && (!repeated || w.over()) }
	until(t, "death or the end", func() bool { return isClosed(lived.Died()) || over() })
	stop()
	died := isClosed(lived.Died())

	life = nil
	stop = w.start(nil)
	until(t, "settled", over)
	<-time.After(time.Minute) // in which anything more would come
	stop()

	what := fmt.Sprintf("after dying at write %d: %v", n, lived.Writes())
	verb := map[bool]string{true: "promoted", false: c.Verb}[c.Verb == "promote"]
	assert.Equal(t, []string{verb + " for test:platform:1"}, w.titles(shop), "one answer %s", what)
	if c.Verb == "promote" {
		assert.Equal(t, []string{"test:platform:1"}, done.list(), "one effect %s", what)
	}
	assert.LessOrEqual(t, len(w.titles(news)), 1, "one announcement %s", what)
	if strings.HasSuffix(kind, "posts") || c.Verb == "promote" {
		assert.Equal(t, []string{"news for test:platform:1"}, w.titles(news), "one announcement %s", what)
	}
	if m, _ := w.chat.Message(id); repeated {
		assert.NotContains(t, m.Reactions, bots.ReactionHeard, what)
		assert.LessOrEqual(t, len(m.Reactions), 1, what)
	} else {
		assert.Equal(t, []string{bots.ReactionDone}, m.Reactions, what)
	}
	return died
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
	Places   []int  // which place each question is asked in
	Reads    []bool // which of them are short reads
	Lives    []int  // writes of each life but the last
	Faults   []botstest.Fault
	Repeated bool // the chat tells again of what was not acknowledged
	Latency  time.Duration
}

func drawOrdeal(t *rapid.T) ordeal {
	return ordeal{
		Places:   rapid.SliceOfN(rapid.IntRange(0, 2), 1, 6).Draw(t, "places"),
		Reads:    rapid.SliceOfN(rapid.Bool(), 6, 6).Draw(t, "reads"),
		Lives:    rapid.SliceOfN(rapid.IntRange(1, 25), 0, 3).Draw(t, "lives"),
		Repeated: rapid.Bool().Draw(t, "repeated"),
		Latency:  time.Duration(rapid.IntRange(0, 40).Draw(t, "latency")) * time.Millisecond,
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
	w := newWorld(t, promote(&done, &life), command("read", commands.Read, echo))
	w.repeated = o.Repeated
	w.chat.SetLatency(o.Latency)
	w.chat.Fail(o.Faults...)
	want := map[commands.Place][]string{}
	var keys, writes []string
	ask := func() { // one after the other, once somebody listens for long enough
		for i, p := range o.Places {
			place, verb := commands.Place{Stream: "shop", Topic: fmt.Sprint(p)}, "promote"
			if o.Reads[i] {
				verb = "read"
			}
			key := "test:platform:" + w.chat.Say("10", place, verb)
			keys = append(keys, key)
			if o.Reads[i] {
				want[place] = append(want[place], "read for "+key)
			} else {
				writes = append(writes, key)
				want[place] = append(want[place], "promoted for "+key)
			}
		}
	}
	over := func() bool {
		if o.Repeated {
			return len(keys) > 0 && w.over()
		}
		return len(keys) > 0 && len(w.store.Outcomes()) == len(keys) && w.settled()
	}
	for _, n := range o.Lives {
		life = botstest.NewMortal(w.store, n)
		stop := w.start(life)
		if len(keys) == 0 {
			awake()
			ask()
		}
		until(t, "death or the end", func() bool { return isClosed(life.Died()) || over() })
		stop()
	}
	life = nil
	stop := w.start(nil)
	if len(keys) == 0 {
		awake()
		ask()
	}
	until(t, "settled", over)
	stop()
	did := done.list()
	slices.Sort(did)
	slices.Sort(writes)
	if !slices.Equal(did, writes) {
		wrong = append(wrong, fmt.Sprintf("effects %v, want %v", did, writes))
	}
	for place, titles := range want {
		if got := w.titles(place); !slices.Equal(got, titles) {
			wrong = append(wrong, fmt.Sprintf("in %s: %q, want %q", place.Topic, got, titles))
		}
	}
	if got := w.titles(news); len(got) != len(writes) {
		wrong = append(wrong, fmt.Sprintf("news %q", got))
	}
	return wrong
}
