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
	// Generation numbers what Delivery is made from: it has grown once a change
	// can be read, and before whoever made the change is told that it was made. A
	// reading of /delivery is then kept until the number changes. Nil where nobody
	// tells of changes: each request reads anew.
	Generation func() uint64
	// Health tells why the surface is not to be relied on; its text is read by
	// everybody. Nil: it always is.
	Health func() error
	Now    func() time.Time // time.Now
	Log    *slog.Logger     // slog.Default
}

// Server answers the flow endpoints. New makes one.
type Server struct {
	cfg      Config
	kept     latest
	describe func() (encoded, error) // the surface's description, made when it is first asked for

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
	return &Server{
		cfg: cfg, missed: map[string]bool{},
		describe: sync.OnceValues(func() (encoded, error) { return describe(endpoints) }),
	}, nil
}

// Handler answers the endpoints. A request without the token learns nothing
// but what /openapi.json tells everybody: neither which projects and runs there
// are, nor whether a path is one. GET /healthz is answered as on every surface.
func (s *Server) Handler() http.Handler {
	routes := route(endpoints)
	return web.Health(s.health(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		methods := find(routes, r)
		asked := r.Method
		if asked == http.MethodHead {
			asked = http.MethodGet
		}
		e, found := methods[asked]
		if found {
			r.Pattern = e.method + " " + e.path // what traces and metrics name the request by
		}
		open := found && e.access != token // of one that is signed, serve verifies the signature
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
			reply(w, r, http.StatusMethodNotAllowed, wire.Error{Error: web.Echo(r.Method) + " is not answered on " + web.Echo(r.URL.Path) + "; use " + allowed})
		default:
			s.answer(w, r, e)
		}
	}))
}

// health is what package web asks before it says that the surface is well; nil
// where nothing was given that could tell.
func (s *Server) health() func(context.Context) error {
	if s.cfg.Health == nil {
		return nil
	}
	return func(context.Context) error { return s.cfg.Health() }
}

// answer reads the body, serves the endpoint and writes what came of it.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, e endpoint) {
	body, err := e.body(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	status, answer, err := e.serve(s, r, body)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	reply(w, r, status, answer)
}

// body is what a request sends; one that would go unread is refused, since
// whoever sends it means something by it.
func (e endpoint) body(r *http.Request) ([]byte, error) {
	if e.takes() {
		return readBody(r)
	}
	if r.ContentLength != 0 {
		return nil, &flowclient.Invalid{Field: "body", Why: "is not read by " + e.method + " " + e.path + "; what it is asked stands in the address"}
	}
	return nil, nil
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
