package flow

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestASurfaceThatIsNotToBeReliedOnSaysWhy(t *testing.T) {
	s := newSurface(t)
	asked := func() (int, string) {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil)) // without a token
		return w.Code, w.Body.String()
	}
	status, said := asked()
	assert.Equal(t, http.StatusOK, status, "where nothing could tell")
	assert.Equal(t, "ok\n", said)

	var ill error
	s.cfg.Health = func() error { return ill }
	status, said = asked()
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "ok\n", said)

	ill = errors.New("no pass has ended since 11:58:00 UTC, 2 min ago")
	status, said = asked()
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Equal(t, "no pass has ended since 11:58:00 UTC, 2 min ago\n", said)
}
