package runtime

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// texts are the lines' texts.
func texts(lines []LogLine) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.Text
	}
	return out
}

func TestALogKeepsItsLastLinesWithinItsBound(t *testing.T) {
	const limit = 10_000
	l := &logs{dir: t.TempDir(), limit: limit, open: map[string]*logFile{}}
	t.Cleanup(func() { assert.NoError(t, l.closeAll()) })
	for n := range 1000 {
		require.NoError(t, l.write("web", LogLine{Stream: "stdout", Text: fmt.Sprintf("line %d", n)}))
		if n == 500 {
			require.NoError(t, l.close("web"), "the next line opens it again")
		}
	}
	require.NoError(t, l.write("other", LogLine{Text: "apart"}))
	lines, err := l.read("web", 1<<30)
	require.NoError(t, err)
	for i, text := range texts(lines) {
		assert.Equal(t, fmt.Sprintf("line %d", 1000-len(lines)+i), text)
	}
	kept := int64(0)
	newer, older := l.paths("web")
	for _, path := range []string{newer, older} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		kept += info.Size()
		assert.Equal(t, os.FileMode(0o600), info.Mode())
	}
	assert.LessOrEqual(t, kept, int64(limit))
	assert.Greater(t, kept, int64(limit/2)-200)
	last, err := l.read("web", 3)
	require.NoError(t, err)
	assert.Equal(t, []string{"line 997", "line 998", "line 999"}, texts(last))
	none, err := l.read("web", 0)
	require.NoError(t, err)
	assert.Empty(t, none)
}

func TestALineThatACrashCutShortIsLeftOut(t *testing.T) {
	l := &logs{dir: t.TempDir(), limit: 10_000, open: map[string]*logFile{}}
	require.NoError(t, l.write("web", LogLine{Text: "whole"}))
	require.NoError(t, l.closeAll())
	path, _ := l.paths("web")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{"at":"2026-`)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	lines, err := l.read("web", 10)
	require.NoError(t, err)
	assert.Equal(t, []string{"whole"}, texts(lines))
	require.NoError(t, l.write("web", LogLine{Text: "after"}))
	require.NoError(t, l.closeAll())
	lines, err = l.read("web", 10)
	require.NoError(t, err)
	assert.Equal(t, []string{"whole", "after"}, texts(lines))
}

func TestLogsOfNamesThatDoNotRunAreForgotten(t *testing.T) {
	l := &logs{dir: t.TempDir(), limit: 1000, open: map[string]*logFile{}}
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"gone", "runs", "fresh", "written"} {
		require.NoError(t, l.write(name, LogLine{Text: strings.Repeat("x", 300)}))
		require.NoError(t, l.write(name, LogLine{Text: strings.Repeat("y", 300)}), "a second file")
		require.NoError(t, l.close(name))
	}
	require.NoError(t, l.write("written", LogLine{Text: "z"}))
	t.Cleanup(func() { assert.NoError(t, l.closeAll()) })
	all, err := filepath.Glob(filepath.Join(l.dir, "*"))
	require.NoError(t, err)
	for _, path := range all {
		if !strings.Contains(path, "fresh") {
			require.NoError(t, os.Chtimes(path, old, old))
		}
	}
	require.NoError(t, l.forget(time.Now().Add(-time.Minute), func(name string) bool { return name == "runs" }))
	left := map[string]bool{}
	all, err = filepath.Glob(filepath.Join(l.dir, "*"))
	require.NoError(t, err)
	for _, path := range all {
		name, _, _ := strings.Cut(filepath.Base(path), ".")
		left[name] = true
	}
	assert.Equal(t, map[string]bool{"runs": true, "fresh": true, "written": true}, left)
}

func TestLinesAreReadAsTheyCome(t *testing.T) {
	long := strings.Repeat("l", 3*lineBytes)
	var got []string
	eachLine(strings.NewReader("one\r\n\ntwo\xff\n"+long+"\nlast"), func(text string) { got = append(got, text) })
	assert.Equal(t, []string{"one", "", "two\uFFFD", long[:lineBytes], "last"}, got)
}

func TestCollectForgetsTheLogsOfWhatNoLongerRuns(t *testing.T) {
	w := newWorkshop(t, func(c *Config) { c.KeepLogs = time.Hour })
	runs, gone := w.server("v1"), w.server("v2")
	gone.Name, gone.Component = "shop-api-staging", "shop-api"
	w.runs(runs)
	w.runs(gone)
	require.NoError(t, w.Remove(t.Context(), gone.Name))
	require.NoError(t, w.Close())
	w.restart()
	kept := func(name string) int {
		_, err := w.Collect(t.Context())
		require.NoError(t, err)
		lines, err := w.Log(t.Context(), name, 10)
		require.NoError(t, err)
		return len(lines)
	}
	assert.Equal(t, 2, kept(gone.Name), "kept for a while")
	all, err := filepath.Glob(filepath.Join(w.logs.dir, "*"))
	require.NoError(t, err)
	for _, path := range all {
		require.NoError(t, os.Chtimes(path, time.Time{}, time.Now().Add(-2*time.Hour)))
	}
	assert.Zero(t, kept(gone.Name))
	assert.NotZero(t, kept(runs.Name), "still deployed")
}
