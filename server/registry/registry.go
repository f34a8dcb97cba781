// Package registry is the embedded OCI registry: the distribution protocol
// (https://github.com/opencontainers/distribution-spec) over a directory. An
// upload goes to a file as it arrives; a blob or manifest is there, for good,
// when its answer says 201. Reading needs no account; writing needs one.
//
// It knows nothing of what the images hold, who builds them and who runs them.
package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"platform.dev/platform/server/web"
)

// User is the account that may write; its password is Config.Token.
const User = "platform"

// The limits of what is stored; that of a blob can be set.
const (
	DefaultMaxBlob = 512 << 20 // bytes
	maxManifest    = 4 << 20   // bytes
	maxName        = 255       // bytes of a repository's name
)

// Config says where the registry keeps what, and who may write.
type Config struct {
	Dir     string // made with mode 0700
	Token   string // the password of User
	MaxBlob int64  // bytes; 0: DefaultMaxBlob
	Now     func() time.Time
	Log     *slog.Logger
}

// Server is the registry.
type Server struct {
	cfg     Config
	mu      sync.RWMutex // written by whoever adds or removes manifests, tags and blobs that these refer to
	uploads *uploads
}

// New opens the registry's directory and removes what unfinished uploads have left there.
func New(_ context.Context, cfg Config) (*Server, error) {
	if cfg.Dir == "" || cfg.Token == "" || cfg.Now == nil || cfg.Log == nil || cfg.MaxBlob < 0 {
		return nil, errors.New("registry: Dir, Token, Now and Log must be set")
	}
	if cfg.MaxBlob == 0 {
		cfg.MaxBlob = DefaultMaxBlob
	}
	s := &Server{cfg: cfg}
	if err := os.RemoveAll(s.path("uploads")); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	for _, dir := range []string{s.path("uploads"), s.path("blobs", "sha256"), s.path("repositories")} {
		if err := makeDir(dir); err != nil {
			return nil, fmt.Errorf("registry: %w", err)
		}
	}
	s.uploads = &uploads{dir: s.path("uploads"), now: cfg.Now, open: map[string]*upload{}}
	return s, nil
}

// Close gives up the uploads under way; their clients begin again.
func (s *Server) Close() error { return s.uploads.close() }

// path is a path in the registry's directory.
func (s *Server) path(parts ...string) string {
	return filepath.Join(append([]string{s.cfg.Dir}, parts...)...)
}

// component is one part of a repository's name, as the specification has it. None
// begins with "_", so that our own directories beside them cannot be meant.
const component = `[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`

// name is a repository's name.
const name = `(?P<name>` + component + `(?:/` + component + `)*)`

// route is a shape of path and what may be done there.
type route struct {
	name    string // what traces and metrics name a request by
	path    *regexp.Regexp
	methods map[string]func(*Server, http.ResponseWriter, *http.Request, target) error
}

// target is what a path names.
type target struct{ name, ref string }

// routes are tried in order.
var routes = []route{
	{"/v2/", regexp.MustCompile(`^/v2/?$`), handlers{"GET": (*Server).version, "HEAD": (*Server).version}},
	{"/v2/_catalog", regexp.MustCompile(`^/v2/_catalog$`), handlers{"GET": (*Server).catalog}},
	{"/v2/{name}/tags/list", regexp.MustCompile(`^/v2/` + name + `/tags/list$`), handlers{"GET": (*Server).tags}},
	{"/v2/{name}/manifests/{ref}", regexp.MustCompile(`^/v2/` + name + `/manifests/(?P<ref>[^/]+)$`), handlers{
		"GET": (*Server).getManifest, "HEAD": (*Server).getManifest, "PUT": (*Server).putManifest, "DELETE": (*Server).deleteManifest}},
	{"/v2/{name}/blobs/uploads/", regexp.MustCompile(`^/v2/` + name + `/blobs/uploads/?$`), handlers{"POST": (*Server).beginUpload}},
	{"/v2/{name}/blobs/uploads/{ref}", regexp.MustCompile(`^/v2/` + name + `/blobs/uploads/(?P<ref>[^/]+)$`), handlers{
		"GET": (*Server).uploadStatus, "PATCH": (*Server).continueUpload, "PUT": (*Server).endUpload, "DELETE": (*Server).cancelUpload}},
	{"/v2/{name}/blobs/{ref}", regexp.MustCompile(`^/v2/` + name + `/blobs/(?P<ref>[^/]+)$`), handlers{
		"GET": (*Server).getBlob, "HEAD": (*Server).getBlob, "DELETE": (*Server).deleteBlob}},
}

