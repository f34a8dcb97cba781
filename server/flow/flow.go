// Package flow is the flow controller's HTTP surface: the endpoints for hooks,
// scripts and remote clients. It checks who asks, reads strictly, calls the
// controller, and answers with what package wire says; every decision is the
// controller's.
//
// It knows nothing of how anything is delivered, promoted or kept.
package flow

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
	"platform.dev/platform/server/web"
)

// Deliveries remembers hook deliveries, so that one sent again has no second effect.
type Deliveries interface {
	// Record remembers a delivery by its id and the kind of hook it came to;
	// fresh is false when that pair was recorded before. It returns after its commit.
	Record(ctx context.Context, id, kind string, at time.Time) (fresh bool, err error)
}

// Config is what the surface works with. Now and Log may be left out.
type Config struct {
	Flow          flowclient.Flow
	Token         string // of every path but the hooks
	WebhookSecret string // shared with the git servers that send hooks
	Deliveries    Deliveries
	// Pushed tells the controller that a ref of a repository moved. It only
	// wakes: the controller's own pass would find out without it.
	Pushed func(ctx context.Context, repo, ref, sha string) error
	Now    func() time.Time // time.Now
	Log    *slog.Logger     // slog.Default
}

// Server answers the flow endpoints. New makes one.
type Server struct {
	cfg Config

	mu     sync.Mutex
	missed map[string]bool // deliveries recorded whose Pushed failed
}

