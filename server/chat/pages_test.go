package chat_test

import (
	"io"
	"net/http"
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

// golden compares got with a file of the project's goldens.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("..", "..", "fixtures", "golden", "chat", name)
	goldenfile.Compare(t, path, got)
}

// page reads a page without signing in.
func (w *world) page(path string) (*http.Response, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, site+path, nil)
	require.NoError(w.t, err)
	resp, err := w.http.Do(r)
	require.NoError(w.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	return resp, string(body)
}

func TestReadingPages(t *testing.T) {
	at := newClock()
	w := open(t, t.TempDir()+"/chat.db", func(c *chat.Config) { c.Now = at.now })
	ann, bot := w.person("Ann"), w.bot("walkthrough")
	w.stream("walkthroughs", ann)
	w.stream("empty <b>")
	ann.post("walkthroughs", "static & co", "@**walkthrough** static")
	at.advance(3 * time.Second)
	sent := bot.post("walkthroughs", "static & co", "**Staging answers** :tada:\n````spoiler The *log* of the build\n```\n<script>alert(1)</script>\n```\n````\n\n* [page](http://127.0.0.1:19080/)\n* #**walkthroughs>static & co**")
	ann.ok("POST", "/messages/"+itoa(sent)+"/reactions", form{"emoji_name": "tada"})
	bot.ok("POST", "/messages/"+itoa(sent)+"/reactions", form{"emoji_name": "tada"})
	at.advance(time.Minute)
	ann.post("walkthroughs", "run 2", "```quote\nwhat was said\n```\nand an answer")
	ann.ok("POST", "/messages", form{"type": "direct", "to": []int64{bot.ID}, "content": "a secret"})

	for path, file := range map[string]string{"/": "index.html", "/read/1": "stream.html", "/read/1/static.20.26.20co": "topic.html", "/read/1/run.202": "quote.html"} {
		resp, body := w.page(path)
		require.Equal(t, 200, resp.StatusCode, path)
		golden(t, file, body)
		assert.NotContains(t, body, "secret", "direct messages stay off the pages")
		assert.NotContains(t, body, "<script>alert")
		assert.Contains(t, resp.Header.Get("Content-Security-Policy"), "default-src 'none'")
		assert.NotContains(t, resp.Header.Get("Content-Security-Policy"), "unsafe")
		doc, err := goquery.NewDocumentFromReader(strings.NewReader(body))
		require.NoError(t, err)
		assert.Zero(t, doc.Find("style, [style], [onclick], form, script:not([src])").Length(), "nothing inline, nothing that writes")
		assert.Equal(t, 1, doc.Find(`meta[name=viewport]`).Length())
		doc.Find("nav a, ul.topics a, h2 a").Each(func(_ int, s *goquery.Selection) {
			resp, _ := w.page(s.AttrOr("href", ""))
			assert.Equal(t, 200, resp.StatusCode, s.AttrOr("href", ""))
		})
	}
	for _, path := range []string{"/read/9", "/read/x", "/read/1/nothing", "/read/1/%25", "/nowhere", "/avatar/99"} {
		resp, _ := w.page(path)
		assert.Equal(t, 404, resp.StatusCode, path)
	}
	for path, kind := range map[string]string{"/page.css": "text/css", "/narrow.js": "text/javascript", "/icon.svg": "image/svg+xml", "/avatar/1": "image/svg+xml"} {
		resp, _ := w.page(path)
		assert.Contains(t, resp.Header.Get("Content-Type"), kind)
	}
}

// The addresses that bots post carry their place in the fragment, which only a
// browser sees: the script on the page turns them into reading pages. Here its
// own expression is applied to such addresses.
func TestPermalinksOpenTheirTopic(t *testing.T) {
	w := fresh(t)
	ann := w.person("Ann")
	w.stream("made first")
	w.stream("Team A+B", ann)
	_, script := w.page("/narrow.js")
	literal := regexp.MustCompile(`(?m)^  var form = /(.*)/;$`).FindStringSubmatch(script)
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
		resp, body := w.page(address)
		assert.Equal(t, 200, resp.StatusCode, address)
		assert.Contains(t, body, want)
	}
	assert.Nil(t, form.FindStringSubmatch("#message-3"))
}

func TestLongTopicsHavePages(t *testing.T) {
	w := fresh(t)
	ann := w.person("Ann")
	w.stream("general", ann)
	var all []int64
	for range 230 {
		all = append(all, ann.post("general", "../a/b?c", "line"))
	}
	shown := func(path string) (first, last int64, links map[string]string) {
		resp, body := w.page(path)
		require.Equal(t, 200, resp.StatusCode, path)
		doc, err := goquery.NewDocumentFromReader(strings.NewReader(body))
		require.NoError(t, err)
		articles := doc.Find("article")
		require.Equal(t, 100, articles.Length(), path)
		links = map[string]string{}
		doc.Find(".pager a").Each(func(_ int, s *goquery.Selection) { links[s.Text()] = s.AttrOr("href", "") })
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
	n, err := url.ParseQuery("n=" + m[1])
	require.NoError(t, err)
	var out int64
	for _, r := range n.Get("n") {
		out = out*10 + int64(r-'0')
	}
	return out
}
