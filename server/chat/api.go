package chat

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"platform.dev/platform/server/web"
)

// apiRoot is the path before every endpoint's.
const apiRoot = "/api/v1"

// maxClientName is the longest name of a client program kept with a message.
const maxClientName = 30

// call is one request to an endpoint, signed in.
type call struct {
	ctx    context.Context
	who    account // the zero account where the endpoint is open to all
	params *params
	path   func(name string) string // wildcards of the pattern
	agent  string                   // the program's name, from its User-Agent
}

// reply is the fields of a success beside result and msg.
type reply map[string]any

// endpoint is one method on one path.
type endpoint struct {
	method, path string
	open         bool // needs no sign-in
	bodiless     bool // what is sent with it is not read
	serve        func(s *Server, c *call) (reply, error)
}

// endpoints is the whole API: what is not here is answered 404.
var endpoints = []endpoint{
	{method: "GET", path: "/server_settings", open: true, serve: (*Server).serverSettings},
	{method: "POST", path: "/register", serve: (*Server).register},
	{method: "GET", path: "/events", serve: (*Server).getEvents},
	{method: "DELETE", path: "/events", serve: (*Server).deleteQueue},
	{method: "GET", path: "/messages", serve: (*Server).getMessages},
	{method: "POST", path: "/messages", serve: (*Server).postMessage},
	{method: "POST", path: "/messages/flags", serve: (*Server).updateFlags},
	{method: "POST", path: "/messages/render", serve: (*Server).renderMessage},
	{method: "GET", path: "/messages/{message_id}", serve: (*Server).getMessage},
	{method: "PATCH", path: "/messages/{message_id}", serve: (*Server).editMessage},
	{method: "GET", path: "/messages/{message_id}/history", serve: (*Server).getHistory},
	{method: "POST", path: "/messages/{message_id}/reactions", serve: (*Server).addReaction},
	{method: "DELETE", path: "/messages/{message_id}/reactions", serve: (*Server).removeReaction},
	{method: "GET", path: "/users", serve: (*Server).getUsers},
	{method: "GET", path: "/users/me", serve: (*Server).getMe},
	{method: "GET", path: "/users/{user}", serve: (*Server).getUser},
	{method: "POST", path: "/users/me/presence", serve: (*Server).postPresence},
	{method: "GET", path: "/users/me/subscriptions", serve: (*Server).getSubscriptions},
	{method: "POST", path: "/users/me/subscriptions", serve: (*Server).subscribe},
	{method: "DELETE", path: "/users/me/subscriptions", serve: (*Server).unsubscribe},
	{method: "PATCH", path: "/users/me/subscriptions", serve: (*Server).changeSubscriptions},
	{method: "GET", path: "/users/me/{stream_id}/topics", serve: (*Server).getTopics},
	{method: "GET", path: "/streams", serve: (*Server).getStreams},
	{method: "GET", path: "/streams/{stream_id}", serve: (*Server).getStream},
	{method: "GET", path: "/streams/{stream_id}/members", serve: (*Server).getMembers},
	{method: "GET", path: "/get_stream_id", serve: (*Server).getStreamID},
	{method: "GET", path: "/realm/emoji", serve: (*Server).getEmoji},
	{method: "POST", path: "/typing", serve: (*Server).postTyping},
	{method: "DELETE", path: "/messages/{message_id}", serve: (*Server).deleteMessage},
	{method: "GET", path: "/messages/{message_id}/read_receipts", serve: (*Server).readReceipts},
	{method: "POST", path: "/mark_all_as_read", serve: (*Server).markAllRead},
	{method: "POST", path: "/mark_stream_as_read", serve: (*Server).markStreamRead},
	{method: "POST", path: "/mark_topic_as_read", serve: (*Server).markTopicRead},
	{method: "POST", path: "/user_uploads", bodiless: true, serve: (*Server).upload},
	{method: "GET", path: "/attachments", serve: (*Server).attachments},
	{method: "GET", path: "/user_groups", serve: (*Server).getUserGroups},
	{method: "GET", path: "/users/{user}/{kind}/{stream_id}", serve: (*Server).getSubscribed},
	{method: "GET", path: "/users/{user}/presence", serve: (*Server).userPresence},
	{method: "GET", path: "/users/{user}/status", serve: (*Server).userStatus},
	{method: "POST", path: "/users/me/status", serve: (*Server).setStatus},
	{method: "GET", path: "/users/me/alert_words", serve: (*Server).alertWords},
	{method: "GET", path: "/realm/presence", serve: (*Server).realmPresence},
	{method: "GET", path: "/realm/linkifiers", serve: (*Server).linkifiers},
	{method: "GET", path: "/realm/filters", serve: (*Server).filters},
	{method: "GET", path: "/realm/profile_fields", serve: (*Server).profileFields},
	{method: "POST", path: "/users/me/sign_in_code", serve: (*Server).signInCode},
}

