package runtime

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProcessesAreStoppedWithAllTheyHaveStarted(t *testing.T) {
	const daemon = `setsid tail -f /dev/null & tail -f /dev/null & `
	for name, script := range map[string]string{
		"one that ends when it is told to": daemon + `exec "$TEST_BINARY"`,
		"one that does not":                `trap "" TERM; ` + daemon + `"$TEST_BINARY" & wait; wait; wait; exec tail -f /dev/null`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, way := range []string{"Remove", "Close"} {
				t.Run(way, func(t *testing.T) {
					w := newWorkshop(t, func(c *Config) { c.Times.Stop = 100 * time.Millisecond })
					d := w.script(script)
					w.runs(d)
					assert.GreaterOrEqual(t, len(w.left()), 3)
					if way == "Close" {
						require.NoError(t, w.Close())
					} else {
						require.NoError(t, w.Remove(t.Context(), d.Name))
						assert.Nil(t, w.routes.get(route, "/"))
						require.NoError(t, w.Remove(t.Context(), d.Name), "an unknown name is no error")
					}
					assert.Empty(t, w.left())
					for _, dir := range []string{w.processesDir(), w.workDir()} {
						entries, err := os.ReadDir(dir)
						require.NoError(t, err)
						assert.Empty(t, entries, dir)
					}
				})
			}
		})
	}
}

func TestAProcessIsRecordedBeforeItsProgramRuns(t *testing.T) {
	w := newWorkshop(t)
	d := w.script(`grep -q "\"pid\":$$,\"group\":$$,\"started\":\"$(cut -d' ' -f22 /proc/$$/stat)\"" ` + w.processesDir() + `/shop-web-staging.*.json || exit 9
exec "$TEST_BINARY"`)
	assert.Equal(t, "runs "+d.Workload.Container.Image, w.runs(d).Message, "it never failed")
}

func TestAProcessThatCannotBeRecordedDoesNotRun(t *testing.T) {
	w := newWorkshop(t)
	require.NoError(t, os.Remove(w.processesDir()))
	ran := filepath.Join(t.TempDir(), "ran")
	d := w.script("echo >" + ran + `; exec "$TEST_BINARY"`)
	status := w.stands(d, ReasonCrashLoopBackOff)
	assert.Contains(t, status.Message, "record process of shop-web-staging")
	_, err := os.Stat(ran)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.Mkdir(w.processesDir(), 0o700))
	w.runs(d)
	assert.Len(t, w.left(), 1)
	assert.Len(t, w.ports, 1, "ports of what did not run are free again")
}

func TestWhateverIsAskedForAtOnceNothingIsLeft(t *testing.T) {
	w := newWorkshop(t, func(c *Config) { c.Times.Drain = time.Millisecond })
	versions := []Deployment{w.server("v1"), w.server("v2"), w.script("exit 1"), staging(w.site("a site"))}
	var wg sync.WaitGroup
	for i := range 3 {
		for j := range 2 {
			wg.Go(func() {
				for n := range 8 {
					d := versions[(i+3*j+n)%len(versions)]
					d.Component = fmt.Sprintf("web-%d", i)
					d.Name = d.Component + "-staging"
					status, err := w.Apply(t.Context(), d)
					assert.NoError(t, err)
					assert.NotEqual(t, ReasonPathTaken, status.Reason, status.Message)
					if n%3 == j {
						assert.NoError(t, w.Remove(t.Context(), d.Name))
					}
				}
			})
		}
	}
	wg.Wait()
	require.NoError(t, w.Close())
	assert.Empty(t, w.left())
	assert.Empty(t, w.alive)
	assert.Empty(t, w.ports)
	entries, err := os.ReadDir(w.processesDir())
	require.NoError(t, err)
	assert.Empty(t, entries)
	_, err = w.Apply(t.Context(), versions[0])
	require.ErrorIs(t, err, errClosed)
}
