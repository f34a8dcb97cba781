package chat_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/server/chat"
)

// patience is how long a browser is waited for: for a test that fails, not for one that holds.
const patience = 30 * time.Second

// tab is a page in a real browser, on a server that listens on a socket.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string

	mu       sync.Mutex
	problems []string // what the browser complained of
}

// serveAt starts a server on a socket; address "127.0.0.1:0" chooses one.
func serveAt(t *testing.T, path, address string) (*world, string) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	require.NoError(t, err)
	address = l.Addr().String()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}}
	return start(t, path, l, transport, func(c *chat.Config) {
		c.URL, c.OpenPages, c.Log = "http://"+address, true, slog.New(slog.DiscardHandler)
	}), address
}

// openTab starts the browser that PLATFORM_TEST_CHROMIUM names.
func openTab(t *testing.T, address string) *tab {
	t.Helper()
	path := os.Getenv("PLATFORM_TEST_CHROMIUM")
	if path == "" {
		t.Skip("PLATFORM_TEST_CHROMIUM is not set: no browser to open the pages in (it is the path of a Chromium)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.WindowSize(1200, 800))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() { cancel(); stop() })
	b := &tab{t: t, ctx: ctx, base: "http://" + address}
	require.NoError(t, chromedp.Do(ctx))
	ended := make(chan struct{})
	messages := chromedp.Console(ctx)
	go func() {
		defer close(ended)
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.Type == "error" || m.IsException() {
				b.mu.Lock()
				b.problems = append(b.problems, m.String())
				b.mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() {
		assert.NoError(t, chromedp.Cancel(ctx))
		<-ended
	})
	return b
}

// complaints are what the browser complained of, but for pages that are not there.
func (b *tab) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.problems), func(p string) bool { return strings.Contains(p, "status of 404") })
}

// do runs steps; each must be done in time.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	for i, step := range steps {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		err := chromedp.Do(ctx, step)
		cancel()
		if err != nil {
			page, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
			require.NoError(b.t, err, "step %d on %s", i+1, page)
		}
	}
}

func (b *tab) open(path string) { b.t.Helper(); b.do(chromedp.Navigate(b.base + path)) }

// until waits for an expression to be true.
func (b *tab) until(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Poll[bool](expression))
	for err != nil && ctx.Err() == nil { // the page was left: the next one is asked
		_, err = chromedp.Run(ctx, chromedp.Poll[bool](expression))
	}
	if err != nil {
		page, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`location.href + " focus " + document.activeElement.outerHTML.slice(0, 200) + "\n" + document.body.innerText`))
		require.NoError(b.t, err, "%s on %s", expression, page)
	}
}

// at waits for a page and its script.
func (b *tab) at(path string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`location.pathname === %q && document.body.dataset.connected !== undefined`, path))
}

// shows waits for an element with a text.
func (b *tab) shows(selector, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`[...document.querySelectorAll(%q)].some((e) => e.textContent.includes(%q))`, selector, text))
}

func value[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	require.NoError(b.t, err, expression)
	return v
}

// press types as a keyboard does: a key that the page takes for itself writes nothing.
func (b *tab) press(keys string) {
	b.t.Helper()
	for _, r := range keys {
		for _, e := range kb.Encode(r) {
			switch e.Type {
			case kb.KeyChar:
				continue
			case kb.KeyDown:
				e.Text = kb.Keys[r].Text
			}
			_, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, *e)
			require.NoError(b.t, err)
		}
	}
}

// signIn signs in with the keyboard from the page that is open.
func (b *tab) signIn(a *actor) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS(".enter")), chromedp.WaitVisible(chromedp.CSS("#secret")),
		chromedp.Click(chromedp.CSS(fmt.Sprintf(`input[value=%q]`, a.Email))), chromedp.Focus(chromedp.CSS("#secret")))
	b.press(a.APIKey + kb.Enter)
	b.shows(".me", a.FullName)
	b.until(`document.body.dataset.connected !== undefined`)
}

// answering is a bot that answers every mention, until the test ends.
func answering(t *testing.T, bot *actor) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	queue := bot.register(form{"event_types": []string{"message"}})
	done := make(chan struct{})
	go func() {
		defer close(done)
		last := int64(-1)
		for {
			out, err := bot.do(ctx, "GET", "/events", form{"queue_id": queue, "last_event_id": last})
			if err != nil || out.status != 200 {
				return
			}
			for _, e := range events(out.body) {
				last = id(e["id"])
				m, ok := e["message"].(map[string]any)
				if !ok || !strings.Contains(m["content"].(string), "@**"+bot.FullName+"**") {
					continue
				}
				_, err := bot.do(ctx, "POST", "/messages", form{"type": "stream", "to": m["stream_id"], "topic": m["subject"],
					"content": "@_**" + m["sender_full_name"].(string) + "** heard `" + m["content"].(string) + "`\n```spoiler The log\nline one\n```"})
				if err != nil {
					return
				}
			}
		}
	}()
	t.Cleanup(func() { stop(); <-done })
}

