package runtime

import (
	"archive/tar"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

func TestAStaticSiteIsServedFromItsImage(t *testing.T) {
	b := newBench(t)
	status := b.apply(staging(b.site("first")))
	require.True(t, status.Ready, status.Message)
	assert.Equal(t, ReasonServing, status.Reason)
	require.Len(t, status.Endpoints, 1)
	assert.Equal(t, "http", status.Endpoints[0].Name)
	assert.Equal(t, flowclient.URL{Scheme: "http", Host: "staging-shop.apps.platform.localhost", Port: 19080, Path: "/shop-web-http/"},
		status.Endpoints[0].ExternalURLs["http"])
	assert.Equal(t, "first", b.text())
}

func TestApplyingAgainChangesNothingAndAsksNobody(t *testing.T) {
	b := newBench(t)
	d := staging(b.site("first"))
	first := b.apply(d)
	asked := b.served()
	assert.Equal(t, first, b.apply(d))
	assert.Equal(t, asked, b.served())
}

func TestANewImageReplacesTheOldAndAFailedOneLeavesItAnswering(t *testing.T) {
	b := newBench(t)
	first, second := b.site("first"), b.site("second")
	b.apply(staging(first))
	require.True(t, b.apply(staging(second)).Ready)
	assert.Equal(t, "second", b.text())

	absent := strings.Split(second, "@")[0] + "@sha256:" + strings.Repeat("0", 64)
	status := b.apply(staging(absent))
	assert.False(t, status.Ready)
	assert.Equal(t, ReasonImageNotFound, status.Reason)
	assert.Contains(t, status.Message, "goes on answering")
	assert.NotEmpty(t, status.Endpoints)
	assert.Equal(t, "second", b.text())

	require.True(t, b.apply(staging(first)).Ready, "back to the first")
	assert.Equal(t, "first", b.text())
}

func TestAfterARestartThePageAnswersWithoutTheRegistry(t *testing.T) {
	b := newBench(t)
	d := staging(b.site("kept"))
	b.apply(d)
	b.down(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	b.restart()
	require.Nil(t, b.routes.get(route, "/"))
	require.True(t, b.apply(d).Ready)
	assert.Equal(t, "kept", b.text())
}

func TestFilesThatWereDeletedArePulledAgain(t *testing.T) {
	b := newBench(t)
	d := staging(b.site("back"))
	b.apply(d)
	require.NoError(t, os.RemoveAll(b.imagesDir()))
	require.NoError(t, os.Mkdir(b.imagesDir(), 0o700))
	assert.Equal(t, 404, b.routes.get(route, "/").StatusCode)
	require.True(t, b.apply(d).Ready)
	assert.Equal(t, "back", b.text())
}

func TestWhatCannotRunSaysWhy(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Limits = Limits{Bytes: 64 << 10, Files: 5} })
	good := b.site("good")
	index := page("site/index.html", "x")
	push := func(dir string, files ...file) string { return b.push(image(t, dir, files)) }
	with := func(change func(*Deployment)) Deployment {
		d := staging(good)
		d.Workload.Endpoints = map[string]flowclient.Endpoint{"http": {Type: "HTTP"}}
		change(&d)
		return d
	}
	many := []file{index}
	for i := range 6 {
		many = append(many, page(fmt.Sprintf("site/%d", i), ""))
	}
	for _, tc := range []struct {
		name   string
		d      Deployment
		reason string
		says   []string
	}{
		{"another component type", with(func(d *Deployment) { d.Type = "cronjob/service" }), ReasonUnsupportedType,
			[]string{`"cronjob/service"`, "deployment/static-site", "index.html"}},
		{"a project that is no label", with(func(d *Deployment) { d.Project = "Shop" }), ReasonInvalidName, []string{"project", `"Shop"`}},
		{"a component with a slash", with(func(d *Deployment) { d.Component = "../x" }), ReasonInvalidName, []string{"component", `"../x"`}},
		{"a host name that is too long", with(func(d *Deployment) { d.Project = strings.Repeat("p", 60) }), ReasonInvalidName, []string{"environment and project"}},
		{"no endpoint", with(func(d *Deployment) { d.Workload.Endpoints = nil }), ReasonUnsupportedEndpoint, []string{"no endpoint"}},
		{"an endpoint that is not HTTP", with(func(d *Deployment) { d.Workload.Endpoints["http"] = flowclient.Endpoint{Type: "TCP"} }),
			ReasonUnsupportedEndpoint, []string{"http", `"TCP"`}},
		{"an image by tag", staging(b.registry + "/shop/web:latest"), ReasonImageInvalid, []string{":latest", "by digest"}},
		{"no image", staging(""), ReasonImageInvalid, []string{`""`}},
		{"an absent image", staging(b.registry + "/shop/other@" + strings.Split(good, "@")[1]), ReasonImageNotFound, []string{"shop/other", "404"}},
		{"no index page", staging(push("/site", page("site/about.html", "x"))), ReasonIndexMissing, []string{"index.html"}},
		{"an index that is a directory", staging(push("/site", file{"site/index.html", "", tar.TypeDir})), ReasonIndexMissing, []string{"index.html"}},
		{"no working directory", staging(push("", index)), ReasonImageInvalid, []string{"working directory"}},
		{"files outside the working directory alone", staging(push("/other", index)), ReasonIndexMissing, []string{"index.html"}},
		{"a symbolic link", staging(push("/site", index, file{"site/passwd", "/etc/passwd", tar.TypeSymlink})), ReasonImageInvalid, []string{"site/passwd", "links"}},
		{"a hard link", staging(push("/site", index, file{"site/b", "site/index.html", tar.TypeLink})), ReasonImageInvalid, []string{"site/b"}},
		{"a linked working directory", staging(push("/site", file{"site", "other", tar.TypeSymlink}, page("other/index.html", "x"))), ReasonImageInvalid, []string{"site"}},
		{"a device", staging(push("/site", index, file{"site/null", "", tar.TypeChar})), ReasonImageInvalid, []string{"site/null", "devices"}},
		{"a pipe", staging(push("/site", index, file{"site/pipe", "", tar.TypeFifo})), ReasonImageInvalid, []string{"site/pipe"}},
		{"a path that escapes", staging(push("/site", index, page("site/../../evil", "x"))), ReasonImageInvalid, []string{"evil"}},
		{"a file that is a directory too", staging(push("/site", index, page("site/a/b", "y"), page("site/a", "x"))), ReasonImageInvalid, []string{"site/a"}},
		{"too many files", staging(push("/site", many...)), ReasonImageInvalid, []string{"more than 5 files"}},
		{"too many bytes", staging(push("/site", index, page("site/big", strings.Repeat("a", 65<<10)))), ReasonImageInvalid, []string{"more than 65536 bytes"}},
		{"a registry that nobody listens at", staging("127.0.0.1:1/shop/web@" + strings.Split(good, "@")[1]), ReasonRegistryUnreachable, []string{"127.0.0.1:1", "asked again"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status := b.apply(tc.d)
			assert.False(t, status.Ready)
			assert.Equal(t, tc.reason, status.Reason, status.Message)
			for _, text := range tc.says {
				assert.Contains(t, status.Message, text)
			}
			assert.Empty(t, status.Endpoints)
			assert.Nil(t, b.routes.get(route, "/"), "nothing is bound")
		})
	}
	left, err := filepath.Glob(filepath.Join(b.cfg.Dir, "images", ".*"))
	require.NoError(t, err)
	assert.Empty(t, left, "a refused image leaves no files")
	_, err = os.Stat(filepath.Join(b.cfg.Dir, "evil"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestRegistryAnswersBecomeReasons(t *testing.T) {
	for status, want := range map[int]string{
		401: ReasonRegistryDenied, 403: ReasonRegistryDenied, 404: ReasonImageNotFound,
		500: ReasonRegistryUnreachable, 503: ReasonRegistryUnreachable, 429: ReasonRegistryUnreachable,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			b := newBench(t)
			d := staging(b.site("x"))
			b.down(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v2/" {
					return
				}
				w.WriteHeader(status)
			}))
			got := b.apply(d)
			assert.Equal(t, want, got.Reason, got.Message)
		})
	}
}

