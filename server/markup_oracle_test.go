package server

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/server/chat"
)

// formed is everything in rendered Zulip Markdown that is more than words, code and folds.
const formed = "a, em, strong, del, img, h1, h2, h3, h4, h5, h6, ul, ol, blockquote, hr, table, time, " +
	".user-mention, .user-group-mention, .topic-mention, .stream, .stream-topic, .emoji"

// TestTheEmbeddedChatSeesNoFormInForeignWords has the chat's own reader, which
// decides there whom a message calls, read what the renderer writes for Zulip.
func TestTheEmbeddedChatSeesNoFormInForeignWords(t *testing.T) {
	c, err := chat.New(t.Context(), chat.Config{Path: filepath.Join(t.TempDir(), "chat.db"), URL: "http://127.0.0.1", Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	ada, err := c.EnsureUser(t.Context(), chat.NewUser{Email: "ada@example.org", FullName: "Ada"})
	require.NoError(t, err)
	require.NoError(t, c.EnsureStream(t.Context(), "shop", "", ada.ID))
	handler := c.Handler()
	read := func(t interface{ Fatalf(string, ...any) }, content string) *goquery.Document {
		body := url.Values{"content": {content}}.Encode()
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/api/v1/messages/render", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.SetBasicAuth(ada.Email, ada.APIKey)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		var answer struct{ Rendered string }
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
			t.Fatalf("render %q: %d %s", content, w.Code, w.Body)
		}
		doc, err := goquery.NewDocumentFromReader(strings.NewReader(answer.Rendered))
		if err != nil {
			t.Fatalf("%v", err)
		}
		return doc
	}
	require.Equal(t, 5, read(t, "@**Ada** **b** #**shop>builds** :wave: https://example.org").Find(formed).Length(), "the reader sees forms where there are some")

	piece := rapid.SampledFrom([]string{"@", "**", "*", "_", "`", "```", "~~~", "~~", "[", "](", ")", "<", ">", "!", "#", "|", "\n", " ", "\\", "all", "Ada", "everyone", "topic", "shop", ">builds",
		"/poll", "/me", ":", "wave", "+1", "&", "amp;", "$$", "http://evil.example/", "www.", "evil.org", "time:", "- ", "1. ", "quote", "spoiler", "math", "é", "💥"})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "") })
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		m := markup.Message{
			Title: markup.Spans(markup.F(a), markup.F(b), markup.C(a)),
			Blocks: []markup.Block{
				markup.Text(markup.T(b), markup.M("?", a), markup.L(b, "javascript:"+a)), markup.Log(markup.Spans(markup.F(b)), []string{a, b}),
				markup.Spoiler(markup.Spans(markup.F(a)), markup.Text(markup.F(b)), markup.Code(a, b)),
			},
		}
		for _, part := range markup.Zulip(m) {
			if seen := read(t, part).Find(formed); seen.Length() > 0 {
				markup, _ := goquery.OuterHtml(seen.First())
				t.Fatalf("%s in %q", markup, part)
			}
		}
	})
}
