package chat

import (
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// avatar serves GET /avatar/{user}: an account's initials on a colour of its own.
func (s *Server) avatar(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.PathValue("user"), 10, 64)
	a, found := s.people.byID(id)
	if err != nil || !found {
		http.NotFound(w, r)
		return
	}
	writePicture(w, a.FullName, id)
}

// writePicture writes the initials of a name as an image.
func writePicture(w http.ResponseWriter, name string, id int64) {
	var initials strings.Builder
	for i, word := range strings.Fields(name) {
		if i < 2 {
			first, _ := utf8.DecodeRuneInString(word)
			initials.WriteRune(first)
		}
	}
	hue := (id * 67) % 360
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 80 80"><rect width="80" height="80" rx="12" fill="hsl(%d,45%%,45%%)"/>`+
		`<text x="40" y="53" text-anchor="middle" font-family="sans-serif" font-size="36" fill="#fff">%s</text></svg>`, hue, html.EscapeString(initials.String()))
}
