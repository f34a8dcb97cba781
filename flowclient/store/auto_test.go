package store_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

const stagingPage = "http://staging-shop.apps.platform.localhost:19080/shop-web-http"

func TestWhatNothingKeepsMovesByItself(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.stage("shop-web", commitA)
		commit, by := w.runs("shop-web")
		assert.Equal(w, commitA, commit)
		assert.Equal(w, "auto", by)
		w.later(time.Second)
		w.stage("shop-web", commitB)
		w.requireRuns("shop-web", commitB)
		events := w.told(flowclient.EventPromoted)
		require.Len(w, events, 2)
		var body flowclient.MoveEvent
		require.NoError(w, json.Unmarshal(events[1].Body, &body))
		assert.Equal(w, flowclient.Automatic, body.Origin.Who)
		assert.Regexp(w, `^auto/shop/2000-01-01T00:00:01Z/`, body.Origin.Key)
		require.Len(w, body.Outcome.Components, 1)
		assert.Equal(w, "shop-web: production runs bbbbbbb now; it ran aaaaaaa before.", body.Outcome.Components[0].Sentence)
		assert.Nil(w, w.stands("shop-web"), "nothing differs any more")
		w.later(time.Hour)
		assert.Len(w, w.told(flowclient.EventPromoted), 2)
	})
}

func TestEachGateKeepsWhatItIsThereFor(t *testing.T) {
	set := func(annotation, value string) func(*autoWorld) {
		return func(w *autoWorld) { w.annotate(flowclient.KindProject, "shop", annotation, value) }
	}
	for name, c := range map[string]struct {
		arrange  func(w *autoWorld)
		standing string
		gate     string
		event    string // told once; "" for none
		says     string
	}{
		"a lock leaves it out":     {func(w *autoWorld) { w.lock("shop-web", commitB) }, flowclient.StandLeftOut, "lock", flowclient.EventAutoLeftOut, "is locked in every environment by sre"},
		"a closed window parks it": {set(flowclient.AnnotationProductionWindow, "Mon-Fri 09:00-17:00 UTC"), flowclient.StandParked, "window", flowclient.EventAutoParked, "opens Mon 3 Jan 09:00 UTC"},
		"a full cell refuses it":   {func(w *autoWorld) { w.quota(200*mi, 150*mi) }, flowclient.StandBackedOff, "backoff", flowclient.EventAutoRefused, "asked again in 10 min"},
		"a broken page keeps it": {func(w *autoWorld) {
			set(flowclient.AnnotationPromotionCheck, "http")(w)
			w.plane.Answer(stagingPage, 502)
		}, flowclient.StandLeftAlone, "check", flowclient.EventAutoLeftAlone, "answers 502"},
		"its soak":                   {set(flowclient.AnnotationSoak, "1h"), flowclient.StandWaiting, "soak", "", "for less than a second of 1 h"},
		"by hand":                    {set(flowclient.AnnotationPromotion, "manual"), flowclient.StandManual, "", "", "shop is promoted by hand; promote it to move shop-web bbbbbbb."},
		"production out of service":  {func(w *autoWorld) { w.undeploy("shop-web-production") }, flowclient.StandOutOfService, "service", "", "is not put back by itself"},
		"a mode that is none":        {set(flowclient.AnnotationPromotion, "later"), flowclient.StandBroken, "promotion", flowclient.EventAutoBroken, `the promotion annotation "later" of shop is neither auto nor manual`},
		"a soak that is no duration": {set(flowclient.AnnotationSoak, "a while"), flowclient.StandBroken, "soak", flowclient.EventAutoBroken, `the soak "a while" of shop is no duration`},
		"a window that is none":      {set(flowclient.AnnotationProductionWindow, "at night"), flowclient.StandBroken, "window", flowclient.EventAutoBroken, `"at night" cannot be read`},
		"a check that is none":       {set(flowclient.AnnotationPromotionCheck, "tcp"), flowclient.StandBroken, "check", flowclient.EventAutoBroken, `the promotion check "tcp" of shop is not known`},
	} {
		t.Run(name, func(t *testing.T) {
			automatically(t, func(w *autoWorld) {
				w.stage("shop-web", commitA)
				w.requireRuns("shop-web", commitA)
				w.later(time.Second)
				c.arrange(w)
				w.stage("shop-web", commitB)
				w.requireRuns("shop-web", commitA)
				s := w.stands("shop-web")
				require.NotNil(w, s)
				assert.Equal(w, c.standing, s.Standing)
				assert.Equal(w, c.gate, s.Gate)
				assert.Contains(w, s.Sentence, c.says)
				assert.Equal(w, commitB, s.ToCommit)
				w.later(9 * time.Minute)
				w.requireRuns("shop-web", commitA)
				for _, kind := range []string{flowclient.EventAutoLeftOut, flowclient.EventAutoParked, flowclient.EventAutoRefused, flowclient.EventAutoLeftAlone, flowclient.EventAutoBroken} {
					count := 0
					if kind == c.event {
						count = 1
					}
					body := w.auto(kind, count)
					if count == 0 {
						continue
					}
					assert.Equal(w, []string{"shop-web"}, body.Set)
					require.Len(w, body.Moves, 1)
					assert.Equal(w, commitA, body.Moves[0].FromCommit)
					assert.Equal(w, commitB, body.Moves[0].ToCommit)
					assert.NotEmpty(w, body.Gates)
					assert.NotEmpty(w, body.Decision)
				}
			})
		})
	}
}

