package chat_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/server/chat"
)

func TestAWrongKeyIsRefusedAndTellsNothing(t *testing.T) {
	w := fresh(t)
	ann := w.person("Ann")
	for name, a := range map[string]*actor{
		"no credentials":  {w: w},
		"a wrong key":     {w: w, User: chat.User{Email: ann.Email, APIKey: "x" + ann.APIKey[1:]}},
		"an unknown user": {w: w, User: chat.User{Email: "nobody@chat.test", APIKey: ann.APIKey}},
	} {
		t.Run(name, func(t *testing.T) {
			out := a.call("GET", "/users/me", nil)
			assert.Equal(t, 401, out.status)
			assert.Equal(t, `Basic realm="zulip"`, out.header.Get("WWW-Authenticate"))
			assert.Equal(t, "error", out.body["result"])
			assert.NotContains(t, out.body["msg"], ann.APIKey)
		})
	}
	assert.EqualValues(t, ann.ID, ann.ok("GET", "/users/me", nil)["user_id"])
}

func TestServerSettingsNeedNoSignIn(t *testing.T) {
	w := fresh(t)
	got := (&actor{w: w}).ok("GET", "/server_settings", nil)
	assert.EqualValues(t, 339, got["zulip_feature_level"])
	assert.Equal(t, site, got["realm_uri"])
}

func TestUnknownPathsAndMethodsAreAnsweredAsJSON(t *testing.T) {
	w := fresh(t)
	ann := w.person("Ann")
	ann.fails(404, "BAD_REQUEST", "GET", "/no/such/thing", nil)
	got := ann.fails(405, "METHOD_NOT_ALLOWED", "PUT", "/messages", nil)
	assert.Equal(t, []any{"GET", "POST"}, got["allowed_methods"])
}

func TestRegisterTellsWhatClientsAskFor(t *testing.T) {
	w := fresh(t)
	ann, bot := w.person("Ann"), w.bot("walkthrough")
	w.stream("general", ann)
	got := ann.ok("POST", "/register", form{
		"event_types":         []string{"message", "reaction"},
		"fetch_event_types":   []string{"realm", "realm_user", "realm_user_groups", "stream", "subscription", "message", "realm_emoji"},
		"client_capabilities": map[string]bool{"notification_settings_null": true}, "include_subscribers": true,
		"nonsense": "1",
	})
	assert.EqualValues(t, -1, got["last_event_id"])
	for name, want := range map[string]any{"event_queue_longpoll_timeout_seconds": 90, "max_message_length": 10000, "max_topic_length": 60,
		"max_stream_name_length": 60, "realm_message_content_edit_limit_seconds": 600, "realm_allow_message_editing": true} {
		assert.EqualValues(t, want, got[name], name)
	}
	users := got["realm_users"].([]any)
	require.Len(t, users, 2)
	assert.Equal(t, map[int64]bool{ann.ID: false, bot.ID: true}, map[int64]bool{
		id(users[0].(map[string]any)["user_id"]): users[0].(map[string]any)["is_bot"].(bool),
		id(users[1].(map[string]any)["user_id"]): users[1].(map[string]any)["is_bot"].(bool)})
	assert.Len(t, got["realm_user_groups"], 6)
	assert.Len(t, got["streams"], 1)
	assert.Equal(t, []any{"nonsense"}, got["ignored_parameters_unsupported"], "what the server does not know it says")

	only := ann.ok("POST", "/register", form{"event_types": []string{"message"}})
	assert.NotContains(t, only, "realm_users", "without fetch_event_types the event types say what is fetched")
	everything := ann.ok("POST", "/register", nil)
	assert.Contains(t, everything, "realm_users")
}

