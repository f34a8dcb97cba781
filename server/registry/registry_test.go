package registry_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"platform.dev/platform/server/registry"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

const token = "registry-token"

// rig is a registry over HTTP and its directory.
type rig struct {
	t    testing.TB
	dir  string
	url  string
	now  time.Time
	stop func()
}

// newRig starts a registry; change may alter its configuration.
func newRig(t testing.TB, change ...func(*registry.Config)) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}
	r.start(change...)
	return r
}

// start starts a registry on the rig's directory.
func (r *rig) start(change ...func(*registry.Config)) {
	r.t.Helper()
	cfg := registry.Config{Dir: r.dir, Token: token, Now: func() time.Time { return r.now }, Log: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&cfg)
	}
	s, err := registry.New(context.Background(), cfg)
	require.NoError(r.t, err)
	srv := httptest.NewServer(s.Handler())
	r.url = srv.URL
	stopped := false
	r.stop = func() {
		if !stopped {
			stopped = true
			srv.Close()
			require.NoError(r.t, s.Close())
		}
	}
	r.t.Cleanup(r.stop)
}

// ref is a reference in the registry, "shop/web:tag".
func (r *rig) ref(s string) name.Reference {
	r.t.Helper()
	ref, err := name.ParseReference(strings.TrimPrefix(r.url, "http://") + "/" + s)
	require.NoError(r.t, err)
	return ref
}

var account = remote.WithAuth(&authn.Basic{Username: registry.User, Password: token})

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// do sends a request with the account.
func (r *rig) do(method, path, body string, header ...string) answer {
	r.t.Helper()
	req, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
	require.NoError(r.t, err)
	req.SetBasicAuth(registry.User, token)
	for i := 0; i < len(header); i += 2 {
		if header[i+1] == "" {
			req.Header.Del(header[i])
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(r.t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(r.t, err)
	return answer{res.StatusCode, res.Header, string(b)}
}

// upload begins an upload and gives its path.
func (r *rig) upload(name string) string {
	r.t.Helper()
	a := r.do("POST", "/v2/"+name+"/blobs/uploads/", "")
	require.Equal(r.t, 202, a.status, a.body)
	return a.header.Get("Location")
}

// blob pushes a blob and gives its digest.
func (r *rig) blob(name, content string) string {
	r.t.Helper()
	d := digest(content)
	a := r.do("POST", "/v2/"+name+"/blobs/uploads/?digest="+d, content)
	require.Equal(r.t, 201, a.status, a.body)
	return d
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// kept lists the files that the registry's directory holds.
func (r *rig) kept() []string {
	r.t.Helper()
	out := []string{}
	require.NoError(r.t, filepath.WalkDir(r.dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(r.dir, p)
			out = append(out, rel)
		}
		return err
	}))
	return out
}

const manifestType = "application/vnd.oci.image.manifest.v1+json"

// imageManifest is a manifest of one configuration and one layer.
func imageManifest(config, layer string, layerSize int) string {
	return fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":%q,"size":2},`+
		`"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":%q,"size":%d}]}`, manifestType, config, layer, layerSize)
}

func TestAnImageThatWasPushedIsPulledAsItWas(t *testing.T) {
	r := newRig(t)
	img, err := random.Image(100_000, 3)
	require.NoError(t, err)
	require.NoError(t, remote.Write(r.ref("shop/web:v1"), img, account))
	want, err := img.Digest()
	require.NoError(t, err)

	for _, ref := range []string{"shop/web:v1", "shop/web@" + want.String()} {
		got, err := remote.Image(r.ref(ref))
		require.NoError(t, err)
		require.NoError(t, validate.Image(got), ref)
		d, err := got.Digest()
		require.NoError(t, err)
		assert.Equal(t, want, d)
	}
	require.NoError(t, remote.Write(r.ref("shop/web:v1"), img, account), "again is well")
	names, err := remote.Catalog(context.Background(), r.ref("x:y").Context().Registry)
	require.NoError(t, err)
	assert.Equal(t, []string{"shop/web"}, names)
	tags, err := remote.List(r.ref("shop/web:v1").Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"v1"}, tags)
}

