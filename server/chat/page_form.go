package chat

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"platform.dev/platform/server/web"
)

// form is something that a page does. It takes a session, and does what an
// endpoint of the API does: a script that asks for JSON is answered as there,
// and a browser without scripts is led to the page that shows the outcome.
type form struct {
	path string
	do   func(s *Server, c *call) (out reply, next string, err error)
}

// forms is everything that can be done on pages, beside signing in and out.
var forms = []form{
	{path: "/read/{stream_id}", do: (*Server).sayToStream},
	{path: "/read/{stream_id}/{topic}", do: (*Server).sayToTopic},
	{path: "/direct/{people}", do: (*Server).sayToPeople},
	{path: "/message/{message_id}/reactions", do: (*Server).toggleReaction},
	{path: "/message/{message_id}/edit", do: (*Server).pageEdit},
	{path: "/message/{message_id}/delete", do: (*Server).pageDelete},
	{path: "/mark-as-read", do: (*Server).markPagesRead},
}

// serveForm signs in, does what the form is for, and answers.
func (s *Server) serveForm(w http.ResponseWriter, r *http.Request, f form) {
	who, known, err := s.session(r)
	if err == nil && !known {
		err = &apiError{status: http.StatusUnauthorized, code: codeUnauthenticated, msg: "You are not signed in any more: sign in at /sign-in, then send it again"}
	}
	if err == nil {
		err = s.limits.take(w.Header(), who.ID, s.cfg.Now())
	}
	c := &call{ctx: r.Context(), path: r.PathValue, who: who, agent: "website"}
	if err == nil {
		c.params, err = readParams(r)
	}
	var out reply
	var next string
	if err == nil {
		out, next, err = f.do(s, c)
	}
	scripted := strings.Contains(r.Header.Get("Accept"), "application/json")
	w.Header().Set("Cache-Control", "no-store")
	switch {
	case err != nil && scripted:
		s.answerError(w, r, err)
	case err != nil:
		s.fail(w, r, who, err)
	case scripted:
		body := reply{"result": "success", "msg": ""}
		for name, value := range out {
			body[name] = value
		}
		web.JSON(w, http.StatusOK, body)
	default:
		http.Redirect(w, r, next, http.StatusSeeOther)
	}
}

// say posts what a compose box holds to a place, as POST /messages does.
func (s *Server) say(c *call, kind, to, topic string) (reply, error) {
	values := c.params.values
	values.Set("type", kind)
	values.Set("to", to)
	values.Set("topic", topic)
	if values.Has("content") {
		values.Set("content", s.typed(values.Get("content")))
	}
	return s.postMessage(c)
}

// typed is what a person typed into a box, as a message has it: browsers send
// line ends of two characters, and a name is a mention.
func (s *Server) typed(content string) string {
	return s.mentionNames(strings.ReplaceAll(content, "\r\n", "\n"))
}

// sayToStream posts to a channel, under the topic that the form names.
func (s *Server) sayToStream(c *call) (reply, string, error) {
	st, err := s.streamOf(c)
	if err != nil {
		return nil, "", err
	}
	topic, err := cleanTopic(c.params.text("", "topic"))
	if err != nil {
		return nil, "", err
	}
	out, err := s.say(c, "stream", strconv.FormatInt(st.ID, 10), topic)
	return out, topicAddress(st.ID, topic) + anchor(out), err
}

// sayToTopic posts to the topic of the address.
func (s *Server) sayToTopic(c *call) (reply, string, error) {
	st, err := s.streamOf(c)
	if err != nil {
		return nil, "", err
	}
	topic, err := narrowDecode(c.path("topic"))
	if err != nil {
		return nil, "", bad("Invalid topic")
	}
	out, err := s.say(c, "stream", strconv.FormatInt(st.ID, 10), topic)
	return out, topicAddress(st.ID, topic) + anchor(out), err
}

// sayToPeople posts to a direct conversation.
func (s *Server) sayToPeople(c *call) (reply, string, error) {
	people, err := s.pagePeople(c.path("people"))
	if err != nil {
		return nil, "", err
	}
	out, err := s.say(c, "direct", "["+memberKey(people)+"]", "")
	return out, directAddress(people) + anchor(out), err
}

// anchor is where on its page a new message is.
func anchor(out reply) string {
	id, _ := out["id"].(int64)
	return "#message-" + strconv.FormatInt(id, 10)
}

// toggleReaction adds the reaction, or takes it back where it is one's own.
func (s *Server) toggleReaction(c *call) (reply, string, error) {
	out, err := s.addReaction(c)
	var e *apiError
	if errors.As(err, &e) && e.code == codeReactionExists {
		out, err = s.removeReaction(c)
	}
	return out, comeBack(c.params.text("", "back"), c.path("message_id")), err
}

// comeBack is where a page's form leads: to the page that it was on, at the
// message; where none is named, to the message's own page, or the first.
func comeBack(back, message string) string {
	switch {
	case ownPath(back) && message == "":
		return back
	case ownPath(back):
		return back + "#message-" + url.PathEscape(message)
	case message != "":
		return "/message/" + url.PathEscape(message)
	}
	return "/"
}

// markPagesRead marks everything as read.
func (s *Server) markPagesRead(c *call) (reply, string, error) {
	out, err := s.markAllRead(c)
	return out, "/", err
}

// ownPath tells whether an address is a path of this server: not another host's, nor one that a browser reads as such.
func ownPath(address string) bool {
	u, err := url.Parse(address)
	return err == nil && strings.HasPrefix(address, "/") && !strings.HasPrefix(address, "//") && u.Host == "" && u.Scheme == "" &&
		!strings.ContainsAny(address, "\\\r\n\t")
}
