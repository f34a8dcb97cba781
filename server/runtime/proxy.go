package runtime

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"platform.dev/platform/server/web"
)

// Times of a backend's connections. The idle one is shorter than any server's
// own, so that it is always this side that closes: a request on a connection
// that the server is closing would be lost.
const (
	dialWithin   = 5 * time.Second
	headerWithin = time.Minute
	idleFor      = time.Second
	idleHost     = 64 // connections kept
)

// backend is a process as requests reach it.
type backend struct {
	target    string // host:port
	transport *http.Transport
	log       *log.Logger // of answers cut short, by whichever side
}

// newBackend makes the way to a process.
func newBackend(p *process) *backend {
	return &backend{
		target: p.address(),
		log:    slog.NewLogLogger(p.s.cfg.Log.Handler(), slog.LevelDebug),
		transport: &http.Transport{
			DialContext:           (&net.Dialer{Timeout: dialWithin}).DialContext,
			ResponseHeaderTimeout: headerWithin,
			ExpectContinueTimeout: time.Second,
			IdleConnTimeout:       idleFor,
			MaxIdleConnsPerHost:   idleHost,
			DisableCompression:    true,
		},
	}
}

// proxy passes requests on to a base path of the process: bodies, answers and
// upgrades such as WebSocket as they come. X-Forwarded-For, -Host and -Proto
// are set anew; X-Forwarded-Prefix is the gateway's.
func (b *backend) proxy(base string, unanswered func(http.ResponseWriter, *http.Request, error)) http.Handler {
	target := &url.URL{Scheme: "http", Host: b.target, Path: base}
	return &httputil.ReverseProxy{
		Transport: b.transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			r.SetXForwarded()
		},
		ErrorHandler: unanswered,
		ErrorLog:     b.log,
	}
}

// close closes the connections that no request uses.
func (b *backend) close() { b.transport.CloseIdleConnections() }

// endpoint answers for one endpoint of a service: through its current version
// and, while that has no such endpoint, the one it was bound for.
type endpoint struct {
	name  string
	bound *version
}

// handler answers for the route.
func (n *version) handler(r planned) http.Handler { return endpoint{r.endpoint, n} }

// ServeHTTP hands the request to the process, or says that there is none.
func (e endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, up, base := e.enter()
	defer n.leave()
	if up == nil {
		n.unready(w)
		return
	}
	up.proxy(base, n.unanswered).ServeHTTP(w, r)
}

// enter picks the version that answers, counts the request among its own and
// tells where it goes. As the choice and the count are one step, a replaced
// version without requests gets none any more.
func (e endpoint) enter() (*version, *backend, string) {
	v := e.bound.service
	v.mu.Lock()
	defer v.mu.Unlock()
	n, base := e.bound, ""
	for _, candidate := range []*version{e.bound, v.current} {
		if candidate == nil {
			continue
		}
		if b, ok := candidate.spec.plan.base(e.name); ok {
			n, base = candidate, b
		}
	}
	n.requests++
	return n, n.up, base
}

// leave counts a request out.
func (n *version) leave() {
	n.service.mu.Lock()
	defer n.service.mu.Unlock()
	if n.requests--; n.requests == 0 && n.idle != nil {
		close(n.idle)
		n.idle = nil // what comes late does not close it again
	}
}

// base is where the endpoint's paths lie within the application.
func (p plan) base(endpoint string) (string, bool) {
	for _, r := range p.routes {
		if r.endpoint == endpoint {
			return r.base, true
		}
	}
	return "", false
}

// unanswered answers for a process that did not.
func (n *version) unanswered(w http.ResponseWriter, r *http.Request, err error) {
	var late net.Error
	switch {
	case r.Context().Err() != nil:
		w.WriteHeader(http.StatusBadGateway) // the client went away: there is nobody to tell
	case errors.As(err, &late) && late.Timeout():
		n.gone(w, http.StatusGatewayTimeout, fmt.Sprintf("It did not answer within %s.", headerWithin), runsOn)
	default:
		n.service.s.cfg.Log.Warn("request not answered", "name", n.spec.name, "err", err)
		n.gone(w, http.StatusBadGateway, "Its process ended, or closed the connection without an answer.", runsOn)
	}
}

var gonePage = template.Must(template.New("gone").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{.Component}} does not answer</title></head>
<body><h1>{{.Component}} does not answer</h1>
<p>{{.What}}</p>
<p>{{.State}}</p>
</body></html>
`))

// runsOn is what is known of a process that left one request unanswered: if it
// has ended, the next request is told.
const runsOn = "Ask again."

// gone is the page in the place of an answer. It names the component.
func (n *version) gone(w http.ResponseWriter, status int, what, state string) {
	var page bytes.Buffer
	// Three texts: the template cannot fail on them.
	_ = gonePage.Execute(&page, struct{ Component, What, State string }{n.spec.component, what, state})
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Retry-After", "2")
	web.Page(w, status, page.Bytes())
}
