package chat_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/fixtures/goldenfile"
	"platform.dev/platform/server/chat"
)

// edition is the part of an address that names this program's scripts or style.
var edition = regexp.MustCompile(`([/?])[0-9a-f]{12}\b`)

// golden compares got with a file of the project's goldens.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("..", "..", "fixtures", "golden", "chat", name)
	goldenfile.Compare(t, path, got)
}

// browser is somebody's browser: it keeps cookies and follows where it is led.
type browser struct {
	w    *world
	http *http.Client
}

// browser is a new one, signed in as nobody.
func (w *world) browser() *browser {
	w.t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(w.t, err)
	return &browser{w: w, http: &http.Client{Transport: w.http.Transport, Jar: jar}}
}

// as is a browser that the actor has signed in with.
func (w *world) as(a *actor) *browser {
	w.t.Helper()
	b := w.browser()
	resp, _ := b.post("/sign-in", url.Values{"who": {a.Email}, "secret": {a.APIKey}})
	require.Equal(w.t, 200, resp.StatusCode)
	return b
}

func (b *browser) send(r *http.Request) (*http.Response, string) {
	b.w.t.Helper()
	resp, err := b.http.Do(r)
	require.NoError(b.w.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(b.w.t, err)
	return resp, string(body)
}

// get reads a page, post sends a form; both follow redirections.
func (b *browser) get(path string) (*http.Response, string) {
	b.w.t.Helper()
	r, err := http.NewRequestWithContext(b.w.t.Context(), http.MethodGet, site+path, nil)
	require.NoError(b.w.t, err)
	return b.send(r)
}

func (b *browser) post(path string, form url.Values) (*http.Response, string) {
	b.w.t.Helper()
	r, err := http.NewRequestWithContext(b.w.t.Context(), http.MethodPost, site+path, strings.NewReader(form.Encode()))
	require.NoError(b.w.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("User-Agent", "Mozilla/5.0")
	return b.send(r)
}

// document parses a page.
func document(t testing.TB, body string) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(body))
	require.NoError(t, err)
	return doc
}

// openPages is a server that lets everybody read.
func openPages(t testing.TB, now func() time.Time) *world {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "chat.db"), func(c *chat.Config) { c.OpenPages, c.Now = true, now })
}

var randomOrigin = regexp.MustCompile(`name="origin" value="[0-9a-f]{32}"`)

// checkPage holds a page to what must hold for all.
func checkPage(t *testing.T, resp *http.Response, body string) {
	t.Helper()
	policy := resp.Header.Get("Content-Security-Policy")
	assert.Contains(t, policy, "default-src 'none'")
	assert.NotContains(t, policy, "unsafe")
	assert.Equal(t, "no-store", resp.Header.Get("Cache-Control"))
	doc := document(t, body)
	assert.Zero(t, doc.Find("style, [style], script:not([src]), iframe, object").Length(), "nothing inline, nothing embedded")
	assert.Equal(t, 1, doc.Find("meta[name=viewport]").Length())
	assert.Equal(t, 1, doc.Find("h1").Length())
	assert.Equal(t, 1, doc.Find("main#main").Length())
	assert.Equal(t, "#main", doc.Find("body > *").First().AttrOr("href", ""), "the first thing that Tab reaches leads past what every page has")
	seen := map[string]bool{}
	doc.Find("*").Each(func(_ int, s *goquery.Selection) {
		for _, a := range s.Nodes[0].Attr {
			assert.False(t, strings.HasPrefix(a.Key, "on"), "%s on <%s>", a.Key, goquery.NodeName(s))
		}
		if id := s.AttrOr("id", ""); id != "" {
			assert.False(t, seen[id], "two elements have the id %s", id)
			seen[id] = true
		}
	})
	doc.Find("[src], link[href]").Each(func(_ int, s *goquery.Selection) {
		assert.True(t, strings.HasPrefix(s.AttrOr("src", s.AttrOr("href", "")), "/"), "nothing from elsewhere is loaded")
	})
	doc.Find("img").Each(func(_ int, s *goquery.Selection) {
		_, has := s.Attr("alt")
		assert.True(t, has, "an image says what it shows")
	})
	doc.Find("nav, [role=region], [role=log] article, ul.reactions, form.reactions").Each(func(_ int, s *goquery.Selection) {
		assert.NotEmpty(t, s.AttrOr("aria-label", s.AttrOr("aria-labelledby", "")), "a landmark has a name")
	})
	doc.Find("input:not([type=hidden]), textarea, button, summary").Each(func(_ int, s *goquery.Selection) {
		named := strings.TrimSpace(s.Text()) != "" || s.AttrOr("aria-label", "") != "" || s.Closest("label").Length() > 0 ||
			doc.Find(`label[for="`+s.AttrOr("id", "-")+`"]`).Length() > 0
		assert.True(t, named, "a control has a name")
	})
	doc.Find("form").Each(func(_ int, s *goquery.Selection) {
		assert.Regexp(t, `^/[a-z]`, s.AttrOr("action", ""), "a form is sent to this server")
	})
}