func TestAnIndexIsStoredWithItsImages(t *testing.T) {
	r := newRig(t)
	index, err := random.Index(1000, 2, 2)
	require.NoError(t, err)
	require.NoError(t, remote.WriteIndex(r.ref("shop/web:all"), index, account))
	got, err := remote.Index(r.ref("shop/web:all"))
	require.NoError(t, err)
	require.NoError(t, validate.Index(got))
}

func TestWhatWasAcceptedIsThereAfterARestart(t *testing.T) {
	r := newRig(t)
	img, err := random.Image(10_000, 2)
	require.NoError(t, err)
	require.NoError(t, remote.Write(r.ref("shop/web:v1"), img, account))
	other, err := random.Image(10_000, 1)
	require.NoError(t, err)
	require.NoError(t, remote.Write(r.ref("shop/web:v2"), other, account))
	require.NoError(t, remote.Delete(r.ref("shop/web:v2"), account))
	half := r.upload("shop/web")
	require.Equal(t, 202, r.do("PATCH", half, "half a blob").status)

	for _, how := range []struct {
		name string
		stop func()
	}{{"killed", func() {}}, {"closed", r.stop}} { // a killed one is not closed: nothing of it may be needed
		t.Run(how.name, func(t *testing.T) {
			how.stop()
			r.start()
			got, err := remote.Image(r.ref("shop/web:v1"))
			require.NoError(t, err)
			require.NoError(t, validate.Image(got))
			_, err = remote.Image(r.ref("shop/web:v2"))
			require.Error(t, err, "what was deleted stays so")
			assert.Equal(t, 404, r.do("PATCH", half, "x").status, "an upload under way begins again")
			left, err := os.ReadDir(filepath.Join(r.dir, "uploads"))
			require.NoError(t, err)
			assert.Empty(t, left)
		})
	}
}

func TestWritingNeedsTheAccountAndReadingDoesNot(t *testing.T) {
	r := newRig(t)
	r.blob("shop/web", "{}")
	before := r.kept()
	d := digest("new")
	for _, c := range []struct{ method, path string }{
		{"POST", "/v2/shop/web/blobs/uploads/"}, {"POST", "/v2/shop/web/blobs/uploads/?digest=" + d},
		{"PATCH", "/v2/shop/web/blobs/uploads/x"}, {"PUT", "/v2/shop/web/blobs/uploads/x?digest=" + d}, {"DELETE", "/v2/shop/web/blobs/uploads/x"},
		{"PUT", "/v2/shop/web/manifests/v1"}, {"DELETE", "/v2/shop/web/manifests/v1"}, {"DELETE", "/v2/shop/web/blobs/" + digest("{}")},
	} {
		for name, header := range map[string]string{
			"nobody": "", "a wrong token": "Basic cGxhdGZvcm06d3Jvbmc=", "another user": "Basic cm9vdDpyZWdpc3RyeS10b2tlbg==", "a bearer": "Bearer " + token,
		} {
			a := r.do(c.method, c.path, "new", "Authorization", header)
			assert.Equal(t, 401, a.status, "%s %s by %s", c.method, c.path, name)
			assert.Equal(t, `Basic realm="registry"`, a.header.Get("WWW-Authenticate"))
			assert.Contains(t, a.body, "UNAUTHORIZED")
		}
	}
	assert.Equal(t, before, r.kept())
	for _, path := range []string{"/v2/", "/v2/_catalog", "/v2/shop/web/blobs/" + digest("{}")} {
		assert.Equal(t, 200, r.do("GET", path, "", "Authorization", "").status, path)
	}
}

func TestABlobWithAnotherDigestIsRefusedAndNothingIsKept(t *testing.T) {
	r := newRig(t)
	right := digest("what was meant")
	for name, push := range map[string]func() answer{
		"at once": func() answer {
			return r.do("POST", "/v2/shop/web/blobs/uploads/?digest="+right, "something else")
		},
		"in one piece": func() answer { return r.do("PUT", r.upload("shop/web")+"?digest="+right, "something else") },
		"in chunks": func() answer {
			u := r.upload("shop/web")
			require.Equal(t, 202, r.do("PATCH", u, "something ").status)
			return r.do("PUT", u+"?digest="+right, "else")
		},
		"without a digest": func() answer { return r.do("PUT", r.upload("shop/web"), "something else") },
	} {
		t.Run(name, func(t *testing.T) {
			a := push()
			assert.Equal(t, 400, a.status)
			assert.Contains(t, a.body, "DIGEST_INVALID")
			assert.Empty(t, r.kept())
			assert.Equal(t, 404, r.do("HEAD", "/v2/shop/web/blobs/"+right, "").status)
		})
	}
}

