package chat_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWritingWithoutAScript(t *testing.T) {
	w := openPages(t, time.Now)
	ann, bot := w.person("Ann"), w.bot("walkthrough")
	w.stream("general", ann)
	me := w.as(ann)

	resp, body := me.post("/read/1", url.Values{"topic": {" a/b? "}, "content": {"@walkthrough static"}})
	require.Equal(t, 200, resp.StatusCode)
	assert.Equal(t, "/read/1/a.2Fb.3F", resp.Request.URL.Path, "one is led to the topic")
	assert.Equal(t, "message-1", resp.Request.URL.Fragment)
	assert.Contains(t, document(t, body).Find("#message-1 .content").Text(), "@walkthrough static")
	heard := bot.messages(form{"narrow": [][]string{{"is", "mentioned"}}, "apply_markdown": false})
	require.Len(t, heard, 1)
	assert.Equal(t, "@**walkthrough** static", heard[0]["content"], "a name becomes a mention")
	assert.Equal(t, "website", heard[0]["client"])

	me.post("/read/1/a.2Fb.3F", url.Values{"content": {"more"}})
	resp, body = me.post("/direct/2", url.Values{"content": {"psst"}})
	assert.Equal(t, "/direct/2", resp.Request.URL.Path)
	assert.Equal(t, "psst", strings.TrimSpace(document(t, body).Find("article .content").Text()))

	_, body = me.post("/message/1/reactions", url.Values{"emoji_name": {"tada"}, "back": {"/read/1/a.2Fb.3F"}})
	pressed := document(t, body).Find(`#message-1 button[aria-pressed="true"]`)
	assert.Equal(t, "🎉 1", pressed.Text())
	_, body = me.post("/message/1/reactions", url.Values{"emoji_name": {"tada"}})
	assert.Zero(t, document(t, body).Find(`button[aria-pressed]`).Length(), "again, and it is taken back")

	_, body = me.get("/")
	assert.Zero(t, document(t, body).Find(".unread-count").Length(), "what one wrote oneself is read")
	bot.post("general", "a/b?", "@**Ann** done")
	_, body = me.get("/")
	assert.Equal(t, "1 unread", document(t, body).Find("ul.lines .unread-count").Text())
	_, body = me.post("/mark-as-read", nil)
	assert.Zero(t, document(t, body).Find(".unread-count").Length())
}

func TestAFormThatIsRefusedSaysWhy(t *testing.T) {
	w := openPages(t, time.Now)
	ann := w.person("Ann")
	w.stream("general", ann)
	ann.post("general", "t", "hello")
	me := w.as(ann)
	for _, c := range []struct {
		name, path string
		form       url.Values
		status     int
		says       string
	}{
		{"an empty message", "/read/1/t", url.Values{"content": {" "}}, 400, "Message must not be empty"},
		{"no message", "/read/1/t", nil, 400, "Missing 'content'"},
		{"no topic", "/read/1", url.Values{"topic": {" "}, "content": {"x"}}, 400, "Topics are required"},
		{"no channel", "/read/9", url.Values{"topic": {"t"}, "content": {"x"}}, 400, "Invalid channel ID"},
		{"nobody", "/direct/99", url.Values{"content": {"x"}}, 404, "nothing at this address"},
		{"no emoji", "/message/1/reactions", url.Values{"emoji_name": {"unheard_of"}}, 400, "unheard_of"},
		{"no message to react to", "/message/9/reactions", url.Values{"emoji_name": {"tada"}}, 400, "Invalid message"},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, body := me.post(c.path, c.form)
			assert.Equal(t, c.status, resp.StatusCode)
			assert.Contains(t, document(t, body).Find("main [role=alert]").Text(), c.says)
			checkPage(t, resp, body)
			resp, body = w.browser().post(c.path, c.form)
			assert.Equal(t, 401, resp.StatusCode)
			assert.Contains(t, body, "not signed in")
		})
	}
	assert.Len(t, ann.messages(form{}), 1)
}

func TestAScriptIsAnsweredAsTheAPIAnswers(t *testing.T) {
	w := openPages(t, time.Now)
	ann := w.person("Ann")
	w.stream("general", ann)
	me := w.as(ann)
	send := func(content string) (int, map[string]any) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, site+"/read/1/t", strings.NewReader(url.Values{"content": {content}}.Encode()))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Accept", "application/json")
		resp, body := me.send(r)
		var v map[string]any
		require.NoError(t, json.Unmarshal([]byte(body), &v))
		return resp.StatusCode, v
	}
	status, v := send("hello")
	assert.Equal(t, 200, status)
	assert.Equal(t, map[string]any{"result": "success", "msg": "", "id": 1.0}, v)
	status, v = send(" ")
	assert.Equal(t, 400, status)
	assert.Equal(t, "BAD_REQUEST", v["code"])
}

func TestWhatIsSentAgainIsOneMessage(t *testing.T) {
	w := openPages(t, time.Now)
	ann, bob := w.person("Ann"), w.person("Bob")
	w.stream("general", ann, bob)
	me, queue := w.as(ann), bob.register(form{"event_types": []string{"message"}})
	for range 3 {
		resp, _ := me.post("/read/1/t", url.Values{"content": {"once"}, "origin": {"0123"}})
		assert.Equal(t, "message-1", resp.Request.URL.Fragment)
	}
	assert.Len(t, bob.events(queue, -1), 1)
	me.post("/read/1/t", url.Values{"content": {"other words from a page that the browser kept"}, "origin": {"0123"}})
	me.post("/read/1/t", url.Values{"content": {"once"}, "origin": {"4567"}})
	w.as(bob).post("/read/1/t", url.Values{"content": {"once"}, "origin": {"0123"}})
	me.post("/read/1/t", url.Values{"content": {"once"}})
	me.post("/read/1/t", url.Values{"content": {"once"}})
	assert.Len(t, bob.messages(form{}), 6)
}