func TestMalformedRequestsNameWhatIsWrong(t *testing.T) {
	w := fresh(t)
	ann := w.person("Ann")
	w.stream("general", ann)
	message := func(change form) form {
		f := form{"type": "stream", "to": "general", "topic": "t", "content": "hi"}
		for name, v := range change {
			if v == nil {
				delete(f, name)
			} else {
				f[name] = v
			}
		}
		return f
	}
	cases := []struct {
		name, method, path string
		form               form
		code, says         string
	}{
		{"a message without content", "POST", "/messages", message(form{"content": nil}), "REQUEST_VARIABLE_MISSING", "content"},
		{"a message without a type", "POST", "/messages", message(form{"type": nil}), "REQUEST_VARIABLE_MISSING", "type"},
		{"a message of an unknown type", "POST", "/messages", message(form{"type": "letter"}), "BAD_REQUEST", "letter"},
		{"an empty message", "POST", "/messages", message(form{"content": " \n "}), "BAD_REQUEST", "empty"},
		{"a null byte", "POST", "/messages", message(form{"content": "a\x00b"}), "BAD_REQUEST", "null bytes"},
		{"broken UTF-8", "POST", "/messages", message(form{"content": "a\xffb"}), "BAD_REQUEST", "content is not valid UTF-8"},
		{"no topic", "POST", "/messages", message(form{"topic": nil}), "BAD_REQUEST", "Topics are required"},
		{"a control character in the topic", "POST", "/messages", message(form{"topic": "a\x07b"}), "BAD_REQUEST", "position 2"},
		{"an unknown channel", "POST", "/messages", message(form{"to": "nowhere"}), "STREAM_DOES_NOT_EXIST", "nowhere"},
		{"an unknown channel id", "POST", "/messages", message(form{"to": 999}), "STREAM_DOES_NOT_EXIST", "999"},
		{"a fraction of a channel", "POST", "/messages", message(form{"to": 1.5}), "BAD_REQUEST", "channel"},
		{"two channels", "POST", "/messages", message(form{"to": []string{"a", "b"}}), "BAD_REQUEST", "exactly one"},
		{"an unknown person", "POST", "/messages", form{"type": "direct", "to": []string{"x@chat.test"}, "content": "hi"}, "BAD_REQUEST", "x@chat.test"},
		{"an unknown user id", "POST", "/messages", form{"type": "direct", "to": []int{77}, "content": "hi"}, "BAD_REQUEST", "77"},
		{"ids and emails together", "POST", "/messages", form{"type": "direct", "to": []any{ann.ID, ann.Email}, "content": "hi"}, "BAD_REQUEST", "not both"},
		{"nobody", "POST", "/messages", form{"type": "direct", "to": []int{}, "content": "hi"}, "BAD_REQUEST", "recipients"},
		{"a number that is none", "GET", "/messages", form{"anchor": "newest", "num_before": "many", "num_after": 0}, "BAD_REQUEST", "num_before"},
		{"too many messages", "GET", "/messages", form{"anchor": "newest", "num_before": 5001, "num_after": 0}, "BAD_REQUEST", "5000"},
		{"no count", "GET", "/messages", form{"anchor": "newest", "num_before": 1}, "REQUEST_VARIABLE_MISSING", "num_after"},
		{"a bad anchor", "GET", "/messages", form{"anchor": "middle", "num_before": 1, "num_after": 0}, "BAD_REQUEST", "anchor"},
		{"a narrow that is not JSON", "GET", "/messages", form{"num_before": 1, "num_after": 0, "narrow": "[["}, "INVALID_JSON", "narrow"},
		{"an unknown operator", "GET", "/messages", form{"num_before": 1, "num_after": 0, "narrow": [][]string{{"colour", "red"}}}, "BAD_NARROW", "colour"},
		{"an unknown channel in a narrow", "GET", "/messages", form{"num_before": 1, "num_after": 0, "narrow": [][]string{{"channel", "x"}}}, "BAD_NARROW", "channel"},
		{"a search on a queue", "POST", "/register", form{"narrow": [][]string{{"search", "x"}}}, "BAD_NARROW", "search"},
		{"a flag that is none", "POST", "/register", form{"all_public_streams": "maybe"}, "INVALID_JSON", "all_public_streams"},
		{"a message that is not there", "GET", "/messages/99", nil, "BAD_REQUEST", "Invalid message"},
		{"a message id that is no number", "GET", "/messages/x", nil, "BAD_REQUEST", "Invalid message"},
		{"an unknown emoji", "POST", "/messages/1/reactions", form{"emoji_name": "unheard_of"}, "BAD_REQUEST", "unheard_of"},
		{"an unknown user", "GET", "/users/99", nil, "BAD_REQUEST", "No such user"},
		{"an unknown channel's topics", "GET", "/users/me/99/topics", nil, "BAD_REQUEST", "channel ID"},
		{"an unknown channel's id", "GET", "/get_stream_id", form{"stream": "x"}, "BAD_REQUEST", "'x'"},
		{"a nameless channel", "POST", "/users/me/subscriptions", form{"subscriptions": []form{{"name": " "}}}, "BAD_REQUEST", "name"},
		{"a channel name too long", "POST", "/users/me/subscriptions", form{"subscriptions": []form{{"name": strings.Repeat("n", 61)}}}, "BAD_REQUEST", "60"},
		{"an unknown principal", "POST", "/users/me/subscriptions", form{"subscriptions": []form{{"name": "new"}}, "principals": []int{99}}, "BAD_REQUEST", "99"},
		{"leaving an unknown channel", "DELETE", "/users/me/subscriptions", form{"subscriptions": []string{"x"}}, "STREAM_DOES_NOT_EXIST", "x"},
		{"a flag that is not one's own to set", "POST", "/messages/flags", form{"messages": []int{1}, "op": "add", "flag": "mentioned"}, "BAD_REQUEST", "mentioned"},
		{"an unknown queue", "GET", "/events", form{"queue_id": "q", "last_event_id": -1}, "BAD_EVENT_QUEUE_ID", "q"},
		{"events without a queue", "GET", "/events", form{"last_event_id": -1}, "REQUEST_VARIABLE_MISSING", "queue_id"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			body := ann.fails(400, c.code, c.method, c.path, c.form)
			assert.Contains(t, body["msg"], c.says)
		})
	}
	assert.Empty(t, ann.messages(form{}), "a refused request leaves nothing behind")
	assert.Len(t, ann.ok("GET", "/streams", nil)["streams"], 1)
}

