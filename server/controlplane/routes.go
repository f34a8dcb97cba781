package controlplane

import (
	"fmt"
	"net/http"
	"sort"
	"strings"

	"platform.dev/platform/server/web"
)

// route is one path with its methods. Routes feed the mux and /openapi.json, so
// that the document names exactly what is served.
type route struct {
	path    string // with {namespace} and {name}
	kind    *kind  // of the objects that are answered; nil where it is none
	public  bool   // no token
	methods []method
}

type method struct {
	verb    string
	summary string
	handle  http.HandlerFunc
	answers answers
}

// answers says what a method takes and gives, for /openapi.json.
type answers int

const (
	plain    answers = iota // its own shape
	one                     // object
	many                    // list of objects
	taken                   // object in, object out, 200
	made                    // object in, object out, 201
	nothing                 // 204
	readable                // text
)

const (
	inNamespace = "/api/v1/namespaces/{namespace}/"
	inCluster   = "/api/v1/"
)

// paths lists every route: two for each kind, and those that no kind has.
func (s *Server) paths() []route {
	routes := []route{
		{path: "/health", public: true, methods: []method{{"GET", "Tells that the process answers", s.health, readable}}},
		{path: "/ready", public: true, methods: []method{{"GET", "Tells that objects can be read", s.ready, readable}}},
		{path: "/version", public: true, methods: []method{{"GET", "The build that answers", s.version, plain}}},
		{path: "/openapi.json", public: true, methods: []method{{"GET", "This document", s.document, plain}}},
		{path: "/api/v1alpha1/autobuild", public: true, methods: []method{{"POST", "Starts the builds that a push asks for; the signature is the credential", s.autobuild, plain}}},
	}
	for i := range s.table {
		k := &s.table[i]
		base := inNamespace
		if k.cluster {
			base = inCluster
		}
		item := []method{{"GET", "Reads one " + string(k.name), s.show(*k), one}}
		if !k.frozen {
			item = append(item, method{"PUT", "Replaces labels, annotations and spec; If-Match makes it conditional", s.update(*k), taken})
		}
		item = append(item, method{"DELETE", "Deletes one " + string(k.name), s.remove(*k), nothing})
		routes = append(routes,
			route{path: base + k.path, kind: k, methods: []method{
				{"GET", "Lists, by name", s.list(*k), many}, {"POST", "Creates one " + string(k.name), s.create(*k), made},
			}},
			route{path: base + k.path + "/{name}", kind: k, methods: item},
		)
	}
	return append(routes,
		route{path: inNamespace + "workflowruns/{name}/status", methods: []method{{"GET", "How a run stands, stage by stage", s.runStatus, plain}}},
		route{path: inNamespace + "workflowruns/{name}/logs", methods: []method{{"GET", "What a run's stages printed", s.runLogs, plain}}},
		route{path: inNamespace + "components/{name}/generate-release", kind: s.row("ComponentRelease"), methods: []method{{"POST", "Cuts the release of what the component is now", s.generateRelease, made}}},
	)
}

// row is a kind's row of the table.
func (s *Server) row(name string) *kind {
	for i := range s.table {
		if string(s.table[i].name) == name {
			return &s.table[i]
		}
	}
	return nil
}

// routes builds the handler.
func (s *Server) routes() (http.Handler, error) {
	mux := http.NewServeMux()
	for _, r := range s.paths() {
		verbs := make([]string, 0, len(r.methods)+1)
		for _, m := range r.methods {
			handle := m.handle
			if strings.HasPrefix(r.path, inNamespace) {
				handle = s.inNamespace(handle)
			}
			if !r.public {
				handle = s.authorised(handle)
			}
			mux.HandleFunc(m.verb+" "+r.path, handle)
			verbs = append(verbs, m.verb)
		}
		refuse := s.otherMethod(verbs)
		if !r.public {
			refuse = s.authorised(refuse)
		}
		mux.HandleFunc(r.path, refuse)
	}
	mux.HandleFunc("/", s.authorised(func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, say(http.StatusNotFound, "%s is not a path of this API; /openapi.json lists them", web.Echo(r.URL.Path)))
	}))
	if s.row("ComponentRelease") == nil {
		return nil, fmt.Errorf("control plane: the table of kinds has no ComponentRelease")
	}
	return mux, nil
}

// otherMethod answers a method that a path does not have.
func (s *Server) otherMethod(verbs []string) http.HandlerFunc {
	sort.Strings(verbs)
	allow := strings.Join(verbs, ", ")
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		s.answer(w, r, say(http.StatusMethodNotAllowed, "%s is not served on %s; use %s", r.Method, web.Echo(r.URL.Path), allow))
	}
}

// inNamespace refuses every namespace but the one that is served.
func (s *Server) inNamespace(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if ns := r.PathValue("namespace"); ns != s.namespace {
			s.answer(w, r, say(http.StatusNotFound, "Namespace '%s' not found; this control plane serves '%s'", web.Echo(ns), s.namespace))
			return
		}
		next(w, r)
	}
}

// authorised asks for the bearer token, in the token check's own shape.
func (s *Server) authorised(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		refuse := func(code, message string) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="control plane"`)
			web.JSON(w, http.StatusUnauthorized, map[string]string{"error": code, "message": message})
		}
		switch token := web.Bearer(r); {
		case token == "":
			refuse("MISSING_TOKEN", "Authorization: Bearer <token> is required")
		case !web.SameSecret(token, s.token):
			refuse("INVALID_TOKEN", "the bearer token is not valid here")
		default:
			next(w, r)
		}
	}
}
