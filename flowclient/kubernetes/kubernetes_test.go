package kubernetes_test

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/kubernetes"
)

// TestMain asks that every test ends what it began.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const cell = "dp-default-shop-production-1f2e3d4c"

// item is a ResourceQuota as an API server writes it; hard and used are JSON objects.
func item(name, hard, used, more string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":%q,"uid":"0b9b1d7e-8f1f-4b53-9a53-3a0a1f6a3c11","resourceVersion":"812","creationTimestamp":"2026-11-20T06:00:00Z",
		"managedFields":[{"manager":"agent","operation":"Apply","apiVersion":"v1","time":"2026-11-20T06:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:hard":{}}}}]},
		"spec":{"hard":%s%s},"status":{"hard":%s,"used":%s}}`, name, cell, hard, more, hard, used)
}

// page is a ResourceQuotaList as an API server answers it.
func page(next string, items ...string) string {
	more := ""
	if next != "" {
		more = fmt.Sprintf(`,"continue":%q,"remainingItemCount":1`, next)
	}
	return fmt.Sprintf(`{"kind":"ResourceQuotaList","apiVersion":"v1","metadata":{"resourceVersion":"815"%s},"items":[%s]}`, more, strings.Join(items, ","))
}

// failure is a Status as an API server answers it.
func failure(code int, reason, message string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"details":{"kind":"resourcequotas"},"code":%d}`, message, reason, code)
}

