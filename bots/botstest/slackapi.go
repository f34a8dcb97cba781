package botstest

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SlackFault is what goes wrong with one call of a method.
type SlackFault struct {
	Method string // "chat.postMessage"; "" is any
	Kind   SlackFaultKind
	After  time.Duration // of SlackLimited
	Code   string        // of SlackRefused: Slack's error code
	Why    []string      // of SlackRefused: Slack's sentences about it
}

// SlackFaultKind tells what goes wrong with a call.
type SlackFaultKind int

// What can go wrong with a call.
const (
	SlackFine     SlackFaultKind = iota // nothing: the call passes
	SlackLimited                        // 429 with Retry-After
	SlackLost                           // carried out, and the connection cut
	SlackVanished                       // not carried out, and the connection cut
	SlackBroken                         // 503 from something in front of Slack
	SlackRefused                        // an answer with the code
	SlackPage                           // 200 with a page, from something in front of Slack
	SlackEmpty                          // 200 with JSON that is no answer of Slack's
	SlackSilent                         // carried out, and never answered: whoever asks gives up
)

// slackCall is one call of the Web API.
type slackCall struct {
	app  *slackApp
	form url.Values
	host string
}

// text is a parameter.
func (c slackCall) text(name string) string { return c.form.Get(name) }

// yes reads a parameter that is true or not.
func (c slackCall) yes(name string) bool { return c.text(name) == "1" || c.text(name) == "true" }

// number reads a number, or a default within a bound.
func (c slackCall) number(name string, otherwise, most int) int {
	n, err := strconv.Atoi(c.text(name))
	if err != nil || n <= 0 {
		n = otherwise
	}
	return min(n, most)
}

// answer is what a method answers beside "ok".
type answer map[string]any

// slackMethods are the methods of the Web API; code is an error's, "" without one.
// They run one at a time, with the lock held.
var slackMethods = map[string]func(s *Slack, c slackCall) (answer, string){
	"apps.connections.open": (*Slack).openStream,
	"auth.test":             (*Slack).authTest,
	"chat.postMessage":      (*Slack).chatPostMessage,
	"chat.update":           (*Slack).chatUpdate,
	"chat.delete":           (*Slack).chatDelete,
	"chat.getPermalink":     (*Slack).chatGetPermalink,
	"reactions.add":         (*Slack).reactionsAdd,
	"reactions.remove":      (*Slack).reactionsRemove,
	"conversations.list":    (*Slack).conversationsList,
	"conversations.info":    (*Slack).conversationsInfo,
	"conversations.history": (*Slack).conversationsHistory,
	"conversations.replies": (*Slack).conversationsReplies,
	"conversations.join":    (*Slack).conversationsJoin,
	"conversations.create":  (*Slack).conversationsCreate,
	"conversations.invite":  (*Slack).conversationsInvite,
	"conversations.open":    (*Slack).conversationsOpen,
	"users.info":            (*Slack).usersInfo,
	"users.list":            (*Slack).usersList,
	"users.conversations":   (*Slack).usersConversations,
}

// handler serves the Web API and the event streams.
func (s *Slack) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/{method}", s.serveMethod)
	mux.HandleFunc("GET /api/{method}", s.serveMethod)
	mux.HandleFunc("GET /link", s.serveStream)
	return mux
}

func (s *Slack) serveMethod(w http.ResponseWriter, r *http.Request) {
	method := r.PathValue("method")
	form, token, err := slackForm(w, r)
	if err != nil {
		slackAnswer(w, answer{}, "invalid_form_data")
		return
	}
	s.mu.Lock()
	slow, fault := s.slow, s.fault(method)
	s.calls[method]++
	s.mu.Unlock()
	if slow > 0 {
		wait(r.Context(), slow)
	}
	switch fault.Kind {
	case SlackLimited:
		limited(w, fault.After)
		return
	case SlackVanished:
		panic(http.ErrAbortHandler)
	case SlackBroken:
		http.Error(w, "<html>upstream connect error</html>", http.StatusServiceUnavailable)
		return
	case SlackRefused:
		slackAnswer(w, answer{"response_metadata": answer{"messages": fault.Why}}, fault.Code)
		return
	case SlackPage:
		_, _ = w.Write([]byte("<!doctype html><title>Sign in to the network</title>"))
		return
	case SlackEmpty:
		_, _ = w.Write([]byte(`{"status":"maintenance"}`))
		return
	}
	a, code, after := s.carryOut(method, token, slackCall{form: form, host: r.Host})
	switch {
	case fault.Kind == SlackLost:
		panic(http.ErrAbortHandler)
	case fault.Kind == SlackSilent:
		<-r.Context().Done()
	case after > 0:
		limited(w, after)
	default:
		slackAnswer(w, a, code)
	}
}