func TestAPersonTalksToABotInABrowser(t *testing.T) {
	w, address := serveAt(t, filepath.Join(t.TempDir(), "chat.db"), "127.0.0.1:0")
	b := openTab(t, address)
	ann, bob, bot := w.person("Ann Example"), w.person("Bob"), w.bot("walkthrough")
	w.stream("walkthroughs", ann, bob)
	first := bob.post("walkthroughs", "hello", "good morning")
	answering(t, bot)

	b.open("/#narrow/channel/1-walkthroughs/topic/hello/near/" + itoa(first))
	b.shows("#message-1", "good morning")
	b.signIn(ann)
	assert.Equal(t, "/read/1/hello", value[string](b, "location.pathname"), "one is led back")
	value[int](b, "window.stayed = 1")

	b.do(chromedp.Focus(chromedp.CSS("#content")))
	b.press("@walk")
	b.shows("#names [aria-selected=true]", "walkthrough (bot)")
	b.press(kb.Tab)
	b.press("static")
	b.press(kb.Enter)
	b.shows("#messages article[id]", "@walkthrough static")
	b.shows("#messages article[id]", "heard @**walkthrough** static")
	b.until(`document.querySelectorAll('.pending').length === 0 && document.querySelectorAll('#messages article').length === 3`)
	assert.False(t, value[bool](b, `document.querySelector('#message-3 details:not(.react)').open`), "a spoiler is folded")

	b.do(chromedp.Click(chromedp.CSS("#message-3 .react summary")), chromedp.Click(chromedp.CSS(`#message-3 .choice button[value=tada]`)))
	b.until(`document.querySelector('#message-3 button[aria-pressed=true]')?.value === 'tada'`)
	bob.ok("POST", "/messages/3/reactions", form{"emoji_name": "tada"})
	b.until(`document.querySelector('#message-3 button[aria-pressed=true]')?.title === 'Ann Example, Bob'`)

	bob.ok("PATCH", "/messages/1", form{"content": "good *evening*"})
	b.shows("#message-1 .content em", "evening")
	gone := bob.post("walkthroughs", "hello", "a slip")
	b.shows("#messages", "a slip")
	bob.ok("DELETE", "/messages/"+itoa(gone), nil)
	b.until(`!document.getElementById('message-` + itoa(gone) + `')`)
	bob.post("walkthroughs", "elsewhere", "look here")
	b.shows("#side li:has(> .unread-count) > a", "elsewhere")
	bob.post("walkthroughs", "elsewhere", "@**Ann Example** look")
	b.until(`document.title.startsWith('(1) hello')`)
	assert.Equal(t, 1, value[int](b, "window.stayed"), "all of it on one page")
	b.until(`!document.querySelector('#messages .unread:not([data-read])')`)
	assert.Empty(t, b.complaints())
}

// The event queue is lost with the server; what was said since is not.
func TestAPageOutlivesARestartOfItsServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chat.db")
	w, address := serveAt(t, path, "127.0.0.1:0")
	b := openTab(t, address)
	ann, bob := w.person("Ann"), w.person("Bob")
	w.stream("general", ann, bob)
	bob.post("general", "t", "before")
	b.open("/read/1/t")
	b.signIn(ann)
	w.stop()
	b.shows("#status", "does not answer")
	b.do(chromedp.Focus(chromedp.CSS("#content")))
	b.press("sent to nobody" + kb.Enter)
	b.shows("#compose-problem", "Not sent")
	assert.Equal(t, "sent to nobody", value[string](b, `document.getElementById('content').value`), "what could not be sent is given back")

	w, _ = serveAt(t, path, address)
	(&actor{User: bob.User, w: w}).post("general", "t", "meanwhile")
	b.shows("#messages", "meanwhile")
	b.until(`document.getElementById('status').textContent === '' && document.body.dataset.connected !== undefined`)
	b.do(chromedp.Focus(chromedp.CSS("#content")))
	b.press(kb.Enter)
	b.shows("#messages article[id]", "sent to nobody")
	(&actor{User: bob.User, w: w}).post("general", "t", "after")
	b.shows("#messages", "after")
}

