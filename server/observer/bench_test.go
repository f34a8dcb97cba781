package observer_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"platform.dev/platform/server/observer"
)

// BenchmarkLog is a line on its way from a build or a process: it must not wait for the disk.
func BenchmarkLog(b *testing.B) {
	s, err := observer.New(b.Context(), observer.Config{Path: b.TempDir() + "/telemetry.db", Token: token})
	require.NoError(b, err)
	defer s.Close()
	line := []observer.Line{{At: time.Now(), Text: "link \"style.css\" leads to ./style.css"}}
	for b.Loop() {
		if err := s.Log(b.Context(), testing1, line); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFullStore asks a store that is full of lines of many runs for the last forty of one stage.
func BenchmarkFullStore(b *testing.B) {
	const runs, each = 500, 200
	s, err := observer.New(b.Context(), observer.Config{Path: b.TempDir() + "/telemetry.db", Token: token})
	require.NoError(b, err)
	defer s.Close()
	at := time.Now().Add(-time.Minute)
	for run := range runs {
		lines := make([]observer.Line, each)
		for i := range lines {
			lines[i] = observer.Line{At: at.Add(time.Duration(i) * time.Millisecond), Text: fmt.Sprintf("line %d of run %d", i, run)}
		}
		labels := map[string]string{"ci_stage": "test", "component": "shop-web", "project": "shop", "run": fmt.Sprint("shop-web-run-", run)}
		require.NoError(b, s.Log(b.Context(), labels, lines))
		if run%50 == 49 {
			require.NoError(b, s.Sweep(b.Context()))
			_ = reading(b, s, `{run="none"}`) // has what is buffered written
		}
	}
	b.ResetTimer()
	for b.Loop() {
		if got := reading(b, s, `{run="shop-web-run-7",ci_stage="test"}`); len(got) == 0 {
			b.Fatal("no answer")
		}
	}
}

// reading asks the store's handler and returns the body.
func reading(b *testing.B, s *observer.Server, query string) string {
	b.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, ask(query, "limit", "40"), nil))
	require.Equal(b, http.StatusOK, w.Code, w.Body.String())
	return w.Body.String()
}
