package chat_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/server/chat"
)

func TestAMessageIsEditedAndDeletedWithoutAScript(t *testing.T) {
	w := openPages(t, time.Now)
	ann, bob := w.person("Ann"), w.person("Bob")
	bot := w.bot("walkthrough")
	w.stream("general", ann, bob)
	sent := ann.post("general", "a/b", "helo <b> & \"you\"\n\nsecond")
	me := w.as(ann)

	_, body := me.get("/read/1/a.2Fb")
	acts := document(t, body).Find("#message-1 .acts a")
	require.Equal(t, 2, acts.Length())
	_, body = me.get(acts.First().AttrOr("href", ""))
	box := document(t, body).Find("form.edit textarea")
	assert.Equal(t, "helo <b> & \"you\"\n\nsecond", box.Text(), "the text as it was written")
	resp, body := me.post("/message/1/edit", url.Values{"content": {"hello\r\n@walkthrough"}, "back": {"/read/1/a.2Fb"}, "topic": {"elsewhere"}, "stream_id": {"9"}})
	require.Equal(t, 200, resp.StatusCode)
	assert.Equal(t, "/read/1/a.2Fb", resp.Request.URL.Path, "a page changes the words alone")
	assert.Equal(t, "message-1", resp.Request.URL.Fragment)
	article := document(t, body).Find("#message-1")
	assert.Equal(t, "hello\n@walkthrough", strings.TrimSpace(article.Find(".content").Text()))
	assert.Equal(t, "edited", article.Find("header .note").Text())
	assert.Equal(t, "hello\n@**walkthrough**", ann.ok("GET", "/messages/1", form{"apply_markdown": false})["raw_content"], "a name becomes a mention")
	assert.Empty(t, bot.messages(form{"narrow": [][]string{{"is", "mentioned"}}}), "but an edit asks nobody for anything")

	_, body = me.get(document(t, body).Find("#message-1 .acts a.delete").AttrOr("href", ""))
	assert.Contains(t, document(t, body).Find("form.delete blockquote").Text(), "hello\n@walkthrough", "one sees what will go")
	resp, body = me.post("/message/1/delete", url.Values{"back": {"/read/1/a.2Fb"}})
	assert.Equal(t, 404, resp.StatusCode, "it was the topic's only message")
	assert.Equal(t, "/read/1/a.2Fb", resp.Request.URL.Path)
	assert.Contains(t, body, "There is nothing at this address")
	ann.fails(400, "BAD_REQUEST", "GET", "/messages/"+itoa(sent), nil)

	note := ann.ok("POST", "/messages", form{"type": "direct", "to": []int64{bob.ID}, "content": "psst"})["id"]
	path := "/message/" + itoa(id(note))
	_, body = w.as(bob).get("/direct/1")
	assert.Zero(t, document(t, body).Find(".acts a").Length(), "another's")
	_, body = me.get(path + "/edit")
	assert.Equal(t, "/direct/2", document(t, body).Find("form.edit input[name=back]").AttrOr("value", ""))
	resp, _ = me.post(path+"/edit", url.Values{"content": {"psst!"}, "back": {"https://evil.test/"}})
	assert.Equal(t, path, resp.Request.URL.Path, "one is led to this server alone")
	resp, _ = me.post(path+"/delete", nil)
	assert.Equal(t, "/", resp.Request.URL.Path)
}

func TestWhatMayNotBeChangedOffersNoChange(t *testing.T) {
	at := newClock()
	w := openPages(t, at.now)
	ann, bob, ada := w.person("Ann"), w.person("Bob"), w.account("Ada", false, chat.RoleAdmin)
	w.stream("general", ann, bob, ada)
	ann.post("general", "t", "hello")
	private := id(ann.ok("POST", "/messages", form{"type": "direct", "to": []int64{ann.ID}, "content": "a secret"})["id"])
	refused := func(who *browser, path string, status int, says string) {
		t.Helper()
		for _, send := range []func() (*http.Response, string){
			func() (*http.Response, string) { return who.get(path) },
			func() (*http.Response, string) { return who.post(path, url.Values{"content": {"x"}}) },
		} {
			resp, body := send()
			assert.Equal(t, status, resp.StatusCode, path)
			assert.Contains(t, document(t, body).Find("[role=alert]").Text(), says, path)
			assert.NotContains(t, body, "a secret")
		}
	}
	acts := func(who *browser) int {
		_, body := who.get("/read/1/t")
		return document(t, body).Find(".acts a").Length()
	}
	assert.Zero(t, acts(w.as(bob)))
	refused(w.as(bob), "/message/1/edit", 400, "permission to edit")
	refused(w.as(bob), "/message/1/delete", 400, "permission to delete")
	assert.Equal(t, 1, acts(w.as(ada)), "an administrator deletes")
	refused(w.as(ada), "/message/1/edit", 400, "permission to edit")

	resp, _ := w.as(bob).get("/message/" + itoa(private) + "/edit")
	assert.Equal(t, 404, resp.StatusCode, "what one may not see is not there")
	for _, path := range []string{"/message/99/edit", "/message/x/delete"} {
		resp, _ = w.as(ann).get(path)
		assert.Equal(t, 404, resp.StatusCode, path)
	}
	resp, _ = w.browser().get("/message/1/edit")
	assert.Equal(t, "/sign-in", resp.Request.URL.Path)
	resp, _ = w.browser().post("/message/1/delete", nil)
	assert.Equal(t, 401, resp.StatusCode)
	resp, _ = w.as(ann).post("/message/1/edit", url.Values{"content": {" \n"}})
	assert.Equal(t, 400, resp.StatusCode, "an empty message")
	resp, _ = w.as(ann).post("/message/1/edit", nil)
	assert.Equal(t, 400, resp.StatusCode)

	at.advance(620 * time.Second)
	assert.Equal(t, 2, acts(w.as(ann)), "ten minutes and the time that a click takes")
	at.advance(time.Second)
	assert.Zero(t, acts(w.as(ann)))
	refused(w.as(ann), "/message/1/edit", 400, "time limit")
	refused(w.as(ann), "/message/1/delete", 400, "time limit")
	assert.Equal(t, "hello", ann.ok("GET", "/messages/1", form{"apply_markdown": false})["raw_content"])
}
