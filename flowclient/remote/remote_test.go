package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/outgoing"
	"platform.dev/platform/flowclient/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// asked is what arrived at the controller.
type asked struct {
	line, body string
	header     http.Header
}

// controller answers with one answer after the other, the last one for good. A
// status of 0 carries the request out and loses the answer.
func controller(t *testing.T, answers ...answer) (*Client, *[]asked) {
	t.Helper()
	var all []asked
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		all = append(all, asked{r.Method + " " + r.URL.RequestURI(), string(body), r.Header})
		now := answers[min(len(all), len(answers))-1]
		if now.status == 0 {
			panic(http.ErrAbortHandler)
		}
		if now.location != "" {
			w.Header().Set("Location", now.location)
		}
		w.WriteHeader(now.status)
		_, _ = io.WriteString(w, now.body)
	}))
	t.Cleanup(srv.Close)
	c, err := New(Config{BaseURL: srv.URL + "/", Token: "the-token", Transport: &http.Transport{DisableKeepAlives: true}})
	require.NoError(t, err)
	return c, &all
}

type answer struct {
	status         int
	body, location string
}

var origin = flowclient.Origin{Key: "zulip:31", Who: "developer", Link: "http://chat/31", Trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}

func TestAWriteWhoseAnswerWasLostIsSentAgainUnderItsKey(t *testing.T) {
	c, asked := controller(t, answer{}, answer{status: 503, body: `{"error":"stopping"}`},
		answer{status: 200, body: `{"project":"shop","components":[{"component":"shop-web","result":"promoted","sentence":"s"}]}`})
	out, err := c.Promote(t.Context(), flowclient.Promotion{Origin: origin, Project: "shop"})
	require.NoError(t, err)
	assert.Equal(t, "promoted", out.Components[0].Result)
	require.Len(t, *asked, 3)
	for _, a := range *asked {
		assert.Equal(t, "POST /promote", a.line)
		assert.Equal(t, `{"project":"shop"}`, a.body)
		for name, want := range map[string]string{wire.HeaderKey: "zulip:31", wire.HeaderActor: "developer", wire.HeaderLink: "http://chat/31",
			wire.HeaderTrace: origin.Trace, "Authorization": "Bearer the-token", "Content-Type": "application/json"} {
			assert.Equal(t, want, a.header.Get(name), name)
		}
	}
}

func TestWhatIsSentAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		first answer
		times int
	}{
		"a lost answer":           {answer{}, 2},
		"a part that is down":     {answer{status: 502, body: `{"error":"git server: refused","part":"git server"}`}, 2},
		"a controller that stops": {answer{status: 503, body: `{"error":"stopping"}`}, 2},
		"too many requests":       {answer{status: 429}, 2},
		"a refusal":               {answer{status: 409, body: `{"error":"no"}`}, 1},
		"bad input":               {answer{status: 400, body: `{"error":"x","field":"project","value":"","why":"is required"}`}, 1},
		"a wrong token":           {answer{status: 401, body: `{"error":"` + wire.ErrToken.Error() + `"}`}, 1},
		"a success":               {answer{status: 200, body: `{}`}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c, asked := controller(t, tc.first, answer{status: 200, body: `{}`})
			_, err := c.State(t.Context())
			assert.Equal(t, tc.times == 2 || tc.first.status == 200, err == nil, "%v", err)
			assert.Len(t, *asked, tc.times)
		})
	}
}

func TestErrorsComeBackAsTheyWere(t *testing.T) {
	for name, want := range map[string]error{
		"a refusal with its gates": &flowclient.Refusal{Sentence: "locked; clear it.", Gate: "lock", Gates: []flowclient.Verdict{{Gate: "lock", Component: "shop-web", Sentence: "locked"}}},
		"bad input":                &flowclient.Invalid{Field: "commit", Value: "1a2", Why: "is ambiguous"},
		"an unknown name":          &flowclient.NotFound{Kind: "project", Name: "shop"},
		"a wrong token":            wire.ErrToken,
	} {
		t.Run(name, func(t *testing.T) {
			status, body, _ := wire.Status(want, "id")
			c, _ := controller(t, answer{status: status, body: marshal(t, body)})
			_, err := c.Rollback(t.Context(), flowclient.Promotion{Origin: origin, Project: "shop"})
			assert.Equal(t, want, err)
		})
	}
	t.Run("a part that stays down", func(t *testing.T) {
		c, asked := controller(t, answer{status: 502, body: `{"error":"git server: refused","part":"git server"}`})
		_, err := c.Delivery(t.Context())
		var up *flowclient.Upstream
		require.ErrorAs(t, err, &up)
		assert.Equal(t, "git server", up.Part)
		assert.Equal(t, "git server: refused", err.Error())
		assert.Len(t, *asked, 1+retries)
	})
}

