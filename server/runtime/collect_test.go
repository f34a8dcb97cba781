package runtime

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// digests are the images on disk.
func (b *bench) digests() []string {
	b.t.Helper()
	found, err := b.images()
	require.NoError(b.t, err)
	return found
}

func digestOf(ref string) string { return strings.Split(ref, "@")[1] }

func TestImagesAreCollectedOnceNothingHasRunThemForAWhile(t *testing.T) {
	b := newBench(t)
	first, second := b.site("first"), b.site("second")
	b.apply(staging(first))
	production := staging(first)
	production.Name, production.Environment = "shop-web-production", "production"
	b.apply(production)
	b.apply(staging(second))
	collect := func() []string {
		removed, err := b.Collect(t.Context())
		require.NoError(t, err)
		return removed
	}
	b.clock.add(2 * time.Hour)
	assert.Empty(t, collect(), "production runs the first")

	b.apply(func() Deployment { d := production; d.Workload.Container.Image = second; return d }())
	b.clock.add(59 * time.Minute)
	assert.Empty(t, collect(), "kept for a rollback")
	b.clock.add(time.Minute)
	assert.Equal(t, []string{digestOf(first)}, collect())
	assert.Equal(t, []string{digestOf(second)}, b.digests())
	assert.Equal(t, "second", b.text())

	require.True(t, b.apply(staging(first)).Ready, "pulled again when it is wanted again")
	assert.Equal(t, "first", b.text())
}

func TestAfterARestartCollectSparesWhatWasDeployed(t *testing.T) {
	b := newBench(t)
	first, second := b.site("first"), b.site("second")
	b.apply(staging(first))
	b.apply(staging(second))
	require.NoError(t, os.MkdirAll(filepath.Join(b.imagesDir(), unpackingPrefix+"1", "x"), 0o755), "a pull cut short")
	b.restart()
	assert.ElementsMatch(t, []string{digestOf(first), digestOf(second)}, b.digests())
	b.clock.add(2 * time.Hour)
	removed, err := b.Collect(t.Context()) // before any Apply
	require.NoError(t, err)
	assert.Equal(t, []string{digestOf(first)}, removed)
	entries, err := os.ReadDir(b.imagesDir())
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}

func TestAnImageThatAnswersARequestIsNotCollected(t *testing.T) {
	b := newBench(t)
	first, second := b.site("first"), b.site("second")
	b.apply(staging(first))
	b.routes.mu.Lock()
	old := b.routes.routes[route].handler
	b.routes.mu.Unlock()
	writing, goOn := make(chan struct{}), make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		old.ServeHTTP(&slow{ResponseRecorder: httptest.NewRecorder(), writing: writing, goOn: goOn}, httptest.NewRequest(http.MethodGet, "/", nil))
	}()
	<-writing
	b.apply(staging(second))
	b.clock.add(2 * time.Hour)
	removed, err := b.Collect(t.Context())
	require.NoError(t, err)
	assert.Empty(t, removed)
	close(goOn)
	<-finished
	removed, err = b.Collect(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{digestOf(first)}, removed)
}

// slow is a client that takes its time.
type slow struct {
	*httptest.ResponseRecorder
	writing, goOn chan struct{}
}

func (s *slow) WriteHeader(status int) {
	close(s.writing)
	<-s.goOn
	s.ResponseRecorder.WriteHeader(status)
}

func TestAnUnfitImageIsCollectedToo(t *testing.T) {
	b := newBench(t)
	ref := b.push(image(t, "/site", []file{page("site/about.html", "x")}))
	require.Equal(t, ReasonIndexMissing, b.apply(staging(ref)).Reason)
	b.clock.add(2 * time.Hour)
	removed, err := b.Collect(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{digestOf(ref)}, removed)
}