func TestAnImageThatDiffersFromItsDigestIsNotServed(t *testing.T) {
	for _, part := range []string{"/manifests/", "/blobs/"} {
		t.Run(strings.Trim(part, "/"), func(t *testing.T) {
			b := newBench(t)
			honest, other := b.site("honest"), b.site("forged")
			swap := func(ref string) string { return strings.Split(ref, "@")[1] }
			srv, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+b.registry+"/v2/shop/web/manifests/"+swap(other), nil)
			require.NoError(t, err)
			resp, err := b.cfg.RegistryTransport.RoundTrip(srv)
			require.NoError(t, err)
			forged := body(t, resp)
			require.NoError(t, resp.Body.Close())
			mediaType := resp.Header.Get("Content-Type")
			passed := b.cfg.RegistryTransport
			b.Server.cfg.RegistryTransport = tamper(func(r *http.Request) (*http.Response, error) {
				resp, err := passed.RoundTrip(r)
				if err != nil || !strings.Contains(r.URL.Path, part) {
					return resp, err
				}
				w := httptest.NewRecorder()
				text := forged
				if part == "/blobs/" {
					whole := []byte(body(t, resp))
					whole[len(whole)-1] ^= 1 // the last byte, beyond the archive's end
					text = string(whole)
				} else {
					w.Header().Set("Content-Type", mediaType)
				}
				_ = resp.Body.Close()
				_, _ = w.WriteString(text)
				return w.Result(), nil
			})
			status := b.apply(staging(honest))
			assert.False(t, status.Ready)
			assert.Equal(t, ReasonImageInvalid, status.Reason, status.Message)
			assert.Nil(t, b.routes.get(route, "/"))
		})
	}
}

