package flowclient

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// changing is a delivery that is another from an instant on.
type changing struct {
	began time.Time
	looks []look
}

type look struct {
	from time.Duration
	build,
	state string // "", "Pending", "Running", "Failed", "Succeeded"; of binding: "", "out", "ready", "Starting", "Crashed"
	commit string
}

const oldCommit, newCommit = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d", "9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c"

func (c *changing) Delivery(context.Context) (Delivery, error) {
	var at look
	for _, l := range c.looks {
		if time.Since(c.began) >= l.from {
			at = l
		}
	}
	if at.state == "unread" {
		return Delivery{}, errors.New("control plane: connection refused")
	}
	d := Deployment{Environment: Staging, State: "Active"}
	if at.commit != "" {
		d.Release, d.Commit = "shop-web-"+at.commit[:8], at.commit
	}
	switch at.state {
	case "out":
		d.State = stateUndeploy
	case "ready":
		d.Ready = true
	default:
		d.Reason = at.state
	}
	component := ComponentDelivery{Project: "shop", Component: "shop-web", Environments: []Deployment{d, {Environment: Production}}}
	if at.build != "" {
		b := Build{Run: "run-1", Commit: newCommit, Phase: at.build, Stages: []Task{{Name: "test", Phase: BuildRunning}}}
		if at.build == BuildFailed || at.build == BuildSucceeded {
			ended := c.began.Add(at.from)
			b.CompletedAt, b.FailedStage = &ended, map[string]string{BuildFailed: "test"}[at.build]
		}
		if at.build == BuildPending {
			b.Stages = nil
		}
		component.LastBuild = &b
	}
	return Delivery{Components: []ComponentDelivery{component}}, nil
}

func TestAWatchEndsWithWhatCameOfIt(t *testing.T) {
	for _, c := range []struct {
		name  string
		looks []look
		told  []string
		end   string
		says  string
		late  bool
		after time.Duration
	}{
		{"ready at once", []look{{0, "", "ready", newCommit}}, nil, WatchReady, "9f8e7d6 is Ready.", false, 0},
		{"a build, a deployment, Ready", []look{{0, BuildPending, "ready", oldCommit}, {2 * time.Second, BuildRunning, "ready", oldCommit},
			{5 * time.Second, BuildSucceeded, "ready", oldCommit}, {6 * time.Second, BuildSucceeded, "Starting", newCommit}, {8 * time.Second, BuildSucceeded, "ready", newCommit}},
			[]string{"9f8e7d6 waits to be built.", "9f8e7d6 is being built, in stage test.", "9f8e7d6 was built and is about to be deployed.", "9f8e7d6 is not Ready yet (Starting)."},
			WatchReady, "9f8e7d6 is Ready.", false, 8 * time.Second},
		{"a build that fails", []look{{0, BuildRunning, "ready", oldCommit}, {3 * time.Second, BuildFailed, "ready", oldCommit}},
			[]string{"9f8e7d6 is being built, in stage test."}, WatchFailed, "the build of 9f8e7d6 failed in stage test.", false, 3 * time.Second},
		{"a build that nothing deploys", []look{{0, BuildSucceeded, "ready", oldCommit}}, []string{"9f8e7d6 was built and is about to be deployed."}, WatchReady, "1a2b3c4 is Ready.", false, time.Minute},
		{"a deployment that keeps failing", []look{{0, "", "Crashed", newCommit}}, []string{"9f8e7d6 is not Ready yet (Crashed)."},
			WatchFailed, "9f8e7d6 is not Ready (Crashed), and does not become so.", false, 30 * time.Second},
		{"a failure that passes", []look{{0, "", "Crashed", newCommit}, {29 * time.Second, "", "ready", newCommit}}, []string{"9f8e7d6 is not Ready yet (Crashed)."},
			WatchReady, "9f8e7d6 is Ready.", false, 29 * time.Second},
		{"patience begins anew with a release", []look{{0, "", "Crashed", oldCommit}, {20 * time.Second, "", "Crashed", newCommit}},
			[]string{"1a2b3c4 is not Ready yet (Crashed).", "9f8e7d6 is not Ready yet (Crashed)."}, WatchFailed, "9f8e7d6 is not Ready (Crashed), and does not become so.", false, 50 * time.Second},
		{"nothing there", []look{{0, "", "", ""}}, []string{"staging runs nothing yet."}, WatchNothing, "staging runs nothing yet.", true, 5 * time.Minute},
		{"slow, and never called a failure", []look{{0, "", "Starting", newCommit}}, []string{"9f8e7d6 is not Ready yet (Starting)."}, WatchStarting, "9f8e7d6 is not Ready yet (Starting).", true, 5 * time.Minute},
		{"out of service", []look{{0, "", "out", newCommit}}, nil, WatchOut, "9f8e7d6 is out of service there; promote it to bring it back.", false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var told []string
				w, err := Watch(t.Context(), &changing{began, c.looks}, WatchRequest{"shop-web", Staging, 5 * time.Minute}, time.Now,
					func(w Watched) error { told = append(told, w.Sentence); return nil })
				require.NoError(t, err)
				assert.Equal(t, c.told, told)
				assert.Equal(t, c.end, w.Phase)
				assert.Equal(t, c.says, w.Sentence)
				assert.Equal(t, c.late, w.Late)
				assert.Equal(t, c.after, time.Since(began))
			})
		})
	}
}

func TestABuildIsNotOnItsWayToWhatIsPromoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := Watch(t.Context(), &changing{time.Now(), []look{{0, BuildRunning, "ready", oldCommit}}}, WatchRequest{"shop-web", Production, time.Second}, time.Now, func(Watched) error { return nil })
		require.NoError(t, err)
		assert.Equal(t, WatchNothing, w.Phase)
		assert.Nil(t, w.Build)
	})
}

func TestAWatchEndsWithItsReaderAndItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := WatchRequest{"shop-web", Staging, time.Minute}
		starting := []look{{0, "", "Starting", newCommit}, {3 * time.Second, "", "unread", ""}}
		quiet := func(Watched) error { return nil }
		_, err := Watch(t.Context(), &changing{time.Now(), starting}, r, time.Now, quiet)
		require.ErrorContains(t, err, "connection refused")
		gone := errors.New("nobody reads it")
		_, err = Watch(t.Context(), &changing{time.Now(), starting}, r, time.Now, func(Watched) error { return gone })
		require.ErrorIs(t, err, gone)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err = Watch(ctx, &changing{time.Now(), starting}, r, time.Now, quiet)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		for _, r := range []WatchRequest{{"shop-wbe", Staging, time.Minute}, {"shop-web", "pr-7", time.Minute}} {
			_, err = Watch(t.Context(), &changing{time.Now(), starting}, r, time.Now, quiet)
			assert.True(t, IsNotFound(err), "%v", err)
		}
	})
}
