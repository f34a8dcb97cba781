package flow

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient/store"
	"platform.dev/platform/flowclient/wire"
)

// appended is the limit of keeping things: a file that lines are appended to,
// and one fdatasync for all that came during the one before.
type appended struct {
	file *os.File

	mu      sync.Mutex
	synced  sync.Cond
	lines   []byte
	came    int
	kept    int
	syncing bool
	err     error
}

// keep returns when the line is on disk.
func (a *appended) keep(line string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines = append(append(a.lines, line...), '\n')
	a.came++
	for own := a.came; a.kept < own; {
		if a.syncing {
			a.synced.Wait()
			continue
		}
		lines, upto := a.lines, a.came
		a.lines, a.syncing = nil, true
		a.mu.Unlock()
		_, err := a.file.Write(lines)
		if err == nil {
			err = syscall.Fdatasync(int(a.file.Fd()))
		}
		a.mu.Lock()
		a.kept, a.syncing, a.err = upto, false, err
		a.synced.Broadcast()
	}
	return a.err
}

// kept are a row's two ways to the disk, for one benchmark each.
func kept(b *testing.B) (*appended, *store.Store) {
	rows, err := store.Open(b.Context(), filepath.Join(b.TempDir(), "flow.db"), nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, rows.Close()) })
	file, err := os.Create(filepath.Join(b.TempDir(), "lines"))
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, file.Close()) })
	lines := &appended{file: file}
	lines.synced.L = &lines.mu
	return lines, rows
}

// BenchmarkADeliveryRecorded records ids of deliveries, c at a time, against appending them.
func BenchmarkADeliveryRecorded(b *testing.B) {
	for _, c := range []int{1, 8, 32} {
		b.Run(fmt.Sprintf("c=%d", c), func(b *testing.B) {
			lines, rows := kept(b)
			versus(b, c, lines.keep, func(id string) error {
				_, err := rows.Record(b.Context(), id, hookKind, time.Now())
				return err
			})
		})
	}
}

// BenchmarkAPushToItsRow sends pushes of 10 kB over HTTP, c at a time, until
// the answer, which comes after the row is on disk, against the least webhook that appends.
func BenchmarkAPushToItsRow(b *testing.B) {
	sent := pushOf(b, 10240)
	for _, c := range []int{1, 8, 32} {
		b.Run(fmt.Sprintf("c=%d", c), func(b *testing.B) {
			lines, rows := kept(b)
			transport := &http.Transport{MaxIdleConnsPerHost: c}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			to := func(h http.Handler) func(id string) error {
				srv := httptest.NewServer(h)
				b.Cleanup(srv.Close)
				return func(id string) error { return post(b, client, srv.URL, sent, id) }
			}
			versus(b, c, to(least(lines.keep)), to(hookOf(b, rows)))
		})
	}
}

// post sends a delivery under an id and wants it taken.
func post(b *testing.B, client *http.Client, base string, sent call, id string) error {
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, base+wire.HookPath, strings.NewReader(sent.body))
	if err != nil {
		return err
	}
	r.Header = sent.with("X-Gitea-Delivery", id).header
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil { // else the connection is not used again
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the answer is %s", resp.Status)
	}
	return nil
}