type tamper func(*http.Request) (*http.Response, error)

func (f tamper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestLayersLieOverEachOther(t *testing.T) {
	b := newBench(t)
	img := image(t, "/site",
		[]file{page("site/index.html", "base"), page("site/gone.html", "gone"), page("bin/sh", "x"), {"bin/link", "sh", tar.TypeSymlink}},
		[]file{page("site/index.html", "top"), page("site/.wh.gone.html", ""), page("./site/more/page.html", "more")},
	)
	require.True(t, b.apply(staging(b.push(img))).Ready)
	assert.Equal(t, "top", b.text())
	assert.Equal(t, 404, b.routes.get(route, "/gone.html").StatusCode)
	assert.Equal(t, "more", body(t, b.routes.get(route, "/more/page.html")))
}

func TestRemoveTakesThePageAwayAndAnUnknownNameIsNoError(t *testing.T) {
	b := newBench(t)
	d := staging(b.site("x"))
	b.apply(d)
	require.NoError(t, b.Remove(t.Context(), d.Name))
	assert.Nil(t, b.routes.get(route, "/"))
	require.NoError(t, b.Remove(t.Context(), d.Name))
	require.NoError(t, b.Remove(t.Context(), "never/was"))
	require.True(t, b.apply(d).Ready, "and back")
}

func TestEndpointsThatGoAwayAreUnbound(t *testing.T) {
	b := newBench(t)
	d := staging(b.site("x"))
	d.Workload.Endpoints = map[string]flowclient.Endpoint{"http": {Type: "HTTP"}, "admin": {Type: "http"}}
	require.Len(t, b.apply(d).Endpoints, 2)
	d.Workload.Endpoints = map[string]flowclient.Endpoint{"http": {Type: "HTTP"}}
	require.Len(t, b.apply(d).Endpoints, 1)
	assert.NotNil(t, b.routes.get(route, "/"))
	assert.Nil(t, b.routes.get("staging-shop.apps.platform.localhost/shop-web-admin", "/"))
}

func TestAPathThatAnotherDeploymentHoldsIsNotTaken(t *testing.T) {
	b := newBench(t)
	b.apply(staging(b.site("first")))
	other := staging(b.site("second"))
	other.Name = "another-staging"
	other.Workload.Endpoints = map[string]flowclient.Endpoint{"http": {Type: "HTTP"}, "admin": {Type: "HTTP"}}
	status := b.apply(other)
	assert.Equal(t, ReasonPathTaken, status.Reason)
	assert.Contains(t, status.Message, "shop-web-staging")
	assert.Equal(t, "first", b.text())
	assert.Nil(t, b.routes.get("staging-shop.apps.platform.localhost/shop-web-admin", "/"), "none of its paths stays bound")
}

func TestABasePathServesASubtree(t *testing.T) {
	b := newBench(t)
	img := image(t, "/site", []file{page("site/docs/index.html", "docs"), page("site/docs/a.html", "a"), page("site/secret.html", "s")})
	d := staging(b.push(img))
	d.Workload.Endpoints["http"] = flowclient.Endpoint{Type: "HTTP", BasePath: "/docs"}
	require.True(t, b.apply(d).Ready)
	assert.Equal(t, "docs", b.text())
	assert.Equal(t, "a", body(t, b.routes.get(route, "/a.html")))
	assert.Equal(t, 404, b.routes.get(route, "/../secret.html").StatusCode)
}

func TestConcurrentAppliesPullAnImageOnce(t *testing.T) {
	b := newBench(t)
	ref := b.site("x")
	before := b.served()
	b.apply(staging(ref))
	once := b.served() - before

	b.restart()
	require.NoError(t, os.RemoveAll(b.imageDir(strings.Split(ref, "@")[1])))
	before = b.served()
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			d := staging(ref)
			if i%2 == 1 {
				d.Name, d.Environment = "shop-web-production", "production"
			}
			status, err := b.Apply(t.Context(), d)
			assert.NoError(t, err)
			assert.True(t, status.Ready, status.Message)
		})
	}
	wg.Wait()
	assert.Equal(t, once, b.served()-before)
}

