package controlplane_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"

	"platform.dev/platform/server/controlplane"
)

// handler is an API without its controllers, with one component to build.
func handler(b *testing.B) http.Handler {
	b.Helper()
	s, err := controlplane.New(b.Context(), controlplane.Config{
		Path: filepath.Join(b.TempDir(), "x.db"), Token: token, WebhookSecret: secret,
		Builder: newBuilder(), Runtime: newRuntime(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	h := s.Handler()
	serve(b, h, http.MethodPost, projects, `{"metadata":{"name":"shop"}}`, 201)
	serve(b, h, http.MethodPost, "/api/v1/namespaces/default/components", `{"metadata":{"name":"shop-web"},"spec":{"owner":{"projectName":"shop"},
		"componentType":{"kind":"ClusterComponentType","name":"deployment/static-site"},"autoBuild":true,
		"workflow":{"kind":"ClusterWorkflow","name":"build","parameters":{"repository":{"url":"`+repository+`"}}}}}`, 201)
	return h
}

func serve(b *testing.B, h http.Handler, method, path, body string, want int, headers ...string) {
	req := httptest.NewRequest(method, path, bytes.NewReader([]byte(body)))
	req.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	if w.Code != want {
		raw, _ := io.ReadAll(w.Body)
		b.Fatalf("%s %s: %d %s", method, path, w.Code, raw)
	}
}

// BenchmarkPushToDurableRun is a webhook until its answer, which comes after the run is on disk.
func BenchmarkPushToDurableRun(b *testing.B) {
	for _, c := range []int{1, 8, 32} {
		b.Run(fmt.Sprintf("c=%d", c), func(b *testing.B) {
			h := handler(b)
			body := pushBody("refs/heads/main", sha, "index.html")
			signature := "sha256=" + sign(body)
			var n atomic.Int64
			b.SetParallelism(c)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					serve(b, h, http.MethodPost, intake, body, 200, "X-Signature-256", signature, "X-Gitea-Delivery", fmt.Sprint(n.Add(1)))
				}
			})
		})
	}
}

// BenchmarkRead is one object read.
func BenchmarkRead(b *testing.B) {
	h := handler(b)
	for b.Loop() {
		serve(b, h, http.MethodGet, projects+"/shop", "", 200)
	}
}

// BenchmarkListPage is a page of a hundred among a thousand.
func BenchmarkListPage(b *testing.B) {
	h := handler(b)
	for i := range 1000 {
		serve(b, h, http.MethodPost, "/api/v1/namespaces/default/deploymentpipelines", fmt.Sprintf(`{"metadata":{"name":"p%04d","labels":{"half":"%d"}}}`, i, i%2), 201)
	}
	for b.Loop() {
		serve(b, h, http.MethodGet, "/api/v1/namespaces/default/deploymentpipelines?limit=100&labelSelector=half%3D1", "", 200)
	}
}