func TestEveryPageFitsAPhone(t *testing.T) {
	w, address := serveAt(t, filepath.Join(t.TempDir(), "chat.db"), "127.0.0.1:0")
	b := openTab(t, address)
	ann, bot := w.person("Ann"), w.bot("walkthrough")
	w.stream("walkthroughs", ann)
	long := strings.Repeat("long", 60)
	bot.post("walkthroughs", "a topic with a rather long name, of all sixty code points", strings.Repeat("| a-column ", 16)+"|\n"+strings.Repeat("|---", 16)+"|\n"+strings.Repeat("| `word` ", 16)+"|\n\n```\n"+long+"\n```\nhttp://x.test/"+long+"\n"+long)
	ann.ok("POST", "/messages", form{"type": "direct", "to": []int64{bot.ID}, "content": long})
	b.do(chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile, chromedp.EmulateTouch))
	b.open("/")
	b.signIn(ann)
	topic := document(t, func() string { _, body := w.as(ann).get("/read/1"); return body }()).Find("ul.lines a").AttrOr("href", "")
	for _, path := range []string{"/", "/read/1", topic, "/direct", "/direct/2", "/message/1", "/message/2/edit", "/message/2/delete", "/search?q=long", "/keys", "/nowhere"} {
		b.open(path)
		assert.LessOrEqual(t, value[int](b, "document.documentElement.scrollWidth"), 360, path)
		assert.Equal(t, 1, value[int](b, `getComputedStyle(document.querySelector('.columns')).gridTemplateColumns.split(' ').length`), "%s has one column", path)
		assert.Empty(t, value[[]string](b, `[...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.parentElement.closest('pre, table')).map((e) => e.outerHTML.slice(0, 80))`), path)
	}
	b.open(topic)
	assert.True(t, value[bool](b, `document.getElementById('compose').getBoundingClientRect().bottom <= innerHeight`), "the compose box is in sight")
	assert.Empty(t, b.complaints())
}

// A table that is too wide is moved to and fro by itself; its words stay whole.
func TestATableOnAPhoneKeepsItsWordsWhole(t *testing.T) {
	w, address := serveAt(t, filepath.Join(t.TempDir(), "chat.db"), "127.0.0.1:0")
	b := openTab(t, address)
	ann, bot := w.person("Ann"), w.bot("platform")
	w.stream("shop", ann)
	bot.post("shop", "ops", "| project | promotion | soak | production | next look |\n| --- | --- | --- | --- | --- |\n| **shop** | auto | 5s | closed until Fri 20 Nov 13:18 UTC | in 55 s |")
	b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch))
	b.open("/read/1/ops")
	lines := `[...document.querySelectorAll('th')].filter((e) => !e.textContent.trim().includes(' ')).map((e) => { const r = document.createRange(); r.selectNodeContents(e); return r.getClientRects().length })`
	assert.Equal(t, []int{1, 1, 1, 1}, value[[]int](b, lines), "each word is on one line")
	assert.LessOrEqual(t, value[int](b, "document.documentElement.scrollWidth"), 390)
}

// The last lines of a failed stage are those that tell why: none of the forty is out of sight.
func TestFortyLinesOfOutputAreInSight(t *testing.T) {
	w, address := serveAt(t, filepath.Join(t.TempDir(), "chat.db"), "127.0.0.1:0")
	b := openTab(t, address)
	w.stream("shop", w.person("Ann"))
	bot := w.bot("platform")
	bot.post("shop", "builds", "```text\n"+strings.Repeat("a line\n", 39)+"boom\n```")
	bot.post("shop", "flood", "```text\n"+strings.Repeat("a line\n", 400)+"boom\n```")
	hidden := `(() => { const e = document.querySelector('#messages pre'); return e.scrollHeight - e.clientHeight })()`
	b.open("/read/1/builds")
	assert.LessOrEqual(t, value[int](b, hidden), 0)
	b.open("/read/1/flood")
	assert.Positive(t, value[int](b, hidden), "more than that is moved by itself")
}