func TestAWaitingApplyEndsWithItsContext(t *testing.T) {
	b := newBench(t)
	d := staging(b.site("x"))
	arrived, goOn := make(chan struct{}), make(chan struct{})
	b.down(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-goOn
		w.WriteHeader(http.StatusNotFound)
	}))
	done := make(chan DeploymentStatus)
	go func() {
		status, err := b.Apply(context.WithoutCancel(t.Context()), d)
		assert.NoError(t, err)
		done <- status
	}()
	<-arrived
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Apply(ended, d)
	require.ErrorIs(t, err, context.Canceled)
	go func() {
		for range arrived {
		}
	}()
	close(goOn)
	assert.Equal(t, ReasonImageNotFound, (<-done).Reason)
	close(arrived)
}

func TestTroubleThatMayPassIsAskedAboutAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan time.Time, 100)
		s, err := New(t.Context(), Config{
			Dir: t.TempDir(), Domain: "localhost", Routes: &routing{routes: map[string]bound{}},
			RegistryTransport: tamper(func(r *http.Request) (*http.Response, error) { return nil, fmt.Errorf("no route to %s", r.URL.Host) }),
			Changed:           func(string) { told <- time.Now() },
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Run(ctx) }()
		d := staging("127.0.0.1:5000/shop/web@sha256:" + strings.Repeat("0", 64))
		last := time.Now()
		for _, pause := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
			status, err := s.Apply(ctx, d)
			require.NoError(t, err)
			require.Equal(t, ReasonRegistryUnreachable, status.Reason)
			at := <-told
			assert.Equal(t, float64(pause), at.Sub(last).Seconds())
			last = at
		}
		require.NoError(t, s.Remove(ctx, d.Name))
		time.Sleep(time.Hour) // of the bubble's clock
		assert.Empty(t, told, "a removed name is forgotten")
		cancel()
		require.NoError(t, <-ended)
	})
}

func TestConfigNamesWhatIsMissing(t *testing.T) {
	for want, cfg := range map[string]Config{
		"Dir":    {Domain: "d", Routes: &routing{}},
		"Domain": {Dir: "d", Routes: &routing{}},
		"Routes": {Dir: "d", Domain: "d"},
	} {
		_, err := New(t.Context(), cfg)
		require.ErrorContains(t, err, want+" is not set")
	}
}