// quota limits the memory of shop's cell in production.
func (w *autoWorld) quota(hard, used int64) {
	w.Helper()
	require.NoError(w, w.plane.Limit("shop", flowclient.Quota{Namespace: "dp-shop", Hard: flowclient.Quantities{flowclient.Memory: hard}, Used: flowclient.Quantities{flowclient.Memory: used}}))
	synctest.Wait()
}

func TestWhatIsNotReadyWaitsUntilItIs(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.project("shop", map[string]string{flowclient.AnnotationSoak: "5m"})
		w.stage("shop-web", commitA)
		w.plane.SetReady("shop-web-staging", false)
		w.later(6 * time.Minute)
		w.requireRuns("shop-web", "")
		assert.Equal(w, "ready", w.stands("shop-web").Gate)
		w.plane.SetReady("shop-web-staging", true)
		synctest.Wait()
		w.requireRuns("shop-web", commitA)
	})
}

func TestItWakesAtTheInstantAtWhichAGateOpens(t *testing.T) {
	began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		arrange func(w *autoWorld)
		at      time.Time
	}{
		"the soak is over": {func(w *autoWorld) { w.project("shop", map[string]string{flowclient.AnnotationSoak: "7m13s"}) }, began.Add(7*time.Minute + 13*time.Second)},
		"the window opens": {func(w *autoWorld) {
			w.project("shop", map[string]string{flowclient.AnnotationProductionWindow: "Sat-Sun 01:07-02:00 UTC"})
		}, began.Add(67 * time.Minute)},
		"both, one after the other": {func(w *autoWorld) {
			w.project("shop", map[string]string{flowclient.AnnotationProductionWindow: "Sun 01:07-02:00 UTC", flowclient.AnnotationSoak: "24h"})
		}, began.Add(25*time.Hour + 7*time.Minute)},
		"a freeze ends": {func(w *autoWorld) {
			w.project("shop", nil)
			_, err := w.SetFreeze(w.Context(), flowclient.FreezeRequest{Origin: w.origin(), Until: began.Add(3*time.Hour + time.Second), Reason: "stocktaking"})
			require.NoError(w, err)
		}, began.Add(3*time.Hour + time.Second)},
		"the backoff ends": {func(w *autoWorld) {
			w.project("shop", nil)
			w.quota(200*mi, 150*mi)
			time.AfterFunc(7*time.Minute+time.Second, func() {
				assert.NoError(w, w.plane.Limit("shop", flowclient.Quota{Namespace: "dp-shop", Hard: flowclient.Quantities{flowclient.Memory: 1 << 30}}))
			})
		}, began.Add(10 * time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			automatically(t, func(w *autoWorld) {
				c.arrange(w)
				w.stage("shop-web", commitA)
				w.requireRuns("shop-web", "")
				wake := w.state("shop").Wake
				require.NotNil(w, wake)
				w.later(c.at.Sub(began) - 1)
				w.requireRuns("shop-web", "")
				w.later(1)
				w.requireRuns("shop-web", commitA)
				require.True(w, w.told(flowclient.EventPromoted)[0].At.Equal(c.at))
			})
		})
	}
}

