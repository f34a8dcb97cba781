// Package wire is what the flow endpoints say to their clients and hear from
// them: paths, bodies, headers, and which error is which status, both ways, so
// that a server and a client of it cannot differ.
//
// It knows nothing of how a request is served or sent.
package wire

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"platform.dev/platform/flowclient"
)

// The most that is read of a request, in bytes: its body, its query, and the
// path that names what it is about.
const (
	MaxBody  = 1 << 20
	MaxQuery = 8 << 10
	MaxPath  = 2 << 10
)

// The headers that tell where a write comes from. They are believed of whoever has the token.
const (
	HeaderKey   = "Idempotency-Key"  // the origin key: a request with a known one has its effect no second time
	HeaderActor = "X-Platform-Actor" // who asks; DefaultActor when absent
	HeaderLink  = "X-Platform-Link"  // the message that asked, an http(s) address
	HeaderTrace = "Traceparent"      // W3C trace context that the request is a part of
)

// DefaultActor is who asks when nobody is named.
const DefaultActor = "api"

// The longest values of the origin headers, in bytes: as long as the controller takes them.
const (
	maxKey   = 300
	maxActor = 200
	maxLink  = 2000
)

// OriginHeader describes one of the headers that tell where a write comes from.
type OriginHeader struct {
	Name, Says string
	Longest    int // in bytes; 0: the header's standard says
}

// OriginHeaders are all of them, for whoever describes the endpoints.
func OriginHeaders() []OriginHeader {
	return []OriginHeader{
		{HeaderKey, "Makes the request one, however often it is sent; without it each is another.", maxKey},
		{HeaderActor, "Who asks: a name for people; " + DefaultActor + " without it.", maxActor},
		{HeaderLink, "Where it was asked: an http or https address.", maxLink},
		{HeaderTrace, "The W3C trace context that the request is a part of; a malformed one is passed over.", 0},
	}
}

// Origin reads the origin of a write from its headers; a request without a key
// gets a random one. *flowclient.Invalid names the header that cannot stand.
func Origin(h http.Header) (flowclient.Origin, error) {
	o := flowclient.Origin{Key: h.Get(HeaderKey), Who: h.Get(HeaderActor), Link: h.Get(HeaderLink)}
	for _, header := range []string{HeaderKey, HeaderActor, HeaderLink} {
		if all := h.Values(header); len(all) > 1 {
			return flowclient.Origin{}, invalid(header, all[1], "is given twice")
		}
	}
	for _, v := range []struct {
		header, value string
		longest       int
	}{{HeaderKey, o.Key, maxKey}, {HeaderActor, o.Who, maxActor}, {HeaderLink, o.Link, maxLink}} {
		if err := printable(v.header, v.value, v.longest); err != nil {
			return flowclient.Origin{}, err
		}
	}
	if err := address(HeaderLink, o.Link); err != nil {
		return flowclient.Origin{}, err
	}
	o.Trace = Trace(h)
	if o.Key == "" {
		o.Key = "api:" + rand.Text()
	}
	if o.Who == "" {
		o.Who = DefaultActor
	}
	return o, nil
}

// Trace is the trace context of a request, empty where it has none. A malformed
// one is dropped, as its standard asks: it says nothing about the request.
func Trace(h http.Header) string {
	if trace := h.Get(HeaderTrace); isTrace(trace) {
		return trace
	}
	return ""
}

// SetOrigin writes an origin into headers.
func SetOrigin(h http.Header, o flowclient.Origin) {
	for header, value := range map[string]string{HeaderKey: o.Key, HeaderActor: o.Who, HeaderLink: o.Link} {
		if value != "" {
			h.Set(header, value)
		}
	}
	if isTrace(o.Trace) {
		h.Set(HeaderTrace, o.Trace)
	}
}

// CheckOrigin tells whether headers can carry an origin: it has a key and
// somebody who asks. *flowclient.Invalid names the field, as the controller would.
func CheckOrigin(o flowclient.Origin) error {
	for _, v := range []struct {
		field, value string
		longest      int
		needed       bool
	}{{"origin.key", o.Key, maxKey, true}, {"origin.who", o.Who, maxActor, true}, {"origin.link", o.Link, maxLink, false}} {
		if v.needed && strings.TrimSpace(v.value) == "" {
			return invalid(v.field, v.value, "is missing")
		}
		if err := printable(v.field, v.value, v.longest); err != nil {
			return err
		}
	}
	return address("origin.link", o.Link)
}

// address refuses a link that is no web address; none at all is fine.
func address(field, value string) error {
	if value == "" {
		return nil
	}
	if u, err := url.Parse(value); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return invalid(field, value, "must be an http or https address")
	}
	return nil
}

// traceparent is version 00 of the header; the ids must not be all zeros.
var traceparent = regexp.MustCompile(`^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$`)

func isTrace(value string) bool {
	m := traceparent.FindStringSubmatch(value)
	return m != nil && strings.Trim(m[1], "0") != "" && strings.Trim(m[2], "0") != ""
}

// Address is a path with the value in the place of its one parameter.
func Address(pattern, value string) string {
	before, rest, _ := strings.Cut(pattern, "{")
	_, after, _ := strings.Cut(rest, "}")
	return before + url.PathEscape(value) + after
}

// printable refuses a header value that is too long or would spoil a line of a log.
func printable(field, value string, longest int) error {
	if len(value) > longest {
		return invalid(field, value, "is longer than %d bytes", longest)
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return invalid(field, value, "holds control characters")
	}
	return nil
}

// required is a field that must not be empty.
func required(field, value string) error {
	if strings.TrimSpace(value) == "" {
		return invalid(field, value, "is required")
	}
	return nil
}

// parseQuery reads a query string; *flowclient.Invalid when it is malformed.
func parseQuery(raw string) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, invalid("query", raw, "is malformed: %v", err)
	}
	return values, nil
}