type handlers = map[string]func(*Server, http.ResponseWriter, *http.Request, target) error

// Handler is the registry's surface, everything under /v2/.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Docker-Distribution-API-Version", "registry/2.0")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if err := s.serve(w, r); err != nil {
			s.answer(w, r, err)
		}
	})
}

// serve finds the route of a request and checks who asks.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) error {
	for _, rt := range routes {
		m := rt.path.FindStringSubmatch(r.URL.Path)
		if m == nil {
			continue
		}
		r.Pattern = rt.name
		handle, ok := rt.methods[r.Method]
		if !ok {
			return refuse(http.StatusMethodNotAllowed, codeUnsupported, "%s is not served at %s", r.Method, r.URL.Path)
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead && !s.mayWrite(r) {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			return refuse(http.StatusUnauthorized, codeUnauthorized, "writing needs the account %s and its token", User)
		}
		var t target
		for i, group := range rt.path.SubexpNames() {
			switch group {
			case "name":
				t.name = m[i]
			case "ref":
				t.ref = m[i]
			}
		}
		if len(t.name) > maxName {
			return refuse(http.StatusBadRequest, codeNameInvalid, "the repository's name has %d bytes; %d are allowed", len(t.name), maxName)
		}
		return handle(s, w, r, t)
	}
	return refuse(http.StatusNotFound, codeNameInvalid, "path %q is not one of the distribution protocol; a repository's name is lower case", r.URL.Path)
}

// mayWrite tells whether a request carries the account that may write.
func (s *Server) mayWrite(r *http.Request) bool {
	user, password, ok := r.BasicAuth()
	return ok && web.SameSecret(user, User) && web.SameSecret(password, s.cfg.Token)
}

// version answers that the protocol is spoken here.
func (s *Server) version(w http.ResponseWriter, _ *http.Request, _ target) error {
	reply(w, http.StatusOK, map[string]string{})
	return nil
}

// The error codes of the specification.
const (
	codeBlobUnknown     = "BLOB_UNKNOWN"
	codeUploadInvalid   = "BLOB_UPLOAD_INVALID"
	codeUploadUnknown   = "BLOB_UPLOAD_UNKNOWN"
	codeDigestInvalid   = "DIGEST_INVALID"
	codeManifestBlob    = "MANIFEST_BLOB_UNKNOWN"
	codeManifestInvalid = "MANIFEST_INVALID"
	codeManifestUnknown = "MANIFEST_UNKNOWN"
	codeNameInvalid     = "NAME_INVALID"
	codeNameUnknown     = "NAME_UNKNOWN"
	codeSizeInvalid     = "SIZE_INVALID"
	codeUnauthorized    = "UNAUTHORIZED"
	codeUnsupported     = "UNSUPPORTED"
	codeTooMany         = "TOOMANYREQUESTS"
	codePagination      = "PAGINATION_NUMBER_INVALID"
	codeUnknown         = "UNKNOWN"
)

// refusal is an answer of the protocol's own.
type refusal struct {
	status        int
	code, message string
}

func (r *refusal) Error() string { return r.message }

func refuse(status int, code, format string, args ...any) error {
	return &refusal{status, code, fmt.Sprintf(format, args...)}
}

// answer writes an error in the protocol's shape. A fault's own words go to the log.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, err error) {
	var no *refusal
	if !errors.As(err, &no) {
		s.cfg.Log.Error("registry request", "method", r.Method, "path", r.URL.Path, "error", err)
		no = &refusal{http.StatusInternalServerError, codeUnknown, "the registry cannot read or write its directory"}
	}
	reply(w, no.status, map[string]any{"errors": []map[string]string{{"code": no.code, "message": no.message}}})
}

// reply writes a JSON body.
func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client went away: there is nobody to tell
}
