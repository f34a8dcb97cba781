package bots_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
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

// impatient answers a question as soon as it stands in the chat, once, in whatever life that is.
type impatient struct {
	world *world
	word  func(code string)
	said  map[string]bool
}

// answer says the word to the newest question, unless it was said.
func (p *impatient) answer() {
	for _, s := range p.world.chat.Bots(shop) {
		if code := botstest.Code(s.Message); code != "" && !p.said[code] {
			p.said[code] = true
			p.word(code)
		}
	}
}

func TestDyingAtEveryWriteOfAConfirmationLosesAndDoublesNothing(t *testing.T) {
	for _, c := range []struct {
		name    string
		word    string
		in      commands.Place // where it is said
		changes bool           // the plan changes once, after the first question
		effects []string
		kinds   []string // of what stands in the place at the end
		mark    string
		known   int // writes that there are at least
	}{
		// hear, decided twice, ask, two puts, shown, finish; hear, conclude, decided, put, effect, put, two marks, finish; try and sent of each post, sent of each edit and mark.
		{"confirmed", "confirm ", shop, false, []string{"test:platform:1"}, []string{"bots.confirmed", "test.done"}, bots.ReactionDone, 17 + 2*2 + 4},
		{"confirmed elsewhere", "confirm ", other, false, []string{"test:platform:1"}, []string{"bots.confirmed", "test.done"}, bots.ReactionDone, 17 + 2*2 + 4},
		{"called off", "cancel ", shop, false, nil, []string{"bots.cancelled"}, bots.ReactionRefused, 14 + 2 + 4},
		{"changed, then confirmed", "confirm ", shop, true, []string{"test:platform:1"}, []string{"bots.changed", "bots.confirmed", "test.done"}, bots.ReactionDone, 25 + 2*3 + 6},
	} {
		for _, repeated := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, told again %t", c.name, repeated), func(t *testing.T) {
				writes, died := 0, true
				for n := 1; died && !t.Failed(); n++ {
					var life *botstest.Mortal
					synctest.Test(t, func(t *testing.T) {
						var done effects
						var changed atomic.Bool
						w := newWorld(t, forced(&done, &life, &changed))
						w.repeated = repeated
						w.chat.SetLatency(10 * time.Millisecond)
						person := &impatient{world: w, said: map[string]bool{}, word: func(code string) {
							changed.Store(c.changes)
							w.chat.Say("10", c.in, c.word+code)
						}}
						over := func() bool {
							person.answer()
							return len(w.kinds(shop)) >= len(c.kinds) && w.settled() && w.titled(c.kinds) && (!repeated || w.over())
						}
						asked := w.chat.Say("10", shop, "force")
						life = botstest.NewMortal(w.store, n)
						stop := w.start(life)
						until(t, "death or the end", func() bool { return isClosed(life.Died()) || over() })
						stop()
						writes, died = max(writes, len(life.Writes())), isClosed(life.Died())

						again := life
						life = nil
						stop = w.start(nil)
						until(t, "settled", over)
						stop()
						life = again

						assert.Equal(t, c.effects, done.list(), "effects after dying at write %d: %v", n, life.Writes())
						assert.Equal(t, c.kinds, w.kinds(shop), "after dying at write %d: %v", n, life.Writes())
						assert.Equal(t, []string{c.mark}, w.marks(asked), "after dying at write %d: %v", n, life.Writes())
					})
				}
				require.GreaterOrEqual(t, writes, c.known, "every known durable write was died at")
			})
		}
	}
}

func TestWhateverFailsWhatIsConfirmedIsDoneOnceAndAnsweredOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := drawOrdeal(rt)
		for i := range o.Faults {
			o.Faults[i].After %= 10 * time.Second // else questions lapse before they are seen
		}
		var wrong []string
		synctest.Test(t, func(t *testing.T) { wrong = o.confirm(t) })
		if len(wrong) > 0 {
			rt.Fatalf("%v", wrong)
		}
	})
}

