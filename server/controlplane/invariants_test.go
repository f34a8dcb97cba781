package controlplane_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/flowtest"
	"platform.dev/platform/flowclient/openchoreo"
	"platform.dev/platform/flowclient/store"
	"platform.dev/platform/server/controlplane"
	"platform.dev/platform/server/web"
)

// invariantRuns is how many runs of the machine of invariants are made on the
// embedded control plane; PLATFORM_TEST_RUNS says otherwise, and so does
// -rapid.checks. flowclient/store plays many more over a plane in memory.
const invariantRuns = "40"

// aRun is how long a run takes by the clock of the test, which stands still meanwhile.
const aRun = 300 * time.Millisecond

// The controller that is tried works on the embedded control plane, through the
// client, over its listener in memory; the calm one beside it on a plane of the
// test kit. Both end alike: the two planes are one to the controller.
func TestTheInvariantsOfPromotionHoldOnTheEmbeddedControlPlane(t *testing.T) {
	f := flag.Lookup("rapid.checks")
	if was := f.Value.String(); was == f.DefValue {
		wanted := os.Getenv("PLATFORM_TEST_RUNS")
		if wanted == "" {
			wanted = invariantRuns
		}
		require.NoError(t, f.Value.Set(wanted))
		t.Cleanup(func() { assert.NoError(t, f.Value.Set(was)) })
	}
	dir, files := t.TempDir(), 0
	copied := func(rt *rapid.T, of []byte) string {
		files++
		path := filepath.Join(dir, fmt.Sprintf("%d.db", files))
		require.NoError(rt, os.WriteFile(path, of, 0o600))
		return path
	}
	synctest.Test(t, func(t *testing.T) { // its Wait is what tells that the control plane has nothing to do any more
		memory, plane := emptyStore(t, dir), seededPlane(t, dir)
		flowtest.Invariants(struct{ rapid.TB }{t}, func(rt *rapid.T, now func() time.Time) flowtest.Ground {
			return embeddedGround(rt, copied(rt, plane), now)
		}, func(rt *rapid.T) (flowtest.Memory, func()) {
			path := copied(rt, memory)
			s, err := store.Open(context.Background(), path, nil)
			require.NoError(rt, err)
			return s, func() {
				require.NoError(rt, s.Close())
				require.NoError(rt, os.Remove(path))
			}
		})
	})
}

// emptyStore is a flow.db of the newest schema: migrating one takes longer than playing with it.
func emptyStore(t *testing.T, dir string) []byte {
	path := filepath.Join(dir, "flow.db")
	s, err := store.Open(t.Context(), path, nil)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	return raw
}

// seededPlane is a control plane's file with what every project needs.
func seededPlane(t *testing.T, dir string) []byte {
	path := filepath.Join(dir, "controlplane.db")
	g := embeddedGround(t, path, time.Now)
	for _, o := range []struct {
		kind       flowclient.Kind
		name, spec string
	}{
		{flowclient.KindEnvironment, flowclient.Staging, `{"isProduction":false}`},
		{flowclient.KindEnvironment, flowclient.Production, `{"isProduction":true}`},
		{flowclient.KindDeploymentPipeline, "default", `{"promotionPaths":[{"sourceEnvironmentRef":{"kind":"Environment","name":"staging"},"targetEnvironmentRefs":[{"kind":"Environment","name":"production"}]}]}`},
		{flowclient.KindClusterComponentType, "service", `{"workloadType":"deployment","resources":[{"id":"pod","template":{"kind":"Pod"}}]}`},
		{flowclient.KindClusterWorkflow, "build", `{"runTemplate":{"kind":"Workflow"}}`},
	} {
		_, err := g.Create(t.Context(), flowclient.Object{Kind: o.kind, Metadata: flowclient.Metadata{Name: o.name}, Spec: json.RawMessage(o.spec)})
		require.NoError(t, err, o.name)
	}
	require.NoError(t, g.Close())
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	return raw
}

// embeddedGround is a control plane at work on a file, with a runtime that the machine plays.
func embeddedGround(t require.TestingT, path string, now func() time.Time) flowtest.Ground {
	var told sync.Mutex
	var changed func(flowclient.Kind, string)
	plays := &playedRuntime{unready: map[string]bool{}, serves: map[string]string{}}
	ctx, cancel := context.WithCancel(context.Background())
	api, err := controlplane.New(ctx, controlplane.Config{
		Path: path, Token: token, WebhookSecret: secret, Builder: noBuilds{}, Runtime: plays, Now: now,
		Changed: func(kind flowclient.Kind, name string) {
			told.Lock()
			defer told.Unlock()
			if changed != nil {
				changed(kind, name)
			}
		},
	})
	require.NoError(t, err)
	memory := web.NewMemory()
	var parts sync.WaitGroup
	ended := make(chan error, 2)
	parts.Go(func() { ended <- api.Run(ctx) })
	parts.Go(func() { ended <- web.Serve(ctx, memory, api.Handler(), slog.New(slog.DiscardHandler)) })
	transport := memory.Transport()
	client, err := openchoreo.New(openchoreo.Config{BaseURL: "http://controlplane", Namespace: "default", Token: token, Transport: transport})
	require.NoError(t, err)
	synctest.Wait()
	return flowtest.Ground{
		ControlPlane: client, Settle: synctest.Wait,
		Same: strings.NewReplacer(": the release is being brought into service", ""),
		Watch: func(f func(flowclient.Kind, string)) {
			told.Lock()
			defer told.Unlock()
			changed = f
		},
		SetReady: func(binding string, ready bool) {
			plays.set(binding, ready)
			api.Wake(flowclient.KindReleaseBinding, binding)
		},
		Close: func() error {
			time.Sleep(aRun) // nothing else lets time go by here, and shrinking a failure ends by time
			cancel()
			transport.CloseIdleConnections()
			parts.Wait()
			return errors.Join(<-ended, <-ended, api.Close(), memory.Close())
		},
	}
}

// playedRuntime has everything Ready that it was not told otherwise of.
type playedRuntime struct {
	mu      sync.Mutex
	unready map[string]bool
	serves  map[string]string // release, by binding
}

func (r *playedRuntime) set(binding string, ready bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unready[binding] = !ready
}

func (r *playedRuntime) Apply(_ context.Context, d controlplane.Deployment) (controlplane.DeploymentStatus, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.serves[d.Name] != d.Release {
		r.unready[d.Name] = false
	}
	r.serves[d.Name] = d.Release
	return controlplane.DeploymentStatus{Ready: !r.unready[d.Name], Endpoints: []flowclient.EndpointURL{{Name: "http", Type: "HTTP", ExternalURLs: map[string]flowclient.URL{
		"http": {Scheme: "http", Host: d.Environment + "-" + d.Project + ".apps.platform.localhost", Port: 19080, Path: "/" + d.Component + "-http"},
	}}}}, nil
}

func (*playedRuntime) Remove(context.Context, string) error               { return nil }
func (*playedRuntime) ApplyCell(context.Context, controlplane.Cell) error { return nil }
func (*playedRuntime) RemoveCell(context.Context, string) error           { return nil }

// noBuilds is a builder that nothing is asked of: the machine makes releases itself.
type noBuilds struct{}

func (noBuilds) Ensure(context.Context, controlplane.Build) (controlplane.BuildStatus, error) {
	return controlplane.BuildStatus{}, errors.New("nothing is built here")
}

func (noBuilds) Log(context.Context, string, string) ([]flowclient.LogLine, error) { return nil, nil }