// asked is a server that hands its n-th request to serve, and what it was asked.
func asked(t *testing.T, serve func(n int, w http.ResponseWriter, r *http.Request)) (base string, requests *[]*http.Request) {
	t.Helper()
	requests = &[]*http.Request{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*requests = append(*requests, r)
		serve(len(*requests), w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

// answering answers every request alike.
func answering(t *testing.T, status int, body string) (base string, requests *[]*http.Request) {
	return asked(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

func client(t *testing.T, base string, change ...func(*kubernetes.Config)) *kubernetes.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	cfg := kubernetes.Config{BaseURL: base, Transport: transport}
	for _, f := range change {
		f(&cfg)
	}
	c, err := kubernetes.New(cfg)
	require.NoError(t, err)
	return c
}

func TestAQuotaIsReadAsAnAPIServerAnswersIt(t *testing.T) {
	base, requests := answering(t, http.StatusOK, page("",
		item("project-quota", `{"requests.memory":"4Gi","requests.cpu":"2","limits.memory":"8Gi","pods":"20"}`, `{"requests.memory":"3482Mi","requests.cpu":"1100m","limits.memory":"5Gi","pods":"7"}`, ""),
		item("platform-quota", `{"memory":"6Gi","cpu":"1500m"}`, `{"memory":"3482Mi","cpu":"1100m"}`, ""),
		item("jobs", `{"pods":"1"}`, `{"pods":"1"}`, `,"scopes":["Terminating"]`),
		item("idle", `{"pods":"1"}`, `{"pods":"1"}`, `,"scopes":["BestEffort"]`)))
	q, found, err := client(t, base).Quota(t.Context(), cell)
	require.NoError(t, err)
	assert.True(t, found)
	assert.Equal(t, flowclient.Quota{Namespace: cell,
		Hard: flowclient.Quantities{flowclient.Memory: 4 << 30, flowclient.CPU: 1500, "limits.memory": 8 << 30, flowclient.Pods: 20},
		Used: flowclient.Quantities{flowclient.Memory: 3482 << 20, flowclient.CPU: 1100, "limits.memory": 5 << 30, flowclient.Pods: 7}}, q)
	r := (*requests)[0]
	assert.Equal(t, "GET /api/v1/namespaces/"+cell+"/resourcequotas?limit=500", r.Method+" "+r.URL.String())
	assert.Equal(t, "application/json", r.Header.Get("Accept"))
	assert.Empty(t, r.Header.Get("Authorization"), "without a token none is sent")
}

func TestQuotasThatLimitNothingOfAReleaseAreNone(t *testing.T) {
	base, _ := answering(t, http.StatusOK, page("", item("jobs", `{"pods":"1"}`, `{"pods":"1"}`, `,"scopes":["Terminating"]`)))
	_, found, err := client(t, base).Quota(t.Context(), cell)
	require.NoError(t, err)
	assert.False(t, found)
}

func TestEveryPageIsRead(t *testing.T) {
	base, requests := asked(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		next := map[int]string{1: "a+b/c==", 2: "second"}[n]
		_, _ = io.WriteString(w, page(next, item(fmt.Sprint("q", n), fmt.Sprintf(`{"pods":"%d"}`, 10-n), `{"pods":"0"}`, "")))
	})
	q, _, err := client(t, base, func(c *kubernetes.Config) { c.PageSize = 1 }).Quota(t.Context(), cell)
	require.NoError(t, err)
	assert.Equal(t, flowclient.Quantities{flowclient.Pods: 7}, q.Hard)
	var continued []string
	for _, r := range *requests {
		assert.Equal(t, "1", r.URL.Query().Get("limit"))
		continued = append(continued, r.URL.Query().Get("continue"))
	}
	assert.Equal(t, []string{"", "a+b/c==", "second"}, continued)
}

func TestAListThatChangedMeanwhileIsReadAgainOnce(t *testing.T) {
	gone := failure(http.StatusGone, "Expired", "The provided continue parameter is too old")
	for name, times := range map[string]int{"once": 1, "again and again": 100} {
		t.Run(name, func(t *testing.T) {
			base, requests := asked(t, func(_ int, w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Query().Get("continue") == "":
					_, _ = io.WriteString(w, page("next", item("a", `{"pods":"5"}`, `{"pods":"0"}`, "")))
				case times > 0:
					times--
					w.WriteHeader(http.StatusGone)
					_, _ = io.WriteString(w, gone)
				default:
					_, _ = io.WriteString(w, page("", item("b", `{"pods":"4"}`, `{"pods":"0"}`, "")))
				}
			})
			q, found, err := client(t, base).Quota(t.Context(), cell)
			assert.Len(t, *requests, 4)
			if name == "once" {
				require.NoError(t, err)
				assert.True(t, found)
				assert.Equal(t, flowclient.Quantities{flowclient.Pods: 4}, q.Hard)
				return
			}
			var upstream *flowclient.Upstream
			require.ErrorAs(t, err, &upstream)
		})
	}
}

func TestAListWithoutAnEndIsGivenUp(t *testing.T) {
	base, requests := answering(t, http.StatusOK, page("more"))
	_, _, err := client(t, base).Quota(t.Context(), cell)
	require.ErrorContains(t, err, "more than 100 pages")
	assert.Len(t, *requests, 100)
}

func TestWhatCannotBeReadNamesTheDataPlaneAndWhatItSaid(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		says   string
		asked  int
	}{
		"forbidden": {http.StatusForbidden, failure(403, "Forbidden", `resourcequotas is forbidden: User "system:serviceaccount:platform:flow" cannot list resource "resourcequotas" in API group "" in the namespace "x"`),
			`status 403: resourcequotas is forbidden: User "system:serviceaccount:platform:flow" cannot list resource "resourcequotas" in API group "" in the namespace "x"`, 1},
		"unauthorized":               {http.StatusUnauthorized, failure(401, "Unauthorized", "Unauthorized"), "status 401: Unauthorized", 1},
		"no such path":               {http.StatusNotFound, failure(404, "NotFound", "the server could not find the requested resource"), "status 404: the server could not find the requested resource", 1},
		"a proxy's page":             {http.StatusNotFound, "<html>\n <h1>nothing   here</h1></html>", "status 404: <html> <h1>nothing here</h1></html>", 1},
		"a redirect":                 {http.StatusFound, "", "status 302: ", 1},
		"a server that fails":        {http.StatusInternalServerError, failure(500, "InternalError", "etcdserver: request timed out"), "status 500: etcdserver: request timed out", 3},
		"no JSON":                    {http.StatusOK, "<html>", "decode answer", 1},
		"another kind":               {http.StatusOK, `{"kind":"Status","status":"Success"}`, "the answer is no ResourceQuotaList", 1},
		"an amount that is none":     {http.StatusOK, page("", item("q", `{"requests.memory":"much"}`, `{"requests.memory":"0"}`, "")), `ResourceQuota q of namespace ` + cell + `: status.hard[requests.memory] "much" is no quantity`, 1},
		"a use that is none":         {http.StatusOK, page("", item("q", `{"requests.cpu":"1"}`, `{"requests.cpu":"-1"}`, "")), `status.used[requests.cpu] "-1" is no quantity`, 1},
		"a use that is not told":     {http.StatusOK, page("", item("q", `{"pods":"1"}`, `{}`, "")), "its status does not tell how much pods is used; ask again in a minute", 1},
		"a status that is not there": {http.StatusOK, page("", `{"metadata":{"name":"q"},"spec":{"hard":{"pods":"1"}},"status":{}}`), "its status does not tell of pods yet; ask again in a minute", 1},
	} {
		t.Run(name, func(t *testing.T) {
			base, requests := answering(t, c.status, c.body)
			_, found, err := client(t, base).Quota(t.Context(), cell)
			var upstream *flowclient.Upstream
			require.ErrorAs(t, err, &upstream)
			assert.Equal(t, "data plane", upstream.Part)
			assert.ErrorContains(t, err, c.says)
			assert.False(t, found)
			assert.Len(t, *requests, c.asked)
		})
	}
	c := client(t, "http://127.0.0.1:1")
	_, _, err := c.Quota(t.Context(), cell)
	var upstream *flowclient.Upstream
	require.ErrorAs(t, err, &upstream, "nobody answers")
}

func TestATokenIsReadFromItsFileForEachRequest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	base, requests := answering(t, http.StatusOK, page(""))
	c := client(t, base, func(cfg *kubernetes.Config) { cfg.TokenFile = file })
	for _, token := range []string{"first", "second"} {
		require.NoError(t, os.WriteFile(file, []byte(token+"\n"), 0o600))
		_, _, err := c.Quota(t.Context(), cell)
		require.NoError(t, err)
		assert.Equal(t, "Bearer "+token, (*requests)[len(*requests)-1].Header.Get("Authorization"))
	}
	for name, text := range map[string]string{"empty": " \n", "two lines": "a\nb", "a file that is no token": strings.Repeat("x", 65<<10)} {
		t.Run(name, func(t *testing.T) {
			before := len(*requests)
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			_, _, err := c.Quota(t.Context(), cell)
			var upstream *flowclient.Upstream
			require.ErrorAs(t, err, &upstream)
			assert.Len(t, *requests, before, "without its token nothing is asked")
			assert.NotContains(t, err.Error(), strings.TrimSpace(text)+"x")
		})
	}
	require.NoError(t, os.Remove(file))
	_, _, err := c.Quota(t.Context(), cell)
	require.ErrorContains(t, err, "token")
}