// scene is a server on which something was said.
func scene(t *testing.T) (w *world, ann, bob, bot *actor) {
	t.Helper()
	at := newClock()
	w = openPages(t, at.now)
	ann, bot, bob = w.person("Ann"), w.bot("walkthrough"), w.person("Bob")
	w.stream("walkthroughs", ann)
	w.stream("empty <b>")
	ann.post("walkthroughs", "static & co", "@**walkthrough** static")
	at.advance(3 * time.Second)
	sent := bot.post("walkthroughs", "static & co", "@**Ann** **Staging answers** :tada:\n````spoiler The *log* of the build\n```\n<script>alert(1)</script>\n```\n````\n\n"+
		"* [page](http://127.0.0.1:19080/)\n* #**walkthroughs>static & co**\n* "+site+"/#narrow/channel/1-walkthroughs/topic/run.202/near/3\n* <time:2026-03-04T12:00:00Z>")
	bot.post("walkthroughs", "static & co", "/me rests")
	ann.ok("POST", "/messages/"+itoa(sent)+"/reactions", form{"emoji_name": "tada"})
	bot.ok("POST", "/messages/"+itoa(sent)+"/reactions", form{"emoji_name": "tada"})
	at.advance(24 * time.Hour)
	ann.post("walkthroughs", "run 2", "```quote\nwhat was said\n```\nand an answer")
	ann.post("walkthroughs", "run 2", "and one more")
	ann.ok("POST", "/messages", form{"type": "direct", "to": []int64{bot.ID}, "content": "psst, only for you"})
	return w, ann, bob, bot
}

func TestPages(t *testing.T) {
	w, ann, _, _ := scene(t)
	for name, c := range map[string]struct {
		who   *browser
		pages map[string]string
	}{
		"nobody": {w.browser(), map[string]string{"index": "/", "stream": "/read/1", "topic": "/read/1/static.20.26.20co", "quote": "/read/1/run.202",
			"message": "/message/2", "search": "/search?q=answer", "keys": "/keys", "signin": "/sign-in?back=/read/1", "missing": "/read/9"}},
		"ann": {w.as(ann), map[string]string{"index": "/", "stream": "/read/1", "topic": "/read/1/static.20.26.20co", "directs": "/direct", "direct": "/direct/2",
			"nothing-yet": "/direct/3", "edit": "/message/5/edit", "delete": "/message/5/delete", "search": "/search?q=is:mentioned", "problem": "/search?q=channel:nowhere"}},
	} {
		for file, path := range c.pages {
			t.Run(name+" "+path, func(t *testing.T) {
				resp, body := c.who.get(path)
				if file != "missing" {
					require.Equal(t, 200, resp.StatusCode)
				}
				golden(t, name+"."+file+".html", edition.ReplaceAllString(randomOrigin.ReplaceAllString(body, `name="origin" value="random"`), "${1}edition"))
				checkPage(t, resp, body)
				assert.NotContains(t, body, "<script>alert")
				if name == "nobody" {
					assert.NotContains(t, body, "psst", "direct messages are their members'")
				}
				document(t, body).Find("nav a, ul.lines a, h2 a, .place a, a.when, .content a[href^='/']").Each(func(_ int, s *goquery.Selection) {
					resp, _ := c.who.get(s.AttrOr("href", ""))
					assert.Equal(t, 200, resp.StatusCode, s.AttrOr("href", ""))
				})
			})
		}
	}
	for _, path := range []string{"/read/9", "/read/x", "/read/1/nothing", "/read/1/%25", "/nowhere", "/avatar/99", "/message/99", "/message/x", "/scripts/x/none.js", "/scripts/x/page.css"} {
		resp, _ := w.browser().get(path)
		assert.Equal(t, 404, resp.StatusCode, path)
	}
	for path, kind := range map[string]string{"/page.css": "text/css", "/scripts/x/chat.js": "text/javascript", "/icon.svg": "image/svg+xml", "/avatar/1": "image/svg+xml"} {
		resp, _ := w.browser().get(path)
		assert.Contains(t, resp.Header.Get("Content-Type"), kind)
	}
}