// Handler serves the API under /api/v1, the pages at / and the same as JSON
// under /api. It takes no write that a browser sends from another origin.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	byPath := map[string]map[string]endpoint{}
	for _, e := range endpoints {
		if byPath[e.path] == nil {
			byPath[e.path] = map[string]endpoint{}
		}
		byPath[e.path][e.method] = e
	}
	for path, methods := range byPath {
		mux.Handle(apiRoot+path, s.dispatch(methods))
	}
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		s.answerError(w, r, &apiError{status: http.StatusNotFound, code: codeBadRequest, msg: "Not found: " + r.URL.Path})
	})
	s.servePages(mux)
	return web.SameOrigin(mux)
}

// dispatch picks the endpoint of a path by method; another method is answered 405.
func (s *Server) dispatch(methods map[string]endpoint) http.Handler {
	allowed := slices.Sorted(maps.Keys(methods))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e, ok := methods[r.Method]
		if !ok {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			s.answerError(w, r, &apiError{status: http.StatusMethodNotAllowed, code: codeMethodNotAllowed,
				msg: "Method Not Allowed", extra: map[string]any{"allowed_methods": allowed}})
			return
		}
		s.answer(w, r, e)
	})
}

// answer signs in, counts, reads the parameters, serves and writes the result.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, e endpoint) {
	w.Header().Set("Cache-Control", "no-store")
	c := &call{ctx: r.Context(), path: r.PathValue, agent: clientName(r.UserAgent())}
	if !e.open {
		who, err := s.signIn(r)
		if err == nil {
			err = s.limits.take(w.Header(), who.ID, s.cfg.Now())
		}
		if err != nil {
			s.answerError(w, r, err)
			return
		}
		c.who = who
	}
	var err error
	if c.params = (&params{}); !e.bodiless {
		c.params, err = readParams(r)
	}
	if err != nil {
		s.answerError(w, r, err)
		return
	}
	out, err := e.serve(s, c)
	if err != nil {
		s.answerError(w, r, err)
		return
	}
	body := map[string]any{"result": "success", "msg": ""}
	maps.Copy(body, out)
	if ignored := c.params.ignored(); len(ignored) > 0 {
		body["ignored_parameters_unsupported"] = ignored
	}
	web.JSON(w, http.StatusOK, body)
}

// signIn is the account of the request's Basic credentials, email and API key,
// or, without any, of the browser's session.
func (s *Server) signIn(r *http.Request) (account, error) {
	refuse := func(code, msg string) error {
		return &apiError{status: http.StatusUnauthorized, code: code, msg: msg}
	}
	email, key, ok := r.BasicAuth()
	if !ok {
		who, found, err := s.session(r)
		if err == nil && !found {
			err = refuse(codeUnauthenticated, "Not logged in: API authentication or user session required")
		}
		return who, err
	}
	who, found := s.byKey(email, key)
	if !found {
		return account{}, refuse(codeInvalidKey, "Invalid API key")
	}
	return who, nil
}

// byKey is the account with an address, when key is its API key.
func (s *Server) byKey(email, key string) (account, bool) {
	who, found := s.people.byEmail(email)
	want := who.APIKey
	if !found {
		want = newAPIKey() // an unknown address takes the same time as a wrong key
	}
	return who, web.SameSecret(key, want)
}

// clientName is the program's name in a User-Agent such as "platform/1.0 (linux)".
func clientName(agent string) string {
	name, _, _ := strings.Cut(agent, "/")
	name, _, _ = strings.Cut(name, " ")
	if name == "" {
		return "Unspecified"
	}
	if name == "Mozilla" {
		return "website"
	}
	return cut(name, maxClientName, "")
}

// id is a number in the path; what names it in the error.
func (c *call) id(name, what string) (int64, error) {
	n, err := strconv.ParseInt(c.path(name), 10, 64)
	if err != nil || n < 1 {
		return 0, bad("Invalid %s", what)
	}
	return n, nil
}

// cut shortens text to at most limit code points, the last of them being mark, as Zulip truncates.
func cut(text string, limit int, mark string) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit-len([]rune(mark))]) + mark
}
