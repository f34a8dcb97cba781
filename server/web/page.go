package web

import (
	_ "embed"
	"net/http"
	"strings"
)

//go:embed page.css
var pageStyle string

// pagePolicy lets a page load its own surface's styles, scripts and pictures
// and nothing else; it is shown in no frame and sends no form.
const pagePolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// livePolicy is pagePolicy for pages that send forms to their own surface and ask it by script.
const livePolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// Page answers status with a whole page of HTML. What is foreign in it has been
// escaped by its template; the headers keep a browser from running it all the same.
func Page(w http.ResponseWriter, status int, page []byte) { writePage(w, status, pagePolicy, page) }

// LivePage is Page for a page that may send forms to its own surface and ask it by script.
func LivePage(w http.ResponseWriter, status int, page []byte) {
	writePage(w, status, livePolicy, page)
}

// writePage answers with a page under a policy.
func writePage(w http.ResponseWriter, status int, policy string, page []byte) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(page) // the client went away: there is nobody to tell
}

// Style answers with the style that every surface's pages have, and the surface's own after it.
func Style(own []byte) http.HandlerFunc {
	return Asset("text/css; charset=utf-8", append([]byte(pageStyle), own...))
}

// Asset answers with a file that pages load, such as their style; kind is its media type.
func Asset(kind string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("Cache-Control", "max-age=3600")
		h.Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(content) // the client went away: there is nobody to tell
	}
}

// Echo is text that an answer or a log repeats from a request, cut to what a person reads.
func Echo(text string) string {
	const most = 200 // bytes
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
