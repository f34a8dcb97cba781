package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/fixtures"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/flowtest"
)

// troubled is a control plane that fails, hangs or counts as a test says.
type troubled struct {
	flowclient.ControlPlane
	reads atomic.Int64
	get   atomic.Pointer[func(ctx context.Context, kind flowclient.Kind, name string) error]
}

func (p *troubled) Get(ctx context.Context, kind flowclient.Kind, name string) (flowclient.Object, error) {
	if kind != flowclient.KindEnvironment { // which the pass over pull requests reads
		p.reads.Add(1)
	}
	if f := p.get.Load(); f != nil {
		if err := (*f)(ctx, kind, name); err != nil {
			return flowclient.Object{}, err
		}
	}
	return p.ControlPlane.Get(ctx, kind, name)
}

func (p *troubled) trouble(f func(ctx context.Context, kind flowclient.Kind, name string) error) {
	if f == nil {
		p.get.Store(nil)
		return
	}
	p.get.Store(&f)
}

func through(p *troubled, change ...func(*flowclient.Deps)) func(*flowclient.Deps) {
	return func(d *flowclient.Deps) {
		p.ControlPlane, d.ControlPlane = d.ControlPlane, p
		for _, f := range change {
			f(d)
		}
	}
}

func TestAProjectThatFailsHoldsUpNoOtherAndIsTriedAgain(t *testing.T) {
	p := &troubled{}
	automatically(t, func(w *autoWorld) {
		p.trouble(func(_ context.Context, _ flowclient.Kind, name string) error {
			if name == "blog-web-staging" {
				return &flowclient.Upstream{Part: "control plane", Err: errors.New("connection refused")}
			}
			return nil
		})
		w.stage("blog-web", commitA)
		w.stage("shop-web", commitA)
		w.requireRuns("shop-web", commitA)
		w.requireRuns("blog-web", "")
		assert.Contains(w, w.state("blog").Error, "control plane: connection refused")
		assert.Empty(w, w.state("shop").Error)
		p.trouble(nil)
		w.later(30 * time.Second)
		w.requireRuns("blog-web", commitA)
		assert.Empty(w, w.state("blog").Error)
	}, through(p))
}

func TestAProjectThatHangsIsGivenUpAndSaid(t *testing.T) {
	p := &troubled{}
	automatically(t, func(w *autoWorld) {
		w.stage("blog-web", commitA)
		w.stage("shop-web", commitA)
		w.later(time.Second)
		p.trouble(func(ctx context.Context, _ flowclient.Kind, name string) error {
			if name == "blog" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		w.stage("blog-web", commitB)
		w.later(time.Second)
		w.stage("shop-web", commitB)
		w.later(25 * time.Second)
		w.requireRuns("shop-web", commitB)
		assert.Contains(w, w.state("blog").Error, "not decided within 20s")
		require.NoError(w, w.Health(time.Now()), "the passes go on")
	}, through(p))
}

func TestAPassThatHangsIsSeen(t *testing.T) {
	p := &troubled{}
	automatically(t, func(w *autoWorld) {
		w.stage("shop-web", commitA)
		require.NoError(w, w.Health(time.Now()))
		release := make(chan struct{})
		p.trouble(func(context.Context, flowclient.Kind, string) error { <-release; return nil })
		w.Changed(flowclient.KindReleaseBinding, "shop-web-staging")
		w.later(91 * time.Second)
		err := w.Health(time.Now())
		assert.EqualError(w, err, "the automatic pass is overdue: the one that began on Sat 1 Jan 00:00:00 UTC, 1 min 31 s ago has not ended; look at what it waits for in the log, and restart the controller if it stays so")
		close(release)
		synctest.Wait()
		require.NoError(w, w.Health(time.Now()))
	}, through(p))
}

func TestAControllerThatStandsStillIsOverdue(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		s, err := w.State(w.Context())
		require.NoError(w, err)
		assert.False(w, s.Overdue)
		w.stop()
		time.Sleep(90 * time.Second)
		require.NoError(w, w.Health(time.Now()))
		time.Sleep(time.Second)
		s, err = w.State(w.Context())
		require.NoError(w, err)
		assert.True(w, s.Overdue)
		assert.Equal(w, "the automatic pass is overdue: none was completed since Sat 1 Jan 00:00:00 UTC, 1 min 31 s ago; look at the log, and restart the controller if it stays so", s.Health)
		w.start()
	})
}