func TestTheKeyboardIsEnough(t *testing.T) {
	w, address := serveAt(t, filepath.Join(t.TempDir(), "chat.db"), "127.0.0.1:0")
	b := openTab(t, address)
	ann, bot := w.person("Ann"), w.bot("walkthrough")
	w.stream("walkthroughs", ann)
	bot.post("walkthroughs", "older", "one")
	bot.post("walkthroughs", "hello", "first")
	last := bot.post("walkthroughs", "hello", "last\n```spoiler log\nx\n```")
	b.open("/")
	b.signIn(ann)
	focused := func(selector string) {
		t.Helper()
		b.until(fmt.Sprintf(`document.activeElement.matches(%q)`, selector))
	}

	b.press("?")
	b.shows("dialog[open] td", "the next message")
	b.press(kb.Escape)
	b.until(`!document.querySelector('dialog[open]')`)
	b.press("j")
	b.press(kb.Enter)
	b.at("/read/1/hello")
	b.press("k")
	focused("#message-" + itoa(last))
	b.press("k")
	focused("#message-2")
	b.press("j")
	b.press("-")
	b.until(`document.activeElement.querySelector('.content details').open`)
	b.press("+")
	b.until(`document.querySelector('#message-3 button[aria-pressed=true]')?.textContent.startsWith('👍')`)
	focused("#message-3")
	b.press(":")
	focused(".choice button")
	b.press(kb.Escape)
	focused("#message-3")
	b.press(">")
	focused("#content")
	b.until("document.activeElement.value.startsWith('@_**walkthrough**:\\n````quote\\nlast')")
	b.press(kb.Escape)
	focused("body")
	b.press("/")
	focused("#q")
	b.press("first" + kb.Enter)
	b.at("/search")
	b.shows("article", "first")
	b.press("P")
	b.at("/direct")
	b.press("n")
	b.at("/read/1")
	b.press("c")
	focused("#topic")
	b.press("by keys")
	b.press(kb.Tab)
	focused("#content")
	b.press("done" + kb.Enter)
	b.at("/read/1/by.20keys")
	b.shows("#messages", "done")

	// And without a shortcut: Tab reaches everything, in the order of the page.
	b.open("/read/1/hello")
	var order []string
	for range 60 {
		b.press(kb.Tab)
		at := value[string](b, `(() => { const e = document.activeElement; return e.id || e.className || e.textContent.trim() || e.tagName })()`)
		if len(order) > 0 && at == order[0] || at == "BODY" {
			break
		}
		order = append(order, at)
	}
	want := []string{"skip", "home", "q", "plain", "All channels", "#walkthroughs", "hello", "scroller", "content", "Send"}
	var got []string
	for _, at := range order {
		if len(got) < len(want) && at == want[len(got)] {
			got = append(got, at)
		}
	}
	assert.Equal(t, want, got, "%q", order)
	assert.Empty(t, b.complaints())
}

// contrast is the contrast of each text with what is behind it, by WCAG's
// formula, where it is under 4.5.
const contrast = `(() => {
  const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4 }); return .2126 * r + .7152 * g + .0722 * b };
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const over = (below, color) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = 'rgb(' + below + ')'; canvas.fillRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3) };
  const behind = (e) => { const chain = []; for (; e; e = e.parentElement) chain.unshift(getComputedStyle(e).backgroundColor); return chain.reduce(over, [255, 255, 255]) };
  const weak = [];
  for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || !e.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const back = behind(e), front = over(back, getComputedStyle(e).color), [a, b] = [light(front), light(back)];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) weak.push(e.tagName + '.' + e.className + ' ' + e.textContent.trim().slice(0, 20) + ' ' + ratio.toFixed(2));
  }
  return weak;
})()`

func TestTextIsReadableInBothColourSchemes(t *testing.T) {
	w, address := serveAt(t, filepath.Join(t.TempDir(), "chat.db"), "127.0.0.1:0")
	b := openTab(t, address)
	ann, bot := w.person("Ann"), w.bot("walkthrough")
	w.stream("walkthroughs", ann)
	sent := bot.post("walkthroughs", "hello", "@**Ann** **bold** `code` [link](http://x.test)\n> quoted <time:2026-03-04T10:00:00Z>\n\n```\ncode\n```\n@_**walkthrough** @**topic**")
	ann.ok("POST", "/messages/"+itoa(sent)+"/reactions", form{"emoji_name": "info"})
	bot.post("walkthroughs", "other", "unread")
	own := "/message/" + itoa(ann.post("walkthroughs", "own", "mine"))
	b.open("/")
	b.signIn(ann)
	for _, scheme := range []string{"light", "dark"} {
		emulate(b, scheme)
		for _, path := range []string{"/", "/read/1", "/read/1/hello", "/direct", "/message/1", own + "/edit", own + "/delete", "/search?q=is:mentioned", "/search?q=is:none", "/keys", "/sign-in"} {
			b.open(path)
			assert.Empty(t, value[[]string](b, contrast), "%s in %s", path, scheme)
		}
	}
}

// emulate makes the browser prefer a colour scheme.
func emulate(b *tab, scheme string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	require.NoError(b.t, err)
}