// New checks the configuration: without a token or a secret everyone could write, so it refuses.
func New(cfg Config) (*Server, error) {
	switch {
	case cfg.Flow == nil:
		return nil, errors.New("flow surface: Flow is not set")
	case cfg.Token == "":
		return nil, errors.New("flow surface: Token is empty")
	case cfg.WebhookSecret == "":
		return nil, errors.New("flow surface: WebhookSecret is empty")
	case cfg.Deliveries == nil:
		return nil, errors.New("flow surface: Deliveries is not set")
	case cfg.Pushed == nil:
		return nil, errors.New("flow surface: Pushed is not set")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	return &Server{cfg: cfg, missed: map[string]bool{}}, nil
}

// access says what a request must bring.
type access int

const (
	token  access = iota // Authorization: Bearer
	signed               // a signature of the body, where it is a delivery; else that or the token
)

// endpoint is one method of one path. serve returns the status and body of a
// success, or an error that package wire has a status for.
type endpoint struct {
	method, path string
	access       access
	serve        func(s *Server, r *http.Request, body []byte) (status int, answer any, err error)
}

// endpoints are all there are.
var endpoints = []endpoint{
	{http.MethodPost, wire.ScaffoldPath, token, (*Server).scaffold},
	{http.MethodPost, wire.TeardownPath, token, (*Server).teardown},
	{http.MethodPost, wire.CommitPath, token, (*Server).commit},
	{http.MethodPost, wire.PullPath, token, (*Server).pull},
	{http.MethodPost, wire.MergePath, token, (*Server).merge},
	{http.MethodGet, wire.ReviewsPath, token, (*Server).reviews},
	{http.MethodGet, wire.BuildsPath, token, (*Server).builds},
	{http.MethodGet, wire.BuildPath, token, (*Server).build},
	{http.MethodGet, wire.BuildLogPath, token, (*Server).buildLog},
	{http.MethodGet, wire.BuildEvidencePath, token, (*Server).buildEvidence},
	{http.MethodGet, wire.BindingEvidencePath, token, (*Server).bindingEvidence},
	{http.MethodGet, wire.FlowEvidencePath, token, (*Server).flowEvidence},
	{http.MethodPost, wire.PromotePath, token, (*Server).promote},
	{http.MethodGet, wire.DeliveryPath, token, (*Server).delivery},
	{http.MethodGet, wire.StatePath, token, (*Server).state},
	{http.MethodGet, wire.WindowPath, token, (*Server).window},
	{http.MethodGet, wire.DiffPath, token, (*Server).diff},
	{http.MethodGet, wire.HostPath, token, (*Server).host},
	{http.MethodGet, wire.LocksPath, token, (*Server).locks},
	{http.MethodPost, wire.LocksPath, token, (*Server).setLock},
	{http.MethodDelete, wire.LocksPath, token, (*Server).clearLock},
	{http.MethodGet, wire.WalkthroughsPath, token, (*Server).walkthroughs},
	{http.MethodPost, wire.WalkthroughsPath, token, (*Server).beginWalkthrough},
	{http.MethodPut, wire.WalkthroughPath, token, (*Server).updateWalkthrough},
	{http.MethodPost, wire.SyncPath, signed, (*Server).sync},
	{http.MethodPost, wire.HookPath, signed, (*Server).hook},
}

// Handler answers the endpoints. A request without the token learns nothing,
// not even which paths there are.
func (s *Server) Handler() http.Handler {
	routes := route(endpoints)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		methods := find(routes, r)
		asked := r.Method
		if asked == http.MethodHead {
			asked = http.MethodGet
		}
		e, found := methods[asked]
		if found {
			r.Pattern = e.method + " " + e.path // what traces and metrics name the request by
		}
		open := found && e.access == signed // serve verifies the signature
		if !open && !web.SameSecret(web.Bearer(r), s.cfg.Token) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="flow"`)
			s.fail(w, r, wire.ErrToken)
			return
		}
		switch {
		case methods == nil:
			s.fail(w, r, &flowclient.NotFound{Kind: "path", Name: r.URL.Path})
		case !found:
			allowed := allow(methods)
			w.Header().Set("Allow", allowed)
			reply(w, r, http.StatusMethodNotAllowed, wire.Error{Error: r.Method + " is not answered on " + r.URL.Path + "; use " + allowed})
		default:
			s.answer(w, r, e)
		}
	})
}

// answer reads the body, serves the endpoint and writes what came of it.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, e endpoint) {
	var body []byte
	if e.method == http.MethodPost || e.method == http.MethodPut {
		var err error
		if body, err = readBody(r); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	status, answer, err := e.serve(s, r, body)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	reply(w, r, status, answer)
}

// readBody reads a body within the limit. Of one that is larger the rest is
// passed over, up to maxPassed, before the answer: a client that is still
// sending would see its connection cut in place of it. One that waits to be
// told to go on is not told to.
func readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength > wire.MaxBody && r.Header.Get("Expect") != "" {
		return nil, wire.ErrTooLarge
	}
	body, err := wire.Read(r.Body)
	if errors.Is(err, wire.ErrTooLarge) {
		_, _ = io.CopyN(io.Discard, r.Body, maxPassed) // the answer is the same, however it ends
	}
	return body, err
}

// maxPassed is how much of an oversized body is read to its end, in bytes.
const maxPassed = 32 << 20

// fail answers an error; a fault is logged under an id, and its text stays here.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	id := rand.Text()[:10]
	status, body, fault := wire.Status(err, id)
	if fault {
		s.cfg.Log.ErrorContext(r.Context(), "request broke", "id", id, "method", r.Method, "path", r.URL.Path, "err", err)
	}
	reply(w, r, status, body)
}

// parse reads a write strictly: its body into B, and its origin from the headers.
func parse[B any](r *http.Request, body []byte) (b B, o flowclient.Origin, err error) {
	if _, err = wire.Query(r.URL.RawQuery); err != nil {
		return b, o, err
	}
	if err = wire.Decode(body, &b); err != nil {
		return b, o, err
	}
	o, err = wire.Origin(r.Header)
	return b, o, err
}

// request reads a write whose body B says all of what the controller is asked.
func request[B interface {
	Request(flowclient.Origin) (R, error)
}, R any](r *http.Request, body []byte) (req R, err error) {
	b, o, err := parse[B](r, body)
	if err != nil {
		return req, err
	}
	return b.Request(o)
}

// read answers 200 with what load gives, to a request without parameters.
func read[A any](r *http.Request, load func(context.Context) (A, error)) (int, any, error) {
	if _, err := wire.Query(r.URL.RawQuery); err != nil {
		return 0, nil, err
	}
	answer, err := load(r.Context())
	return http.StatusOK, answer, err
}