// carryOut makes one call. after is not zero when there were too many.
func (s *Slack) carryOut(method, token string, c slackCall) (a answer, code string, after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do, known := slackMethods[method]
	if !known {
		return nil, "unknown_method", 0
	}
	if token == "" {
		return nil, "not_authed", 0
	}
	forApp := method == "apps.connections.open"
	for _, app := range s.apps {
		switch {
		case forApp && token == app.AppToken, !forApp && token == app.BotToken:
			c.app = app
		case token == app.AppToken || token == app.BotToken:
			return nil, "not_allowed_token_type", 0
		}
	}
	if c.app == nil {
		return nil, "invalid_auth", 0
	}
	if method == "chat.postMessage" {
		if after := s.tooSoon(c); after > 0 {
			return nil, "", after
		}
	}
	a, code = do(s, c)
	return a, code, 0
}

// tooSoon is how long an app must wait before it may post to a channel again.
func (s *Slack) tooSoon(c slackCall) time.Duration {
	key, now := c.app.id+c.text("channel"), s.cfg.Now()
	if at, ok := s.posted[key]; ok && now.Sub(at) < s.cfg.PostEvery {
		return s.cfg.PostEvery - now.Sub(at)
	}
	s.posted[key] = now
	return 0
}

// fault is what goes wrong with this call; the lock is held.
func (s *Slack) fault(method string) SlackFault {
	i := slices.IndexFunc(s.faults, func(f SlackFault) bool { return f.Method == "" || f.Method == method })
	if i < 0 {
		return SlackFault{}
	}
	f := s.faults[i]
	s.faults = slices.Delete(s.faults, i, i+1)
	return f
}

// slackForm reads a call's parameters, from a form or from JSON, and its token.
func slackForm(w http.ResponseWriter, r *http.Request) (form url.Values, token string, err error) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		fields := map[string]json.RawMessage{}
		if err := json.NewDecoder(r.Body).Decode(&fields); err != nil && r.ContentLength > 0 {
			return nil, "", err
		}
		form = url.Values{}
		for name, value := range fields {
			var text string
			if json.Unmarshal(value, &text) != nil {
				text = string(value)
			}
			form.Set(name, text)
		}
		return form, bearer, nil
	}
	if err := r.ParseForm(); err != nil {
		return nil, "", err
	}
	if bearer == "" {
		bearer = r.Form.Get("token")
	}
	return r.Form, bearer, nil
}

// slackAnswer writes an answer as Slack does: errors, too, with status 200.
func slackAnswer(w http.ResponseWriter, a answer, code string) {
	full := answer{"ok": code == ""}
	maps.Copy(full, a)
	if code != "" {
		full["error"] = code
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(full)
}

// limited writes Slack's answer to too many calls.
func limited(w http.ResponseWriter, after time.Duration) {
	// Whole seconds, as Slack's, unless a fraction was asked for.
	w.Header().Set("Retry-After", strconv.FormatFloat(after.Seconds(), 'f', -1, 64))
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(http.StatusTooManyRequests)
	_, _ = w.Write([]byte(`{"ok":false,"error":"ratelimited"}`))
}

func (s *Slack) authTest(c slackCall) (answer, string) {
	return answer{
		"url": slackDomain, "team": "Shop", "user": c.app.name, "team_id": slackTeam, "user_id": c.app.User, "bot_id": c.app.bot, "is_enterprise_install": false,
	}, ""
}

func (s *Slack) usersInfo(c slackCall) (answer, string) {
	u := s.users[c.text("user")]
	if u == nil {
		return nil, "user_not_found"
	}
	return answer{"user": u.json()}, ""
}

func (s *Slack) usersList(c slackCall) (answer, string) {
	var members []any
	for _, id := range slices.Sorted(maps.Keys(s.users)) {
		members = append(members, s.users[id].json())
	}
	page, next := pageOf(members, c, 1000)
	return answer{"members": page, "cache_ts": s.cfg.Now().Unix(), "response_metadata": answer{"next_cursor": next}}, ""
}

// json is an account as Slack shows it.
func (u *slackUser) json() answer {
	return answer{
		"id": u.id, "team_id": u.team, "name": strings.ToLower(strings.ReplaceAll(u.name, " ", ".")), "real_name": u.name, "deleted": u.deleted,
		"is_bot": u.bot, "is_stranger": u.team != slackTeam, "tz": "Europe/Berlin", "updated": 1700000000,
		"profile": answer{"real_name": u.name, "display_name": u.name, "team": u.team},
	}
}

// pageOf is the page of a list that a call asks for, and the cursor of the next.
func pageOf(all []any, c slackCall, most int) (page []any, next string) {
	from, err := strconv.Atoi(strings.TrimPrefix(c.text("cursor"), "next:"))
	if err != nil {
		from = 0
	}
	from = min(from, len(all))
	to := min(from+c.number("limit", 100, most), len(all))
	if to < len(all) {
		next = "next:" + strconv.Itoa(to)
	}
	return append([]any{}, all[from:to]...), next
}
