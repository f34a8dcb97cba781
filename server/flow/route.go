package flow

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"platform.dev/platform/flowclient/wire"
)

// routes are the endpoints by the number of segments of their paths, then by path.
type routes map[int]map[string]map[string]endpoint

func route(all []endpoint) routes {
	rs := routes{}
	for _, e := range all {
		n := strings.Count(e.path, "/")
		if rs[n] == nil {
			rs[n] = map[string]map[string]endpoint{}
		}
		if rs[n][e.path] == nil {
			rs[n][e.path] = map[string]endpoint{}
		}
		rs[n][e.path][e.method] = e
	}
	return rs
}

// find gives the methods of the request's path, nil when no endpoint has it,
// and sets its parameter. A parameter is one segment, whatever it is escaped to
// hold; a path that is written out goes before one with a parameter.
func find(rs routes, r *http.Request) map[string]endpoint {
	path := r.URL.EscapedPath()
	if len(path) > wire.MaxPath {
		return nil
	}
	paths := rs[strings.Count(path, "/")]
	if methods, ok := paths[path]; ok {
		return methods
	}
	for pattern, methods := range paths {
		before, rest, has := strings.Cut(pattern, "{")
		name, after, _ := strings.Cut(rest, "}")
		value, begins := strings.CutPrefix(path, before)
		value, ends := strings.CutSuffix(value, after)
		if !has || !begins || !ends || strings.Contains(value, "/") {
			continue
		}
		if value, err := url.PathUnescape(value); err == nil {
			r.SetPathValue(name, value)
			return methods
		}
	}
	return nil
}

// allow lists the methods of a path.
func allow(methods map[string]endpoint) string {
	var names []string
	for name := range methods {
		names = append(names, name)
		if name == http.MethodGet {
			names = append(names, http.MethodHead)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