func TestErrorsCarryTheFieldsThatClientsRead(t *testing.T) {
	w := fresh(t)
	ann := w.person("Ann")
	assert.Equal(t, "nowhere", ann.fails(400, "STREAM_DOES_NOT_EXIST", "POST", "/messages", form{"type": "stream", "to": "nowhere", "topic": "t", "content": "x"})["stream"])
	assert.Equal(t, "gone", ann.fails(400, "BAD_EVENT_QUEUE_ID", "DELETE", "/events", form{"queue_id": "gone"})["queue_id"])
	assert.Equal(t, "content", ann.fails(400, "REQUEST_VARIABLE_MISSING", "POST", "/messages", form{"type": "stream", "to": "x"})["var_name"])
}

func TestBodiesAreBounded(t *testing.T) {
	w := fresh(t)
	ann := w.person("Ann")
	ann.fails(413, "BAD_REQUEST", "POST", "/messages", form{"type": "stream", "to": "x", "topic": "t", "content": strings.Repeat("x", 1<<20)})

	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, site+"/api/v1/messages", strings.NewReader(`{"type":"stream"}`))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.SetBasicAuth(ann.Email, ann.APIKey)
	resp, err := w.http.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	assert.Equal(t, 400, resp.StatusCode)
}

func TestTheRateLimitIsPerUserAndItsWaitIsAFloat(t *testing.T) {
	at := newClock()
	w := open(t, t.TempDir()+"/chat.db", func(c *chat.Config) { c.RateLimit, c.Now = 90, at.now })
	ann, bob := w.person("Ann"), w.person("Bob")
	for n := range 90 {
		out := ann.call("GET", "/users/me", nil)
		require.Equal(t, 200, out.status)
		require.Equal(t, "90", out.header.Get("X-RateLimit-Limit"))
		require.Equal(t, itoa(int64(89-n)), out.header.Get("X-RateLimit-Remaining"))
	}
	out := ann.call("GET", "/users/me", nil)
	require.Equal(t, 429, out.status)
	assert.Equal(t, "RATE_LIMIT_HIT", out.body["code"])
	assert.InDelta(t, 60.0/90, out.body["retry-after"], 1e-6)
	assert.Regexp(t, `^0\.6666\d*$`, out.header.Get("Retry-After"))
	assert.Equal(t, itoa(at.now().Unix()+60), out.header.Get("X-RateLimit-Reset"))
	bob.ok("GET", "/users/me", nil)
	at.advance(700 * 1e6)
	ann.ok("GET", "/users/me", nil)
}
