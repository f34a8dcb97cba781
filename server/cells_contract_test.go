package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient/flowtest"
	"platform.dev/platform/flowclient/kubernetes"
	"platform.dev/platform/server/gateway"
	"platform.dev/platform/server/runtime"
	"platform.dev/platform/server/web"
)

// celled is the embedded runtime, reached through l by transport, one quota a page.
func celled(t *testing.T, l net.Listener, transport *http.Transport) flowtest.Celled {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	r, err := runtime.New(t.Context(), runtime.Config{Dir: t.TempDir(), Domain: Domain, Routes: gateway.New(gateway.Config{}), Log: log})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var group sync.WaitGroup
	group.Go(func() { _ = web.Serve(ctx, l, r.Handler(), log) }) // its error would fail the requests
	t.Cleanup(func() {
		cancel()
		transport.CloseIdleConnections()
		group.Wait()
		require.NoError(t, r.Close())
	})
	client, err := kubernetes.New(kubernetes.Config{BaseURL: "http://" + l.Addr().String(), PageSize: 1, Transport: transport})
	require.NoError(t, err)
	return flowtest.Celled{Cells: client, Limit: func(_ *testing.T, namespace string, quotas ...map[string]string) {
		c := runtime.Cell{Name: namespace, Namespace: namespace, Quotas: map[string]map[string]string{}}
		for i, hard := range quotas {
			c.Quotas[fmt.Sprint("quota-", i)] = hard
		}
		r.ApplyCell(c)
	}}
}

func TestTheCellsContractInProcess(t *testing.T) {
	flowtest.Cells(t, func(t *testing.T) flowtest.Celled {
		memory := web.NewMemory()
		return celled(t, memory, memory.Transport())
	})
}

func TestTheCellsContractOverASocket(t *testing.T) {
	flowtest.Cells(t, func(t *testing.T) flowtest.Celled {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		return celled(t, l, &http.Transport{})
	})
}

func TestTheCellsContractAgainstARealCluster(t *testing.T) {
	base := os.Getenv("PLATFORM_TEST_KUBERNETES_URL")
	if base == "" {
		t.Skip("PLATFORM_TEST_KUBERNETES_URL is not set: no real cluster to run the contract against (PLATFORM_TEST_KUBERNETES_TOKEN_FILE holds a token that may make namespaces, PLATFORM_TEST_KUBERNETES_CA_FILE its certificates)")
	}
	c := cluster{base: strings.TrimSuffix(base, "/"), token: os.Getenv("PLATFORM_TEST_KUBERNETES_TOKEN_FILE"), ca: os.Getenv("PLATFORM_TEST_KUBERNETES_CA_FILE")}
	client, err := kubernetes.New(kubernetes.Config{BaseURL: base, TokenFile: c.token, CAFile: c.ca, PageSize: 1})
	require.NoError(t, err)
	flowtest.Cells(t, func(*testing.T) flowtest.Celled { return flowtest.Celled{Cells: client, Limit: c.limit} })
}

// cluster is a real one, in which the contract makes namespaces.
type cluster struct{ base, token, ca string }

// limit makes a namespace with its quotas until the test ends, and waits until their status is complete.
func (c cluster) limit(t *testing.T, namespace string, quotas ...map[string]string) {
	t.Helper()
	c.write(t, http.MethodPost, "/api/v1/namespaces", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}})
	t.Cleanup(func() { c.write(t, http.MethodDelete, "/api/v1/namespaces/"+namespace, map[string]any{}) })
	path := "/api/v1/namespaces/" + namespace + "/resourcequotas"
	for i, hard := range quotas {
		c.write(t, http.MethodPost, path, map[string]any{
			"apiVersion": "v1", "kind": "ResourceQuota", "metadata": map[string]any{"name": fmt.Sprint("quota-", i)}, "spec": map[string]any{"hard": hard}})
	}
	for i, hard := range quotas {
		require.Eventually(t, func() bool {
			var q struct {
				Status struct{ Hard, Used map[string]string }
			}
			require.NoError(t, json.Unmarshal(c.write(t, http.MethodGet, fmt.Sprint(path, "/quota-", i), nil), &q))
			return len(q.Status.Hard) == len(hard) && len(q.Status.Used) == len(hard)
		}, 30*time.Second, 200*time.Millisecond)
	}
}

// write sends one request that must be accepted.
func (c cluster) write(t *testing.T, method, path string, body any) []byte {
	t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, c.base+path, bytes.NewReader(raw))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{DisableKeepAlives: true}
	if c.token != "" {
		token, err := os.ReadFile(c.token)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	if c.ca != "" {
		pem, err := os.ReadFile(c.ca)
		require.NoError(t, err)
		pool := x509.NewCertPool()
		require.True(t, pool.AppendCertsFromPEM(pem))
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	resp, err := transport.RoundTrip(req)
	require.NoError(t, err)
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 2, resp.StatusCode/100, "%s %s: %s", method, path, answer)
	return answer
}