func TestAnswersThatAreNoneAreTheControllersFault(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the token went elsewhere: %s", r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	for name, tc := range map[string]struct {
		answer answer
		says   string
	}{
		"a page":           {answer{status: 200, body: "<html>"}, "not what this client reads"},
		"a list":           {answer{status: 200, body: "[]"}, "not what this client reads"},
		"nothing":          {answer{status: 200}, "not what this client reads"},
		"a redirect":       {answer{status: 307, location: elsewhere.URL}, "answered 307"},
		"far too much":     {answer{status: 200, body: `{"x":"` + strings.Repeat("x", outgoing.MaxAnswer) + `"}`}, "larger than 32 MiB"},
		"another's 404":    {answer{status: 404, body: "not here"}, "answered 404: not here"},
		"a fault":          {answer{status: 500, body: `{"error":"its log tells what, under ABC","id":"ABC"}`}, "under ABC"},
		"another's signin": {answer{status: 401, body: "sign in"}, "answered 401"},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := controller(t, tc.answer)
			_, err := c.State(t.Context())
			var up *flowclient.Upstream
			require.ErrorAs(t, err, &up)
			assert.Equal(t, part, up.Part)
			assert.ErrorContains(t, err, tc.says)
			assert.NotContains(t, err.Error(), "the-token")
		})
	}
}

func TestWhatHeadersCannotCarryIsNotSent(t *testing.T) {
	c, asked := controller(t, answer{status: 200, body: `{}`})
	for field, o := range map[string]flowclient.Origin{
		"origin.key":  {Who: "developer"},
		"origin.who":  {Key: "k"},
		"origin.link": {Key: "k", Who: "developer", Link: "not a link"},
	} {
		_, err := c.Commit(t.Context(), flowclient.CommitRequest{Origin: o, Project: "shop"})
		var bad *flowclient.Invalid
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, field, bad.Field)
	}
	_, err := c.Commit(t.Context(), flowclient.CommitRequest{Origin: origin, Message: strings.Repeat("x", wire.MaxBody)})
	require.ErrorIs(t, err, wire.ErrTooLarge)
	assert.Empty(t, *asked)
}

func TestTheActorAsksWhereNobodyIsNamed(t *testing.T) {
	c, asked := controller(t, answer{status: 200, body: `{}`})
	c.actor = "ci"
	_, err := c.SetLock(t.Context(), flowclient.LockRequest{Origin: flowclient.Origin{Key: "k"}})
	require.NoError(t, err)
	_, err = c.SetLock(t.Context(), flowclient.LockRequest{Origin: origin})
	require.NoError(t, err)
	assert.Equal(t, "ci", (*asked)[0].header.Get(wire.HeaderActor))
	assert.Equal(t, "developer", (*asked)[1].header.Get(wire.HeaderActor))
}

func TestACallerWhoGivesUpGetsItsOwnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, _ := controller(t, answer{status: 200, body: `{}`})
	_, err := c.State(ctx)
	require.ErrorIs(t, err, context.Canceled)
	assert.False(t, errors.As(err, new(*flowclient.Upstream)), "nobody but the caller is to blame")
}

func TestAControllerThatIsNotThereIsNamed(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	c, err := New(Config{BaseURL: gone.URL, Token: "t", Transport: &http.Transport{DisableKeepAlives: true}})
	require.NoError(t, err)
	_, err = c.Locks(t.Context())
	var up *flowclient.Upstream
	require.ErrorAs(t, err, &up)
	assert.Equal(t, part, up.Part)
}

func TestConfigNamesWhatIsWrong(t *testing.T) {
	for _, tc := range []struct {
		cfg   Config
		field string
	}{
		{Config{Token: "t"}, "BaseURL"},
		{Config{BaseURL: "127.0.0.1:8090", Token: "t"}, "BaseURL"},
		{Config{BaseURL: "ftp://x", Token: "t"}, "BaseURL"},
		{Config{BaseURL: "http://user:pass@x", Token: "t"}, "BaseURL"},
		{Config{BaseURL: "http://x"}, "Token"},
		{Config{BaseURL: "http://x", Token: "a\nb"}, "Token"},
	} {
		_, err := New(tc.cfg)
		var bad *flowclient.Invalid
		require.ErrorAs(t, err, &bad, fmt.Sprint(tc.cfg))
		assert.Equal(t, tc.field, bad.Field)
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}