func TestAControlPlaneThatTellsNothingIsComparedAtEachPass(t *testing.T) {
	p := &troubled{}
	automatically(t, func(w *autoWorld) {
		w.plane.Watch(nil)
		for i := range 20 {
			w.stage(fmt.Sprintf("p%c-web", 'a'+i), commitA)
		}
		w.later(30 * time.Second)
		w.requireRuns("pa-web", commitA)
		w.later(30 * time.Second) // what the first promotions wrote is looked at, once
		before := p.reads.Load()
		w.later(10 * time.Minute)
		assert.Equal(w, before, p.reads.Load(), "nothing changed: nothing is decided")
		w.stage("pa-web", commitB)
		w.plane.SetReady("pb-web-staging", false)
		w.later(30 * time.Second)
		w.requireRuns("pa-web", commitB)
		assert.Less(w, p.reads.Load()-before, int64(30), "what changed is decided, and nothing else")
	}, through(p, func(d *flowclient.Deps) { d.Settings.Watched = false }))
}

func TestAWriteThatNobodyToldOfIsFoundInTheEnd(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.stage("shop-web", commitA)
		w.later(time.Second)
		w.plane.Watch(nil)
		w.stage("shop-web", commitB)
		w.later(10*time.Minute + 30*time.Second)
		w.requireRuns("shop-web", commitB)
	})
}

func TestTwoPassesAtOnceHaveOneEffect(t *testing.T) {
	b := newBench(t)
	for i := range 3 {
		commit := []string{commitA, commitB, commitC}[i]
		require.NoError(t, b.plane.Stage("shop", "shop-web", commit, 0))
		var all sync.WaitGroup
		for range 4 {
			c := flowtest.NewController(t, b.plane, b.store, fixtures.Templates())
			for range 2 {
				all.Go(func() { assert.NoError(t, c.Pass(t.Context(), true)) })
			}
		}
		all.Wait()
		require.Len(t, b.events(flowclient.EventPromoted), i+1)
		o, err := b.plane.Get(t.Context(), flowclient.KindReleaseBinding, "shop-web-production")
		require.NoError(t, err)
		want := []string{"", "shop-web-aaaaaaa", "shop-web-bbbbbbb"}[i]
		assert.Equal(t, want, o.Metadata.Annotations[flowclient.AnnotationDisplaced])
		b.now = b.now.Add(time.Second)
	}
	open, err := b.store.Open(t.Context())
	require.NoError(t, err)
	assert.Empty(t, open)
}

func TestWhatCannotBeAnnouncedIsDecidedAllTheSame(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.stage("shop-web", commitA)
		w.later(time.Second)
		w.lock("shop-web", commitB)
		w.stage("shop-web", commitB)
		w.requireRuns("shop-web", commitA)
		w.stage("shop-web", commitC)
		w.requireRuns("shop-web", commitC)
	}, func(d *flowclient.Deps) { d.Journal = noNotes{d.Journal} })
}

func TestWithoutItsMemoryNothingMovesByItself(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.stage("shop-web", commitA)
		w.later(time.Hour)
		w.requireRuns("shop-web", "")
		s, err := w.State(w.Context())
		require.NoError(w, err)
		assert.Contains(w, s.Notes[0], "no memory for an automatic pass")
	}, func(d *flowclient.Deps) { d.Standings = nil })
}

func TestMergesThatStarveASoakAreSaid(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.project("shop", map[string]string{flowclient.AnnotationSoak: "30m"})
		for i := range 12 {
			commit := []string{commitA, commitB, commitC}[i%3]
			require.NoError(w, w.store.Note(w.Context(), flowclient.Event{Key: fmt.Sprint("build/", i), Kind: flowclient.EventBuildPassed, At: time.Now(), Project: "shop", Component: "shop-web", Body: []byte(`{}`)}))
			w.stage("shop-web", commit)
			w.later(10 * time.Minute)
		}
		assert.Regexp(w, `^About 6\.0 merges an hour into shop meet a soak of 30 min: .* about 0\.3 promotions an hour`, w.state("shop").Starvation)
		w.requireRuns("shop-web", "")
		w.later(20 * time.Minute)
		w.requireRuns("shop-web", commitC)
		assert.Empty(w, w.state("shop").Starvation)
	})
}

