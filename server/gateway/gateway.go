// Package gateway is the application gateway: it routes requests by Host
// header and path prefix to handlers. Tables are replaced whole and read
// without a lock, so that a switch of release neither drops nor delays a
// request: what has begun finishes on the handler it began with.
//
// It knows nothing of releases, images, or what its handlers serve.
package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"platform.dev/platform/server/web"
)

// Header marks an answer of the gateway's own, as opposed to one of an
// application behind it; its value is Unbound.
const Header = "X-Platform-Gateway"

// Unbound is the value of Header on a 404: no application answers to the
// request's Host, or none of the Host's to its path.
const Unbound = "unbound"

// ErrTaken is the error of Bind when another name holds the prefix.
var ErrTaken = errors.New("the path is taken")

// Route sends the paths under a prefix to a handler.
type Route struct {
	Prefix  string       // "/web-http": begins with a slash and ends without one
	Name    string       // who bound it: "web-staging"
	Handler http.Handler // sees the path with the prefix removed and X-Forwarded-Prefix set
}

// table is the routes of one host, longest prefix first. It is never changed
// once it can be read.
type table []Route

// Server holds the routing tables. New makes one; every method is safe for concurrent use.
type Server struct {
	own    map[string]bool
	change sync.Mutex                       // held by writers, never by a request
	hosts  atomic.Pointer[map[string]table] // snapshot that requests read
}

// Config says what the gateway is called.
type Config struct {
	// Own are the names of the gateway's own address, without port, where it
	// answers health and an index. Loopback addresses and "localhost" are always among them.
	Own []string
}

// New makes a gateway that routes nothing yet.
func New(cfg Config) *Server {
	s := &Server{own: map[string]bool{"127.0.0.1": true, "::1": true, "localhost": true}}
	for _, name := range cfg.Own {
		s.own[strings.ToLower(name)] = true
	}
	s.hosts.Store(&map[string]table{})
	return s
}

// Set replaces the routes of a host, all at once; none removes the host. The
// error names a host or a prefix that cannot be routed, and nothing is changed.
func (s *Server) Set(host string, routes []Route) error {
	host, err := s.hostname(host)
	if err != nil {
		return err
	}
	t, err := newTable(routes)
	if err != nil {
		return fmt.Errorf("routes of %s: %w", host, err)
	}
	s.change.Lock()
	defer s.change.Unlock()
	s.store(host, t)
	return nil
}

// Bind routes a prefix of a host to h under a name. The same name again
// replaces its handler; ErrTaken when another name holds the prefix.
func (s *Server) Bind(host, prefix, name string, h http.Handler) error {
	host, err := s.hostname(host)
	if err != nil {
		return err
	}
	s.change.Lock()
	defer s.change.Unlock()
	old := (*s.hosts.Load())[host]
	next := make([]Route, 0, len(old)+1)
	for _, r := range old {
		switch {
		case r.Prefix != prefix:
			next = append(next, r)
		case r.Name != name:
			return fmt.Errorf("bind %s%s to %s: %w: %s holds it", host, prefix, name, ErrTaken, r.Name)
		}
	}
	t, err := newTable(append(next, Route{Prefix: prefix, Name: name, Handler: h}))
	if err != nil {
		return fmt.Errorf("bind %s%s to %s: %w", host, prefix, name, err)
	}
	s.store(host, t)
	return nil
}

// Unbind removes a prefix of a host when name holds it; otherwise it changes nothing.
func (s *Server) Unbind(host, prefix, name string) {
	host = web.Hostname(host)
	s.change.Lock()
	defer s.change.Unlock()
	old := (*s.hosts.Load())[host]
	next := slices.DeleteFunc(slices.Clone(old), func(r Route) bool { return r.Prefix == prefix && r.Name == name })
	if len(next) != len(old) {
		s.store(host, next)
	}
}

// Hosts lists the bound hosts with their routes' prefixes, both sorted.
func (s *Server) Hosts() map[string][]string {
	hosts := map[string][]string{}
	for host, t := range *s.hosts.Load() {
		hosts[host] = t.prefixes()
	}
	return hosts
}

// store publishes a snapshot in which host has t. The caller holds change.
func (s *Server) store(host string, t table) {
	next := maps.Clone(*s.hosts.Load())
	if len(t) == 0 {
		delete(next, host)
	} else {
		next[host] = t
	}
	s.hosts.Store(&next)
}

// hostname checks that host may be bound: a DNS name that is not the gateway's own.
func (s *Server) hostname(host string) (string, error) {
	name := web.Hostname(host)
	switch {
	case len(name) > 253 || !hostPattern.MatchString(name):
		return "", fmt.Errorf("host %q: is not a host name", host)
	case s.own[name]:
		return "", fmt.Errorf("host %q: is the gateway's own address", host)
	}
	return name, nil
}

var (
	hostPattern   = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)
	prefixPattern = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$`)
)

// newTable checks the routes and orders them, longest prefix first.
func newTable(routes []Route) (table, error) {
	t := slices.Clone(table(routes))
	slices.SortFunc(t, func(a, b Route) int {
		return cmp.Or(cmp.Compare(len(b.Prefix), len(a.Prefix)), cmp.Compare(a.Prefix, b.Prefix))
	})
	for i, r := range t {
		switch {
		case !prefixPattern.MatchString(r.Prefix):
			return nil, fmt.Errorf("prefix %q: must be segments such as /web-http, without a slash at the end", r.Prefix)
		case r.Handler == nil:
			return nil, fmt.Errorf("prefix %q: has no handler", r.Prefix)
		case i > 0 && t[i-1].Prefix == r.Prefix:
			return nil, fmt.Errorf("prefix %q: is given twice", r.Prefix)
		}
	}
	return t, nil
}

// prefixes lists the table's prefixes, sorted.
func (t table) prefixes() []string {
	names := make([]string, len(t))
	for i, r := range t {
		names[i] = r.Prefix
	}
	slices.Sort(names)
	return names
}