func TestWhatIsTooLargeIsRefusedAndNothingIsKept(t *testing.T) {
	r := newRig(t, func(c *registry.Config) { c.MaxBlob = 10 })
	d := digest("0123456789")
	assert.Equal(t, 413, r.do("POST", "/v2/a/blobs/uploads/?digest="+d, "0123456789x").status)
	u := r.upload("a")
	assert.Equal(t, 202, r.do("PATCH", u, "01234567").status)
	assert.Equal(t, 413, r.do("PATCH", u, "89x").status)
	assert.Equal(t, 404, r.do("PATCH", u, "").status, "and the upload is over")
	assert.Empty(t, r.kept())
	r.blob("a", "0123456789")

	a := r.do("PUT", "/v2/a/manifests/v1", strings.Repeat(" ", 4<<20+1), "Content-Type", manifestType)
	assert.Equal(t, 413, a.status)
	assert.Len(t, r.kept(), 1)
}

func TestAManifestIsStoredWithAllItsPartsOrNotAtAll(t *testing.T) {
	r := newRig(t)
	config, layer := r.blob("shop/web", "{}"), r.blob("shop/web", "layer")
	good := imageManifest(config, layer, 5)
	missing := digest("nowhere")
	index := func(d string) string {
		return fmt.Sprintf(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{"mediaType":%q,"digest":%q,"size":3}]}`, manifestType, d)
	}
	for _, c := range []struct {
		name, ref, mediaType, body, code string
		status                           int
	}{
		{"a layer that is not there", "v1", manifestType, imageManifest(config, missing, 5), "MANIFEST_BLOB_UNKNOWN", 400},
		{"a configuration that is not there", "v1", manifestType, imageManifest(missing, layer, 5), "MANIFEST_BLOB_UNKNOWN", 400},
		{"a layer of another size", "v1", manifestType, imageManifest(config, layer, 6), "SIZE_INVALID", 400},
		{"an index of an image that is not there", "v1", "application/vnd.oci.image.index.v1+json", index(missing), "MANIFEST_BLOB_UNKNOWN", 400},
		{"no JSON", "v1", manifestType, `{`, "MANIFEST_INVALID", 400},
		{"nothing", "v1", manifestType, ``, "MANIFEST_INVALID", 400},
		{"another version", "v1", manifestType, `{"schemaVersion":1}`, "MANIFEST_INVALID", 400},
		{"another kind", "v1", "text/html", strings.Replace(good, manifestType, "text/html", 1), "MANIFEST_INVALID", 400},
		{"a header that says something else", "v1", "application/vnd.docker.distribution.manifest.v2+json", good, "MANIFEST_INVALID", 400},
		{"another digest", missing, manifestType, good, "DIGEST_INVALID", 400},
		{"a digest of another kind", "sha512:00", manifestType, good, "DIGEST_INVALID", 400},
		{"a tag that climbs", "..", manifestType, good, "", 400},
		{"a tag that is too long", strings.Repeat("v", 129), manifestType, good, "DIGEST_INVALID", 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := r.kept()
			a := r.do("PUT", "/v2/shop/web/manifests/"+c.ref, c.body, "Content-Type", c.mediaType)
			assert.Equal(t, c.status, a.status, a.body)
			assert.Contains(t, a.body, c.code)
			assert.Equal(t, before, r.kept())
		})
	}
	a := r.do("PUT", "/v2/shop/web/manifests/v1", good, "Content-Type", manifestType)
	require.Equal(t, 201, a.status, a.body)
	assert.Equal(t, digest(good), a.header.Get("Docker-Content-Digest"))
	got := r.do("GET", "/v2/shop/web/manifests/v1", "")
	assert.Equal(t, good, got.body)
	assert.Equal(t, manifestType, got.header.Get("Content-Type"))
	assert.Equal(t, 404, r.do("GET", "/v2/other/manifests/v1", "").status)
}

func TestDeletingLeavesNothingThatRefersToWhatIsGone(t *testing.T) {
	r := newRig(t)
	config, layer := r.blob("shop/web", "{}"), r.blob("shop/web", "layer")
	m := imageManifest(config, layer, 5)
	for _, tag := range []string{"v1", "v2", "v3"} {
		require.Equal(t, 201, r.do("PUT", "/v2/shop/web/manifests/"+tag, m, "Content-Type", manifestType).status)
	}
	a := r.do("DELETE", "/v2/shop/web/blobs/"+layer, "")
	assert.Equal(t, 405, a.status)
	assert.Contains(t, a.body, "is part of shop/web@"+digest(m))

	assert.Equal(t, 202, r.do("DELETE", "/v2/shop/web/manifests/v1", "").status)
	assert.JSONEq(t, `{"name":"shop/web","tags":["v2","v3"]}`, r.do("GET", "/v2/shop/web/tags/list", "").body)
	assert.Equal(t, 202, r.do("DELETE", "/v2/shop/web/manifests/"+digest(m), "").status)
	assert.JSONEq(t, `{"name":"shop/web","tags":[]}`, r.do("GET", "/v2/shop/web/tags/list", "").body)
	assert.JSONEq(t, `{"repositories":[]}`, r.do("GET", "/v2/_catalog", "").body)
	assert.Equal(t, 404, r.do("DELETE", "/v2/shop/web/manifests/v2", "").status)
	assert.Equal(t, 202, r.do("DELETE", "/v2/shop/web/blobs/"+layer, "").status)
	assert.Equal(t, 404, r.do("DELETE", "/v2/shop/web/blobs/"+layer, "").status)
}

func TestABlobIsReadWholeOrInPart(t *testing.T) {
	r := newRig(t)
	d := r.blob("shop/web", "0123456789")
	path := "/v2/shop/web/blobs/" + d
	whole := r.do("GET", path, "")
	assert.Equal(t, "0123456789", whole.body)
	assert.Equal(t, d, whole.header.Get("Docker-Content-Digest"))
	assert.Equal(t, "10", r.do("HEAD", path, "").header.Get("Content-Length"))
	for rng, want := range map[string]string{"bytes=2-4": "234", "bytes=7-": "789", "bytes=-2": "89"} {
		a := r.do("GET", path, "", "Range", rng)
		assert.Equal(t, 206, a.status)
		assert.Equal(t, want, a.body, rng)
	}
	assert.Equal(t, 416, r.do("GET", path, "", "Range", "bytes=99-").status)
	assert.Equal(t, 404, r.do("GET", "/v2/shop/web/blobs/"+digest("other"), "").status)
	assert.Equal(t, 404, r.do("GET", "/v2/shop/web/blobs/sha256:..%2f..%2fx", "").status)
	assert.Equal(t, 400, r.do("GET", "/v2/shop/web/blobs/sha256:..", "").status)
	assert.Equal(t, 201, r.do("POST", "/v2/other/blobs/uploads/?from=shop/web&mount="+d, "").status)
}

func TestAnUploadInAnyChunksIsTheBlob(t *testing.T) {
	r := newRig(t)
	rapid.Check(t, func(rt *rapid.T) {
		chunks := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 1, 50), 0, 5).Draw(rt, "chunks")
		ranged := rapid.Bool().Draw(rt, "with Content-Range")
		whole := bytes.Join(chunks, nil)
		u, at := r.upload("shop/web"), 0
		for _, c := range chunks {
			var header []string
			if ranged {
				header = []string{"Content-Range", fmt.Sprintf("%d-%d", at, at+len(c)-1)}
			}
			a := r.do("PATCH", u, string(c), header...)
			require.Equal(rt, 202, a.status, a.body)
			at += len(c)
			assert.Equal(rt, fmt.Sprintf("0-%d", at-1), r.do("GET", u, "").header.Get("Range"))
		}
		wrong := r.do("PATCH", u, "x", "Content-Range", fmt.Sprintf("%d-%d", at+1, at+1))
		assert.Equal(rt, 416, wrong.status)
		d := digest(string(whole))
		require.Equal(rt, 201, r.do("PUT", u+"?digest="+d, "").status)
		assert.Equal(rt, string(whole), r.do("GET", "/v2/shop/web/blobs/"+d, "").body)
	})
}

func TestAnUploadBelongsToItsRepositoryAndEndsOnce(t *testing.T) {
	r := newRig(t)
	u := r.upload("shop/web")
	assert.Equal(t, 404, r.do("PATCH", strings.Replace(u, "shop/web", "other", 1), "x").status)
	assert.Equal(t, 204, r.do("DELETE", u, "").status)
	assert.Equal(t, 404, r.do("DELETE", u, "").status)
	assert.Empty(t, r.kept())
}

func TestUploadsThatNobodyEndsDoNotPileUp(t *testing.T) {
	r := newRig(t)
	var last answer
	for range 65 {
		last = r.do("POST", "/v2/shop/web/blobs/uploads/", "")
	}
	assert.Equal(t, 429, last.status)
	assert.Len(t, r.kept(), 64)
	r.now = r.now.Add(16 * time.Minute)
	r.upload("shop/web")
	assert.Len(t, r.kept(), 1)
}

func TestListsArePaged(t *testing.T) {
	r := newRig(t)
	m := imageManifest(r.blob("a", "{}"), r.blob("a", "layer"), 5)
	for _, ref := range []string{"c/manifests/v1", "a/manifests/v2", "a/manifests/v1", "a/manifests/v3", "a/b/manifests/v1"} {
		require.Equal(t, 201, r.do("PUT", "/v2/"+ref, m, "Content-Type", manifestType).status)
	}
	assert.JSONEq(t, `{"repositories":["a","a/b","c"]}`, r.do("GET", "/v2/_catalog", "").body)
	page := r.do("GET", "/v2/_catalog?n=2", "")
	assert.JSONEq(t, `{"repositories":["a","a/b"]}`, page.body)
	assert.Equal(t, `</v2/_catalog?last=a%2Fb&n=2>; rel="next"`, page.header.Get("Link"))
	assert.JSONEq(t, `{"repositories":["c"]}`, r.do("GET", "/v2/_catalog?last=a%2Fb&n=2", "").body)
	assert.JSONEq(t, `{"name":"a","tags":["v3"]}`, r.do("GET", "/v2/a/tags/list?last=v2", "").body)
	assert.JSONEq(t, `{"name":"a","tags":[]}`, r.do("GET", "/v2/a/tags/list?last=v9", "").body)
	assert.Equal(t, 400, r.do("GET", "/v2/_catalog?n=many", "").status)
}

func TestAPathThatIsNoneIsAnsweredInTheProtocolsShape(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		method, path, code string
		status             int
	}{
		{"GET", "/", "NAME_INVALID", 404},
		{"GET", "/v2/Shop/manifests/v1", "NAME_INVALID", 404},
		{"GET", "/v2/_tags/manifests/v1", "NAME_INVALID", 404},
		{"GET", "/v2/shop/../web/manifests/v1", "NAME_INVALID", 404},
		{"GET", "/v2/" + strings.Repeat("a", 256) + "/manifests/v1", "NAME_INVALID", 400},
		{"GET", "/v2/none/tags/list", "NAME_UNKNOWN", 404},
		{"GET", "/v2/none/manifests/v1", "MANIFEST_UNKNOWN", 404},
		{"POST", "/v2/shop/manifests/v1", "UNSUPPORTED", 405},
	} {
		a := r.do(c.method, c.path, "")
		assert.Equal(t, c.status, a.status, c.path)
		var body struct {
			Errors []struct{ Code, Message string }
		}
		require.NoError(t, json.Unmarshal([]byte(a.body), &body), a.body)
		require.Len(t, body.Errors, 1)
		assert.Equal(t, c.code, body.Errors[0].Code, c.path)
		assert.NotEmpty(t, body.Errors[0].Message)
	}
	assert.Empty(t, r.kept())
}

func TestARegistryWithoutATokenDoesNotStart(t *testing.T) {
	_, err := registry.New(context.Background(), registry.Config{Dir: t.TempDir(), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	require.Error(t, err)
}