// within tells whether cond comes to hold within ten minutes of the bubble's time.
func within(cond func() bool) bool {
	for range 6000 {
		synctest.Wait()
		if cond() {
			return true
		}
		<-time.After(100 * time.Millisecond)
	}
	return false
}

// confirm plays the ordeal with questions that a person confirms as soon as they
// stand in the chat, and tells what went wrong.
func (o ordeal) confirm(t *testing.T) (wrong []string) {
	var done effects
	var life *botstest.Mortal
	var changed atomic.Bool
	w := newWorld(t, forced(&done, &life, &changed))
	w.chat.Fail(o.Faults...)
	places := map[commands.Place]int{}
	var keys []string
	for i, p := range o.Places {
		place := commands.Place{Stream: "shop", Topic: fmt.Sprint(p)}
		w.chat.Say("10", place, "force")
		places[place]++
		keys = append(keys, fmt.Sprintf("test:platform:%d", i+1))
	}
	said := map[string]bool{}
	over := func() bool {
		left := len(keys)
		for place := range places {
			for _, s := range w.chat.Bots(place) {
				if code := botstest.Code(s.Message); code != "" && !said[code] {
					said[code] = true
					w.chat.Say("10", place, "confirm "+code)
				}
				if s.Message.Kind == "test.done" {
					left--
				}
			}
		}
		return left <= 0 && w.settled()
	}
	for _, n := range o.Lives {
		life = botstest.NewMortal(w.store, n)
		stop := w.start(life)
		ended := within(func() bool { return isClosed(life.Died()) || over() })
		stop()
		if !ended {
			return append(wrong, fmt.Sprintf("a life of %d writes neither ends nor settles: %v", n, life.Writes()))
		}
	}
	life = nil
	stop := w.start(nil)
	if !within(over) {
		wrong = append(wrong, fmt.Sprintf("never settled: %v, %v", w.store.Outcomes(), w.kinds(commands.Place{Stream: "shop", Topic: "0"})))
	}
	stop()
	did := done.list()
	slices.Sort(did)
	if !slices.Equal(did, keys) {
		wrong = append(wrong, fmt.Sprintf("effects %v, want %v", did, keys))
	}
	for place, n := range places {
		count := map[string]int{}
		for _, kind := range w.kinds(place) {
			count[kind]++
		}
		if count["test.done"] != n || count["bots.confirmed"] != n || len(count) != 2 {
			wrong = append(wrong, fmt.Sprintf("in %s: %v, want %d of each", place.Topic, count, n))
		}
	}
	return wrong
}

// titled tells whether the bot's messages are of these kinds.
func (w *world) titled(kinds []string) bool {
	for i, kind := range w.kinds(shop) {
		if i >= len(kinds) || kind != kinds[i] {
			return false
		}
	}
	return true
}

type forcedArgs struct{}

func (*forcedArgs) Forced() bool { return true }

// forced is always to be confirmed; its effect is a durable write of the life, its
// plan is another once changed.
func forced(done *effects, life **botstest.Mortal, changed *atomic.Bool) commands.Command {
	c := commands.Typed(commands.Command{
		Bot: "platform", Verb: "force", Summary: "go on", Examples: []string{"force"}, Effect: commands.Write, Action: "component:force",
	}, func(ctx context.Context, req commands.Request, _ *forcedArgs, reply commands.Reply) error {
		effect := func() error { done.do(req.Key); return nil }
		if *life == nil {
			_ = effect()
		} else if err := (*life).Write("effect", effect); err != nil {
			return err
		}
		return reply.Answer(ctx, said("test.done", "forced for "+req.Key, markup.Done))
	})
	return commands.Planned(c, func(context.Context, commands.Request, *forcedArgs) (commands.Plan, error) {
		plan := commands.Plan{Message: said("test.plan", "would force", markup.Notice), Fingerprint: "one"}
		if changed.Load() {
			plan.Fingerprint = "two"
		}
		return plan, nil
	})
}
