package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/flowclient"
)

// childServes makes this binary the program of a service: its value is what it answers with.
const childServes = "PLATFORM_TEST_CHILD_SERVES"

// serveAsChild answers HTTP on $PORT until it is told to stop: what a workload is.
func serveAsChild(text string) error {
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	release, err := os.ReadFile("release.txt")
	if err != nil {
		return err
	}
	srv := &http.Server{Addr: "127.0.0.1:" + os.Getenv("PORT"), ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "%s, release %s", text, release)
	})}
	fmt.Println("service begins")
	go func() {
		<-stop.Done()
		_ = srv.Shutdown(context.WithoutCancel(stop))
	}()
	if err := srv.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// withService adds the component shop-api beside the site of the project shop: a program of its own.
func (s *started) withService() {
	s.t.Helper()
	site, err := s.rooms.plane.Get(s.t.Context(), flowclient.KindComponent, "shop-web")
	require.NoError(s.t, err)
	spec := strings.NewReplacer("deployment/static-site", "deployment/service", `"appPath":""`, `"appPath":"api"`, `"imageName":"web"`, `"imageName":"api"`,
		`"workloadPath":"workload.yaml"`, `"workloadPath":"api/workload.yaml"`).Replace(string(site.Spec))
	_, err = s.rooms.plane.Create(s.t.Context(), flowclient.Object{Kind: flowclient.KindComponent, Metadata: flowclient.Metadata{Name: "shop-api"}, Spec: []byte(spec)})
	require.NoError(s.t, err)
}

// serviceFiles are those of shop-api.
func serviceFiles(t *testing.T, release string) map[string]string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return map[string]string{
		"api/workload.yaml": fmt.Sprintf("command: [%q]\nenv:\n  - {key: %s, value: hello}\nendpoints:\n  http: {type: HTTP, port: 8080}\n", self, childServes),
		"api/ci/test.sh":    "test -s release.txt\n",
		"api/ci/build.sh":   "mkdir -p dist && cp release.txt dist/\n",
		"api/release.txt":   release,
	}
}

func TestAStaticSiteAndAServiceShareAProjectAndReachProductionTogether(t *testing.T) {
	dir := t.TempDir()
	p := start(t, config(t, dir))
	p.scaffold("shop")
	p.withService()
	first, err := p.Flow().Commit(t.Context(), flowclient.CommitRequest{
		Origin: flowclient.Origin{Key: "test:first", Who: "developer"}, Project: "shop", Message: "Add the service", Files: serviceFiles(t, "one"),
	})
	require.NoError(t, err)
	staging := p.deployed("shop-api", flowclient.Staging, first.SHA)
	assert.Equal(t, "hello, release one", get(t, staging.URL))

	outcome, err := p.Flow().Promote(t.Context(), flowclient.Promotion{Origin: flowclient.Origin{Key: "test:promote", Who: "developer"}, Project: "shop"})
	require.NoError(t, err)
	require.Len(t, outcome.Components, 2)
	production := p.deployed("shop-api", flowclient.Production, first.SHA)
	assert.Equal(t, "hello, release one", get(t, production.URL))

	second, err := p.Flow().Commit(t.Context(), flowclient.CommitRequest{
		Origin: flowclient.Origin{Key: "test:second", Who: "developer"}, Project: "shop", Message: "Second", Files: map[string]string{"api/release.txt": "two"},
	})
	require.NoError(t, err)
	p.deployed("shop-api", flowclient.Staging, second.SHA)
	p.eventually(10*time.Second, "staging to answer with the second release", func() bool { return get(t, staging.URL) == "hello, release two" })
	assert.Equal(t, "hello, release one", get(t, production.URL), "production is left alone")
	p.stop()

	// After a restart both run again, in processes of their own.
	p = start(t, config(t, dir))
	p.deployed("shop-api", flowclient.Production, first.SHA)
	assert.Equal(t, "hello, release one", get(t, production.URL))
}

func TestAReviewEnvironmentHoldsEveryComponentOfTheProject(t *testing.T) {
	p := start(t, config(t, t.TempDir()))
	p.scaffold("shop")
	p.withService()
	first, err := p.Flow().Commit(t.Context(), flowclient.CommitRequest{
		Origin: flowclient.Origin{Key: "test:first", Who: "developer"}, Project: "shop", Message: "Add the service", Files: serviceFiles(t, "one"),
	})
	require.NoError(t, err)
	p.deployed("shop-api", flowclient.Staging, first.SHA)
	pull, err := p.Flow().OpenPull(t.Context(), flowclient.PullRequest{
		Origin: flowclient.Origin{Key: "test:pull", Who: "developer"}, Project: "shop", Branch: "two", Title: "Two", Files: map[string]string{"api/release.txt": "two"},
	})
	require.NoError(t, err)
	p.eventually(time.Minute, "the review environment", func() bool {
		reviews, err := p.Flow().Reviews(t.Context())
		require.NoError(t, err)
		return len(reviews) == 1 && reviews[0].State == flowclient.ReviewPresent && reviews[0].Head == pull.Head
	})
	base := fmt.Sprintf("http://pr-%d-shop.%s:%d", pull.Number, Domain, p.ports.Port("gateway"))
	p.eventually(10*time.Second, "the service of the review environment", func() bool { return get(t, base+"/shop-api-http/") == "hello, release two" })
	assert.Contains(t, get(t, base+"/shop-web-http/"), pull.Head)
	staging := p.deployment(t, "shop-api", flowclient.Staging)
	assert.Equal(t, "hello, release one", get(t, staging.URL), "nothing of it reaches staging")

	owned, err := p.rooms.plane.List(t.Context(), flowclient.KindReleaseBinding, flowclient.Filter{LabelSelector: flowclient.AnnotationOwned + "=true"})
	require.NoError(t, err)
	var names []string
	for _, o := range owned {
		names = append(names, o.Metadata.Name)
	}
	number := fmt.Sprintf("-pr-%d", pull.Number)
	assert.ElementsMatch(t, []string{"shop-api" + number + number, "shop-web" + number + number}, names, "bindings of review environments can be selected")
}