func TestEveryPageHasATwin(t *testing.T) {
	w, ann, _, _ := scene(t)
	me := w.as(ann)
	for file, path := range map[string]string{"index": "/", "stream": "/read/1", "topic": "/read/1/static.20.26.20co", "directs": "/direct", "direct": "/direct/2",
		"message": "/message/2", "edit": "/message/5/edit", "search": "/search?q=answer", "keys": "/keys"} {
		resp, body := me.get("/api" + path)
		require.Equal(t, 200, resp.StatusCode, path)
		var v any
		require.NoError(t, json.Unmarshal([]byte(body), &v))
		pretty, err := json.MarshalIndent(v, "", "  ")
		require.NoError(t, err)
		golden(t, "ann."+file+".json", string(pretty)+"\n")
	}
	for path, status := range map[string]int{"/api/read/9": 404, "/api/direct": 401, "/api/search?q=" + strings.Repeat("x", 201): 400} {
		resp, body := w.browser().get(path)
		assert.Equal(t, status, resp.StatusCode, path)
		assert.Contains(t, body, `"error"`)
	}
}

// The addresses that bots post carry their place in the fragment, which only a
// browser sees: the script on the page turns them into pages. Here its own
// expression is applied to such addresses.
func TestPermalinksOpenTheirTopic(t *testing.T) {
	w := openPages(t, time.Now)
	ann, me := w.person("Ann"), w.browser()
	w.stream("made first")
	w.stream("Team A+B", ann)
	_, script := me.get("/scripts/x/narrow.js")
	literal := regexp.MustCompile(`(?m)^  const form = /(.*)/;$`).FindStringSubmatch(script)
	require.NotNil(t, literal, "the script has its expression on one line")
	form := regexp.MustCompile(strings.ReplaceAll(literal[1], `\/`, "/"))
	sent := ann.post("Team A+B", "50% / a.b (c)?", "hello")
	for fragment, want := range map[string]string{
		"#narrow/channel/2-Team-A.2BB/topic/50.25.20.2F.20a.2Eb.20.28c.29.3F/near/" + itoa(sent): "hello",
		"#narrow/stream/2-Team-A.2BB/subject/50.25.20.2F.20a.2Eb.20(c).3F":                       "hello",
		"#narrow/channel/2-Team-A.2BB": "50% / a.b",
		"#narrow/channel/2":            "50% / a.b",
	} {
		m := form.FindStringSubmatch(fragment)
		require.NotNil(t, m, fragment)
		address := "/read/" + m[1]
		if m[2] != "" {
			address += "/" + m[2]
		}
		if m[3] != "" {
			address += "?near=" + m[3]
		}
		resp, body := me.get(address)
		assert.Equal(t, 200, resp.StatusCode, address)
		assert.Contains(t, body, want)
	}
	assert.Nil(t, form.FindStringSubmatch("#message-3"))
}

