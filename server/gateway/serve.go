package gateway

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"platform.dev/platform/server/web"
)

// ForwardedPrefix is the header that tells an application which prefix was removed from its path.
const ForwardedPrefix = "X-Forwarded-Prefix"

// Handler answers for every Host: applications by their tables; the gateway's
// own address with /healthz and an index of what is bound. It must not stand
// behind web.Hosts, since it checks the Host itself.
func (s *Server) Handler() http.Handler {
	own := http.NewServeMux()
	own.HandleFunc("GET /{$}", s.index)
	own.HandleFunc("GET /style.css", web.Style(nil))
	own.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, fmt.Sprintf("%s is the gateway's own address, and %q is no page of it. Applications answer to a Host of their own; / lists them.\n",
			web.Hostname(r.Host), web.Echo(r.URL.Path)))
	})
	healthy := web.Health(nil, own)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := web.Hostname(r.Host)
		if s.own[host] {
			healthy.ServeHTTP(w, r)
			return
		}
		t, bound := (*s.hosts.Load())[host]
		if !bound {
			refuse(w, fmt.Sprintf("no application is bound to the host %q: nothing is deployed under that name, or it was taken out of service.\n", web.Echo(host)))
			return
		}
		t.serve(w, r)
	})
}

// serve hands the request to the route with the longest prefix of its path.
func (t table) serve(w http.ResponseWriter, r *http.Request) {
	for _, route := range t {
		rest, found := strings.CutPrefix(r.URL.Path, route.Prefix)
		switch {
		case !found || rest != "" && rest[0] != '/':
			continue
		case rest == "":
			redirect(w, r, route.Prefix+"/")
		default:
			r.Pattern = route.Prefix + "/" // what traces and metrics name the request by
			route.Handler.ServeHTTP(w, stripped(r, route.Prefix, rest))
		}
		return
	}
	refuse(w, fmt.Sprintf("host %q has no application at %q. Its paths: %s\n",
		web.Hostname(r.Host), web.Echo(r.URL.Path), strings.Join(t.prefixes(), ", ")))
}

// stripped is the request as the application sees it: rest for a path, the prefix in a header.
func stripped(r *http.Request, prefix, rest string) *http.Request {
	out := r.Clone(r.Context())
	out.URL.Path = rest
	out.URL.RawPath = skip(r.URL.RawPath, len(prefix))
	out.Header.Set(ForwardedPrefix, prefix) // replaces whatever the client claimed
	return out
}

// skip removes the first n characters, counted decoded, of an escaped path.
func skip(escaped string, n int) string {
	for ; n > 0 && escaped != ""; n-- {
		if escaped[0] == '%' && len(escaped) >= 3 {
			escaped = escaped[3:]
		} else {
			escaped = escaped[1:]
		}
	}
	return escaped
}

// redirect sends the client to path with the query kept: relative links of a
// page at /prefix would otherwise resolve beside the application. The status
// is a temporary one, since what is bound may change.
func redirect(w http.ResponseWriter, r *http.Request, path string) {
	to := url.URL{Path: path, RawQuery: r.URL.RawQuery}
	w.Header().Set("Location", to.String())
	w.WriteHeader(http.StatusTemporaryRedirect)
}

// refuse answers 404 in the gateway's own name.
func refuse(w http.ResponseWriter, sentence string) {
	h := w.Header()
	h.Set(Header, Unbound)
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusNotFound)
	_, _ = fmt.Fprint(w, sentence) // the client went away: there is nobody to tell
}

var indexPage = template.Must(template.New("index").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Application gateway</title><link rel="stylesheet" href="/style.css"></head>
<body><h1>Application gateway</h1>
{{if .}}<ul>{{range .}}
<li><a href="{{.URL}}">{{.Name}}</a></li>{{end}}
</ul>{{else}}<p>No application is bound. A deployment appears here once it is Ready.</p>{{end}}
</body></html>
`))

// index lists the bound hosts and prefixes as links.
func (s *Server) index(w http.ResponseWriter, r *http.Request) {
	port := ""
	if u, err := url.Parse("//" + r.Host); err == nil && u.Port() != "" {
		port = ":" + u.Port()
	}
	type link struct{ Name, URL string }
	var links []link
	for host, prefixes := range s.Hosts() {
		for _, prefix := range prefixes {
			links = append(links, link{Name: host + prefix + "/", URL: "http://" + host + port + prefix + "/"})
		}
	}
	slices.SortFunc(links, func(a, b link) int { return strings.Compare(a.Name, b.Name) })
	var page bytes.Buffer
	if err := indexPage.Execute(&page, links); err != nil {
		http.Error(w, "the index cannot be shown", http.StatusInternalServerError)
		return
	}
	web.Page(w, http.StatusOK, page.Bytes())
}
