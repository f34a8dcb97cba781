package runtime

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func TestVisitorsOfAProcessThatIsStartedForTheFirstTimeAreToldSo(t *testing.T) {
	w := newWorkshop(t)
	d := w.script("exec tail -f /dev/null")
	status := w.apply(d)
	assert.Equal(t, ReasonStarting, status.Reason)
	assert.Empty(t, status.Endpoints, "it does not answer yet")
	resp := w.routes.get(route, "/a")
	require.NotNil(t, resp, "its path leads somewhere")
	assert.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	assert.Equal(t, "2", resp.Header.Get("Retry-After"))
	assert.Contains(t, body(t, resp), "It is being started; ask again in a few seconds.")

	// Another version in its place, with other paths: those are the ones that lead there.
	d.Workload.Endpoints = map[string]flowclient.Endpoint{"api": {Type: "HTTP", Port: 8080}}
	assert.Equal(t, ReasonStarting, w.apply(d).Reason)
	const api = "staging-shop.apps.platform.localhost/shop-web-api"
	assert.Nil(t, w.routes.get(route, "/"))
	assert.Equal(t, http.StatusServiceUnavailable, w.routes.get(api, "/").StatusCode)

	w.runs(w.server("v1"))
	assert.Equal(t, "v1 /", w.text())
	assert.Nil(t, w.routes.get(api, "/"), "nothing is left of what was awaited")
	require.NoError(t, w.Remove(t.Context(), d.Name))
	assert.Nil(t, w.routes.get(route, "/"))
}

func TestWhatIsAwaitedNoMoreLeadsNowhere(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, w *workshop, d Deployment){
		"removed": func(t *testing.T, w *workshop, d Deployment) { require.NoError(t, w.Remove(t.Context(), d.Name)) },
		"replaced by what cannot run": func(t *testing.T, w *workshop, d Deployment) {
			status := w.apply(w.service(d.Workload.Container.Image, []string{"no-such-program"}))
			assert.Equal(t, ReasonCommandInvalid, status.Reason)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkshop(t)
			d := w.script("exec tail -f /dev/null")
			w.apply(d)
			require.NotNil(t, w.routes.get(route, "/"))
			end(t, w, d)
			assert.Nil(t, w.routes.get(route, "/"))
		})
	}
}

func TestASiteTakesTheRoutesOfAProcessThatNeverWasReady(t *testing.T) {
	w := newWorkshop(t)
	w.apply(w.script("exec tail -f /dev/null"))
	require.True(t, w.apply(staging(w.site("a site"))).Ready)
	assert.Equal(t, "a site", w.text())
}
