package outgoing_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient/outgoing"
)

// ask makes one GET and tells what came back and how often the server was asked.
func ask(t *testing.T, retries int, log *slog.Logger, serve http.HandlerFunc) (resp *http.Response, asked int64) {
	t.Helper()
	var count atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count.Add(1)
		serve(w, r)
	}))
	defer s.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
	require.NoError(t, err)
	c := outgoing.Client(outgoing.Config{Transport: s.Client().Transport, Timeout: 5 * time.Second, Retries: retries, Log: log})
	resp, err = outgoing.Standard(c).Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp, count.Load()
}

func TestAFailureIsTriedAgainAndTheLastAnswerPassedOn(t *testing.T) {
	var said bytes.Buffer
	resp, asked := ask(t, 2, slog.New(slog.NewTextHandler(&said, nil)), func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, "no answer from the part")
	})
	assert.EqualValues(t, 3, asked)
	assert.Equal(t, http.StatusBadGateway, resp.StatusCode)
	body, err := outgoing.Read(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, "no answer from the part", string(body), "its words reach the caller")
	assert.Empty(t, said.String(), "the caller tells, once")
}

func TestARefusalIsAskedForOnce(t *testing.T) {
	resp, asked := ask(t, 2, nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusConflict) })
	assert.EqualValues(t, 1, asked)
	assert.Equal(t, http.StatusConflict, resp.StatusCode)
}

func TestARedirectIsAnAnswer(t *testing.T) {
	resp, asked := ask(t, 2, nil, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) })
	assert.EqualValues(t, 1, asked, "the credentials go nowhere else")
	assert.Equal(t, http.StatusFound, resp.StatusCode)
}

func TestAnAnswerIsReadUpToItsLimit(t *testing.T) {
	largest := strings.Repeat("x", outgoing.MaxAnswer)
	body, err := outgoing.Read(strings.NewReader(largest))
	require.NoError(t, err)
	assert.Len(t, body, outgoing.MaxAnswer)
	_, err = outgoing.Read(strings.NewReader(largest + "x"))
	require.ErrorIs(t, err, outgoing.ErrTooLarge)
}