func TestCapacityIsAskedOnceForTheSetAndTellsItsArithmeticOnce(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.project("shop", map[string]string{flowclient.AnnotationSoak: "1m"})
		w.quota(1000*mi, 300*mi)
		w.stageOf("shop-api", commitA, 300*mi)
		w.stageOf("shop-web", commitA, 200*mi)
		w.later(time.Minute)
		body := w.auto(flowclient.EventAutoRefused, 1)
		assert.Equal(w, []string{"shop-api", "shop-web"}, body.Set)
		assert.Equal(w, "shop in production has no room for shop-api and shop-web: memory needs 500Mi + 307Mi margin; 300Mi of 1000Mi used; short by 107Mi. shop-api alone would fit. Free something there, raise the quota, or force.", body.Sentence)
		w.requireRuns("shop-api", "")
		w.requireRuns("shop-web", "")
		asked := w.plane.Asked()

		w.later(5 * time.Minute)
		w.stageOf("shop-cron", commitA, 10*mi)
		w.later(4*time.Minute + 59*time.Second)
		w.requireRuns("shop-cron", "")
		assert.Equal(w, "capacity refused shop-api and shop-web; it is asked again in 1 s. shop in production has no room for shop-api, shop-cron and shop-web: memory needs 510Mi + 307Mi margin; 300Mi of 1000Mi used; short by 117Mi. shop-api and shop-cron would fit without the others. Free something there, raise the quota, or force.",
			w.stands("shop-cron").Sentence, "the set is not split by time either")
		w.auto(flowclient.EventAutoRefused, 1)
		assert.Less(w, w.plane.Asked()-asked, 5)

		w.later(time.Second)
		body = w.auto(flowclient.EventAutoRefused, 2)
		assert.Equal(w, []string{"shop-api", "shop-cron", "shop-web"}, body.Set, "another set is told again")
		w.later(10 * time.Minute)
		w.auto(flowclient.EventAutoRefused, 2)

		w.quota(1000*mi, 290*mi)
		w.later(10 * time.Minute)
		assert.Contains(w, w.auto(flowclient.EventAutoRefused, 3).Sentence, "290Mi of 1000Mi", "other numbers are told again")

		w.quota(1100*mi, 0)
		w.later(10 * time.Minute)
		for _, component := range []string{"shop-api", "shop-cron", "shop-web"} {
			w.requireRuns(component, commitA)
		}
		require.Len(w, w.told(flowclient.EventPromoted), 1, "the set moved together")
		last, err := w.store.Episodes(w.Context(), "")
		require.NoError(w, err)
		assert.Empty(w, last)
	})
}

func TestABackoffAndAnEpisodeOutliveTheProcess(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.project("shop", nil)
		w.quota(200*mi, 150*mi)
		w.stage("shop-web", commitA)
		w.auto(flowclient.EventAutoRefused, 1)
		w.later(3 * time.Minute)
		w.quota(1000*mi, 0)
		w.restart()
		w.later(7*time.Minute - 1)
		w.requireRuns("shop-web", "")
		require.Equal(w, "2000-01-01 00:00:00 +0000 UTC", w.stands("shop-web").Since.UTC().String())
		w.quota(200*mi, 150*mi)
		w.later(1)
		w.auto(flowclient.EventAutoRefused, 1)
		w.restart()
		w.later(time.Hour)
		w.auto(flowclient.EventAutoRefused, 1)
	})
}

func TestAPersonNeedNotWaitForTheBackoff(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.project("shop", nil)
		w.quota(200*mi, 150*mi)
		w.stage("shop-web", commitA)
		w.auto(flowclient.EventAutoRefused, 1)
		out, err := w.Promote(w.Context(), flowclient.Promotion{Origin: w.origin(), Project: "shop", Force: true})
		require.NoError(w, err)
		require.Equal(w, flowclient.Promoted, out.Components[0].Result)
		w.later(time.Hour)
		_, by := w.runs("shop-web")
		assert.Equal(w, "sre", by)
		assert.Nil(w, w.stands("shop-web"))
	})
}

func TestParkedIsToldOncePerEpisode(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.project("shop", map[string]string{flowclient.AnnotationProductionWindow: "Mon-Fri 09:00-17:00 UTC"})
		w.stage("shop-web", commitA)
		body := w.auto(flowclient.EventAutoParked, 1)
		assert.Contains(w, body.Sentence, "opens Mon 3 Jan 09:00 UTC, in 2 d 9 h")
		require.NotNil(w, body.Flips)
		w.later(time.Hour)
		w.restart()
		w.later(time.Hour)
		s := w.stands("shop-web")
		assert.Equal(w, flowclient.StandParked, s.Standing)
		assert.Equal(w, "2000-01-01 00:00:00 +0000 UTC", s.Since.UTC().String(), "the parked time, also over a restart")
		assert.Contains(w, s.Sentence, "in 2 d 7 h", "told as of now")
		w.auto(flowclient.EventAutoParked, 1)

		w.stage("shop-web", commitB)
		w.auto(flowclient.EventAutoParked, 2)
		w.later(time.Second)
		w.stage("shop-web", commitA)
		w.auto(flowclient.EventAutoParked, 3)
		w.later(time.Second)
		w.annotate(flowclient.KindProject, "shop", flowclient.AnnotationProductionWindow, "Mon-Fri 10:00-17:00 UTC")
		w.auto(flowclient.EventAutoParked, 4)
		w.later(2*24*time.Hour + 8*time.Hour)
		w.requireRuns("shop-web", commitA)
		w.auto(flowclient.EventAutoParked, 4)
		require.Len(w, w.told(flowclient.EventPromoted), 1)
	})
}