func TestLongTopicsHavePages(t *testing.T) {
	w := openPages(t, time.Now)
	ann, me := w.person("Ann"), w.browser()
	w.stream("general", ann)
	var all []int64
	for range 230 {
		all = append(all, ann.post("general", "../a/b?c", "line"))
	}
	shown := func(path string) (first, last int64, links map[string]string) {
		resp, body := me.get(path)
		require.Equal(t, 200, resp.StatusCode, path)
		doc := document(t, body)
		articles := doc.Find("article")
		require.Equal(t, 100, articles.Length(), path)
		links = map[string]string{}
		doc.Find(".pager a").Each(func(_ int, s *goquery.Selection) { links[s.Text()] = s.AttrOr("href", "") })
		_, live := doc.Find("#messages").Attr("data-last")
		assert.Equal(t, links["Newer messages"] == "", live, "new messages appear on the last page alone")
		return articleID(t, articles.First()), articleID(t, articles.Last()), links
	}
	const topic = "/read/1/.2E.2E.2Fa.2Fb.3Fc"
	first, last, links := shown(topic)
	assert.Equal(t, []int64{all[130], all[229]}, []int64{first, last})
	assert.NotContains(t, links, "Newer messages")
	first, last, links = shown(links["Older messages"])
	assert.Equal(t, []int64{all[30], all[129]}, []int64{first, last})
	first, _, _ = shown(links["Newer messages"])
	assert.Equal(t, all[130], first)
	first, last, links = shown(topic + "?near=" + itoa(all[100]))
	assert.Equal(t, []int64{all[50], all[149]}, []int64{first, last})
	assert.Len(t, links, 2)
}

func articleID(t *testing.T, s *goquery.Selection) int64 {
	t.Helper()
	m := regexp.MustCompile(`^message-(\d+)$`).FindStringSubmatch(s.AttrOr("id", ""))
	require.NotNil(t, m)
	return parse(t, m[1])
}

func parse(t *testing.T, digits string) int64 {
	t.Helper()
	var n int64
	require.NoError(t, json.Unmarshal([]byte(digits), &n))
	return n
}

func TestSearchFindsWhatItsReaderMaySee(t *testing.T) {
	w, ann, bob, _ := scene(t)
	found := func(b *browser, query string) []string {
		resp, body := b.get("/search?" + url.Values{"q": {query}}.Encode())
		require.Equal(t, 200, resp.StatusCode, query)
		return document(t, body).Find("article .content").Map(func(_ int, s *goquery.Selection) string { return strings.TrimSpace(s.Text()) })
	}
	nobody, me, other := w.browser(), w.as(ann), w.as(bob)
	assert.Equal(t, []string{"and one more", "what was said\n\nand an answer"}, found(nobody, "and"), "the newest first")
	assert.Len(t, found(nobody, "topic:static"), 0)
	assert.Len(t, found(nobody, "sender:ann@chat.test one"), 1)
	assert.Len(t, found(nobody, "100% _ \\"), 0, "what LIKE reads as a pattern is text")
	assert.Equal(t, []string{"psst, only for you"}, found(me, "psst"))
	assert.Empty(t, found(other, "psst"))
	assert.Empty(t, found(nobody, "psst"))
	assert.Len(t, found(me, "is:dm"), 1)
	assert.Empty(t, found(other, "is:dm"))
	_, body := nobody.get("/search?q=is:dm")
	assert.Contains(t, body, "sign in to search with is:")
	_, body = me.get("/search?q=sender:nobody@chat.test")
	assert.Contains(t, body, "unknown user")
	resp, _ := me.get("/message/6")
	assert.Equal(t, 200, resp.StatusCode)
	for _, b := range []*browser{nobody, other} {
		resp, body := b.get("/message/6")
		assert.Equal(t, 404, resp.StatusCode)
		assert.NotContains(t, body, "psst")
	}
	_, body = other.get("/direct/2")
	assert.NotContains(t, body, "psst", "a conversation's address is read as the reader's own with these people")
}

// What a bot says is a document with a time of its own; a person's words in a row are one speech.
func TestTheWordsOfAPersonAreGatheredAndThoseOfABotAreNot(t *testing.T) {
	at := newClock()
	w := openPages(t, at.now)
	ann, bot := w.person("Ann"), w.bot("platform")
	w.stream("shop", ann)
	gathered := map[int64]bool{}
	say := func(who *actor, later time.Duration, want bool) {
		at.advance(later)
		gathered[who.post("shop", "promotions", "promoted")] = want
	}
	say(ann, 0, false)
	say(ann, 4*time.Minute, true)
	say(ann, 5*time.Minute, false)
	say(bot, time.Second, false)
	say(bot, time.Second, false)
	say(ann, time.Second, false)
	_, body := w.browser().get("/read/1/promotions")
	doc := document(t, body)
	for id, want := range gathered {
		article := doc.Find("#message-" + itoa(id))
		require.Equal(t, 1, article.Length())
		assert.Equal(t, want, article.HasClass("same"), "message %d", id)
	}
}