// push commits to the project shop.
func (w *autoWorld) push(text string) flowclient.Commit {
	w.Helper()
	c, err := w.Commit(w.Context(), flowclient.CommitRequest{Origin: w.origin(), Project: "shop", Message: text, Files: map[string]string{"x": text}})
	require.NoError(w, err)
	synctest.Wait()
	return c
}

func TestALockHoldsAndItsEndLetsGoAtOnce(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		_, err := w.Scaffold(w.Context(), flowclient.ScaffoldRequest{Origin: w.origin(), Template: "static", Project: "shop"})
		require.NoError(w, err)
		synctest.Wait()
		w.annotate(flowclient.KindProject, "shop", flowclient.AnnotationSoak, "10m")
		w.annotate(flowclient.KindProject, "shop", flowclient.AnnotationPromotion, "auto")
		second := w.push("second")
		request := flowclient.LockRequest{Origin: w.origin(), Component: "shop-web", Commit: second.SHA, Reason: "breaks the cart"}
		_, err = w.SetLock(w.Context(), request)
		require.NoError(w, err)
		synctest.Wait()
		w.auto(flowclient.EventAutoLeftOut, 1)
		w.later(time.Hour)
		w.requireRuns("shop-web", "")
		request.Origin = w.origin()
		_, err = w.ClearLock(w.Context(), request)
		require.NoError(w, err)
		synctest.Wait()
		w.requireRuns("shop-web", second.SHA)
	})
}

func TestAProjectOfTheSameNameIsAnother(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.rolledBack()
		w.later(time.Second)
		w.lock("shop-api", commitA)
		w.stage("shop-api", commitA)
		w.auto(flowclient.EventAutoLeftOut, 1)
		require.NoError(w, w.plane.Delete(w.Context(), flowclient.KindProject, "shop"))
		synctest.Wait()
		holds, err := w.store.Holds(w.Context())
		require.NoError(w, err)
		assert.Empty(w, holds)
		episodes, err := w.store.Episodes(w.Context(), "")
		require.NoError(w, err)
		assert.Empty(w, episodes)
	})
}

func TestAPromotionIsRecordedWithWhatItLookedAt(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.project("shop", map[string]string{flowclient.AnnotationSoak: "1m"})
		w.stage("shop-api", commitA)
		w.stage("shop-web", commitA)
		w.stage("shop-cron", commitA)
		w.lock("shop-api", commitA)
		w.later(time.Minute)
		w.requireRuns("shop-web", commitA)
		intents, err := w.store.IntentsOf(w.Context(), "shop", 10)
		require.NoError(w, err)
		require.Len(w, intents, 1)
		var plan struct {
			Automatic bool `json:"automatic"`
			Inputs    struct {
				Components []struct {
					Name string `json:"name"`
				} `json:"components"`
			} `json:"inputs"`
		}
		require.NoError(w, json.Unmarshal(intents[0].Body, &plan))
		assert.True(w, plan.Automatic)
		var names []string
		for _, f := range plan.Inputs.Components {
			names = append(names, f.Name)
		}
		assert.Equal(w, []string{"shop-api", "shop-cron", "shop-web"}, names)
	})
}

func TestWhatAReviewEnvironmentIsMadeOfIsLeftAlone(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.stage("shop-web", commitA)
		w.project("blog", map[string]string{flowclient.AnnotationPromotion: "manual"})
		w.stage("blog-web", commitB)
		w.annotate(flowclient.KindComponent, "blog-web", flowclient.AnnotationOwned, "true")
		w.annotate(flowclient.KindReleaseBinding, "blog-web-staging", flowclient.AnnotationOwned, "true")
		w.annotate(flowclient.KindProject, "blog", flowclient.AnnotationPromotion, "auto")
		w.later(time.Hour)
		w.restart()
		w.later(time.Hour)
		w.requireRuns("blog-web", "")
		assert.Empty(w, w.state("blog").Components)
		require.Len(w, w.told(flowclient.EventPromoted), 1)
	})
}