func TestAComponentThatIsLeftOutKeepsNoOther(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.project("shop", map[string]string{flowclient.AnnotationSoak: "1m"})
		w.stage("shop-web", commitA)
		w.stage("shop-api", commitA)
		w.lock("shop-web", commitA)
		w.later(time.Minute)
		w.requireRuns("shop-api", commitA)
		w.requireRuns("shop-web", "")
		assert.Equal(w, flowclient.StandLeftOut, w.stands("shop-web").Standing)
		_, err := w.store.ClearLocks(w.Context(), "shop-web", commitA, "", "sre", time.Now(), func([]flowclient.Lock) flowclient.Event {
			return flowclient.Event{Key: "cleared", Kind: flowclient.EventLockCleared, At: time.Now(), Body: json.RawMessage(`{}`)}
		})
		require.NoError(w, err)
		w.Changed(flowclient.KindProject, "")
		synctest.Wait()
		w.requireRuns("shop-web", commitA)
	})
}

func TestAPageThatAnswersAgainLetsItsReleaseGo(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.project("shop", map[string]string{flowclient.AnnotationPromotionCheck: "http"})
		w.plane.Answer(stagingPage, 503)
		w.stage("shop-web", commitA)
		w.auto(flowclient.EventAutoLeftAlone, 1)
		w.plane.Answer(stagingPage, 404)
		w.later(30 * time.Second)
		w.requireRuns("shop-web", commitA)
		w.auto(flowclient.EventAutoLeftAlone, 1)
	})
}

// rolledBack promotes A and then B by itself, and rolls back to A.
func (w *autoWorld) rolledBack() {
	w.Helper()
	w.stage("shop-web", commitA)
	w.later(time.Second)
	w.stage("shop-web", commitB)
	w.requireRuns("shop-web", commitB)
	_, err := w.Rollback(w.Context(), flowclient.Promotion{Origin: w.origin(), Project: "shop"})
	require.NoError(w, err)
	synctest.Wait()
	w.requireRuns("shop-web", commitA)
}

func TestARollbackStaysPut(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.rolledBack()
		w.later(30 * 24 * time.Hour)
		w.restart()
		w.later(time.Hour)
		w.requireRuns("shop-web", commitA)
		s := w.stands("shop-web")
		assert.Equal(w, flowclient.StandHeld, s.Standing)
		assert.Contains(w, s.Sentence, "was rolled back by sre")

		w.stage("shop-web", commitC)
		w.requireRuns("shop-web", commitC)
		w.later(time.Second)
		w.stage("shop-web", commitB)
		w.requireRuns("shop-web", commitB)
		holds, err := w.store.Holds(w.Context())
		require.NoError(w, err)
		assert.Empty(w, holds)
	})
}

func TestAPersonsPromotionLiftsTheHold(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.rolledBack()
		_, err := w.Promote(w.Context(), flowclient.Promotion{Origin: w.origin(), Project: "shop"})
		require.NoError(w, err)
		w.requireRuns("shop-web", commitB)
		holds, err := w.store.Holds(w.Context())
		require.NoError(w, err)
		assert.Empty(w, holds)
	})
}

func TestAManualProjectIsLeftAlone(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		_, err := w.Scaffold(w.Context(), flowclient.ScaffoldRequest{Origin: w.origin(), Template: "static", Project: "static-1", Walkthrough: true})
		require.NoError(w, err)
		w.later(time.Hour)
		assert.Empty(w, w.told(flowclient.EventPromoted))
		assert.Equal(w, flowclient.StandManual, w.state("static-1").Components[0].Standing)
	})
}

func TestWhatWasDeletedInProductionIsMadeAgain(t *testing.T) {
	automatically(t, func(w *autoWorld) {
		w.stage("shop-web", commitA)
		w.later(time.Second)
		require.NoError(w, w.plane.Delete(w.Context(), flowclient.KindReleaseBinding, "shop-web-production"))
		synctest.Wait()
		w.requireRuns("shop-web", commitA)
		require.Len(w, w.told(flowclient.EventPromoted), 2)

		require.NoError(w, w.plane.Delete(w.Context(), flowclient.KindProject, "shop"))
		synctest.Wait()
		s, err := w.State(w.Context())
		require.NoError(w, err)
		assert.Empty(w, s.Projects)
		assert.Empty(w, s.PassError)
	})
}