func TestTheServersCertificateIsCheckedAgainstTheFile(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page("")) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	file := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	c, err := kubernetes.New(kubernetes.Config{BaseURL: s.URL, CAFile: file, Token: "t"})
	require.NoError(t, err)
	_, _, err = c.Quota(t.Context(), cell)
	require.NoError(t, err)

	_, _, err = client(t, s.URL).Quota(t.Context(), cell)
	require.ErrorContains(t, err, "certificate", "the machine does not know who signed it")
}

func TestAWrongConfigurationNamesTheField(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(file, []byte("no certificate"), 0o600))
	for name, c := range map[string]struct {
		field string
		cfg   kubernetes.Config
	}{
		"no address":                  {"BaseURL", kubernetes.Config{}},
		"no scheme":                   {"BaseURL", kubernetes.Config{BaseURL: "127.0.0.1:6550"}},
		"another scheme":              {"BaseURL", kubernetes.Config{BaseURL: "unix:///run/api"}},
		"a query":                     {"BaseURL", kubernetes.Config{BaseURL: "https://k:6443?x=1"}},
		"credentials":                 {"BaseURL", kubernetes.Config{BaseURL: "https://u:hidden@k:6443"}},
		"two tokens":                  {"Token", kubernetes.Config{BaseURL: "https://k", Token: "a", TokenFile: "b"}},
		"certificates over plain":     {"CAFile", kubernetes.Config{BaseURL: "http://k", CAFile: file}},
		"certificates of two sources": {"CAFile", kubernetes.Config{BaseURL: "https://k", CAFile: file, Transport: http.DefaultTransport}},
		"a file without certificates": {"CAFile", kubernetes.Config{BaseURL: "https://k", CAFile: file}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := kubernetes.New(c.cfg)
			var invalid *flowclient.Invalid
			require.ErrorAs(t, err, &invalid)
			assert.Equal(t, c.field, invalid.Field)
			assert.NotContains(t, err.Error(), "hidden")
		})
	}
	_, err := kubernetes.New(kubernetes.Config{BaseURL: "https://k", CAFile: file + ".none"})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// overloaded is an API server that wants to be asked again in an hour.
type overloaded struct{}

func (overloaded) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"3600"}}, Body: http.NoBody, Request: r}, nil
}

func TestAnOverloadedServerIsNotWaitedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		_, _, err := client(t, "http://overloaded", func(c *kubernetes.Config) { c.Transport = overloaded{} }).Quota(t.Context(), cell)
		var upstream *flowclient.Upstream
		require.ErrorAs(t, err, &upstream)
		assert.Equal(t, 30*time.Second, time.Since(begun))
	})
}
