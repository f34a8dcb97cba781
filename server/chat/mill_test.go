package chat

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// cast is a resolver with these accounts and the channel "Team A+B".
func cast() names {
	people := map[int64]account{}
	for id, name := range []string{1: "walkthrough", 2: "platform", 3: "Ann Example", 4: "Twin", 5: "Twin", 6: "all"} {
		if name != "" {
			people[int64(id)] = account{User: User{ID: int64(id), FullName: name}}
		}
	}
	d := &directory{ids: map[int64]account{}, email: map[string]int64{}, names: map[string][]int64{}}
	for id := range int64(7) {
		if a, ok := people[id]; ok {
			d.add(a)
		}
	}
	return names{byID: d.byID, byName: d.byName, stream: func(name string) (stream, bool) {
		return stream{ID: 7, Name: "Team A+B"}, strings.EqualFold(name, "team a+b")
	}}
}

func TestWhatIsAMention(t *testing.T) {
	const fence = "```"
	cases := []struct {
		name, content string
		want          mentions
	}{
		{"at the start", "@**walkthrough** static", mentions{users: []int64{1}}},
		{"whatever its case", "@**WalkThrough** static", mentions{users: []int64{1}}},
		{"with a space in the name", "hi @**Ann Example**!", mentions{users: []int64{3}}},
		{"by name and id", "@**Twin|5**", mentions{users: []int64{5}}},
		{"by id alone", "@**|2**", mentions{users: []int64{2}}},
		{"by an id with another's name", "@**walkthrough|2**", mentions{}},
		{"by an unknown id", "@**|99**", mentions{}},
		{"by an id that is too long", "@**|" + strings.Repeat("9", 30) + "**", mentions{}},
		{"by a name that two have", "@**Twin**", mentions{}},
		{"of nobody", "@**nobody**", mentions{}},
		{"silently", "@_**walkthrough** and @_**|2** and @_**all**", mentions{}},
		{"each once", "@**walkthrough** @**|1** @**platform**", mentions{users: []int64{1, 2}}},
		{"after each character that Zulip allows", "'@**walkthrough** \"@**platform** (@**|3** {@**Twin|4** [@**Twin|5** /@**|6** <@**all**", mentions{users: []int64{1, 2, 3, 4, 5, 6}, wide: true}},
		{"not after a letter", "x@**walkthrough**", mentions{}},
		{"not after other punctuation", ".@**walkthrough** ,@**platform** >@**|3** *@**|4**", mentions{}},
		{"not after a backslash", `\@**walkthrough**`, mentions{}},
		{"not without its stars", "@walkthrough @*walkthrough*", mentions{}},
		{"in bold text", "**see** @**walkthrough** **now**", mentions{users: []int64{1}}},
		{"on a later line", "one\n@**walkthrough**", mentions{users: []int64{1}}},
		{"in a list", "* one\n* @**walkthrough**", mentions{users: []int64{1}}},
		{"in a heading", "# @**walkthrough**", mentions{users: []int64{1}}},
		{"in a table", "| a | b |\n|---|---|\n| @**walkthrough** | x |", mentions{users: []int64{1}}},
		{"in the text of a link", "[@**walkthrough**](http://x)", mentions{users: []int64{1}}},
		{"a wildcard", "@**everyone**", mentions{wide: true}},
		{"a wildcard before a person of that name", "@**all**", mentions{wide: true}},
		{"the topic", "@**topic**", mentions{topic: true}},
		{"not in code", "`@**walkthrough**` and ``a ` @**walkthrough**``", mentions{}},
		{"not in a fenced block", fence + "\n@**walkthrough**\n" + fence, mentions{}},
		{"not in a fenced block with a language", fence + "py\n@**walkthrough**\n" + fence, mentions{}},
		{"not in a block fenced with tildes", "~~~\n@**walkthrough**\n~~~", mentions{}},
		{"not in an indented block", "text\n\n    @**walkthrough**", mentions{}},
		{"not in a block that never closes", fence + "\n@**walkthrough**", mentions{}},
		{"not after a fence that is longer than the opening one", fence + "\n" + fence + "`\n@**walkthrough**", mentions{}},
		{"after a block", fence + "\ncode\n" + fence + "\n@**walkthrough**", mentions{users: []int64{1}}},
		{"silently in a quotation", "> @**walkthrough** @**all** @**topic**", mentions{}},
		{"silently in a quotation in a list", "* > @**walkthrough**", mentions{}},
		{"silently in a quoted block", fence + "quote\n@**walkthrough**\n" + fence, mentions{}},
		{"silently in a spoiler in a quoted block", "````quote\n" + fence + "spoiler @**platform**\n@**walkthrough**\n" + fence + "\n````", mentions{}},
		{"aloud after a quoted block", fence + "quote\n@**walkthrough**\n" + fence + "\n@**platform**", mentions{users: []int64{2}}},
		{"in the body of a spoiler", fence + "spoiler log\n@**walkthrough**\n" + fence, mentions{users: []int64{1}}},
		{"in the header of a spoiler", fence + "spoiler for @**walkthrough**\nx\n" + fence, mentions{users: []int64{1}}},
		{"not in code in a spoiler", "````spoiler log\n" + fence + "\n@**walkthrough**\n" + fence + "\n````", mentions{}},
		{"a backtick in its header voids a spoiler's fence", fence + "spoiler a`b\n@**walkthrough**", mentions{users: []int64{1}}},
		{"in raw HTML, which is text", "<div>\n@**walkthrough**\n</div>", mentions{users: []int64{1}}},
		{"made safe by a zero-width space", "@\u200b**walkthrough** @\u200b_**walkthrough**", mentions{}},
	}
	mill := newMill()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, got := mill.render(c.content, cast())
			slices.Sort(got.users)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestRendering(t *testing.T) {
	const fence = "```"
	cases := []struct{ name, content, want string }{
		{"a line break", "a\nb", "<p>a<br>\nb</p>"},
		{"raw HTML", "<script>alert(1)</script> <b>x</b>", "<p>&lt;script&gt;alert(1)&lt;/script&gt; &lt;b&gt;x&lt;/b&gt;</p>"},
		{"a mention", "@**platform**", `<p><span class="user-mention" data-user-id="2">@platform</span></p>`},
		{"a silent mention", "@_**platform**", `<p><span class="user-mention silent" data-user-id="2">platform</span></p>`},
		{"a wildcard", "@**all**", `<p><span class="user-mention channel-wildcard-mention" data-user-id="*">@all</span></p>`},
		{"a channel", "#**Team A+B**", `<p><a class="stream" data-stream-id="7" href="/#narrow/channel/7-Team-A.2BB">#Team A+B</a></p>`},
		{"a topic", "#**Team A+B>100% (a/b).**", `<p><a class="stream-topic" data-stream-id="7" href="/#narrow/channel/7-Team-A.2BB/topic/100.25.20.28a.2Fb.29.2E">#Team A+B &gt; 100% (a/b).</a></p>`},
		{"an unknown channel", "#**nowhere**", "<p>#<strong>nowhere</strong></p>"},
		{"an emoji", "done :octopus: :no_such_thing:", `<p>done <span aria-label="octopus" class="emoji emoji-1f419" role="img" title="octopus">:octopus:</span> :no_such_thing:</p>`},
		{"a code block", fence + "go\na <b>\n" + fence, "<div class=\"codehilite\" data-code-language=\"go\"><pre><span></span><code>a &lt;b&gt;\n</code></pre></div>"},
		{"a spoiler", fence + "spoiler The *log*\nline\n" + fence, "<div class=\"spoiler-block\"><div class=\"spoiler-header\">\n<p>The <em>log</em></p>\n</div><div class=\"spoiler-content\" aria-hidden=\"true\">\n<p>line</p>\n</div></div>"},
		{"a quoted block", fence + "quote\na\n" + fence, "<blockquote>\n<p>a</p>\n</blockquote>"},
		{"a bare address", "see http://x.test/a?b=1&c", `<p>see <a href="http://x.test/a?b=1&amp;c">http://x.test/a?b=1&amp;c</a></p>`},
		{"a link that runs something", "[a](javascript:alert(1)) [b](data:text/html,x)", `<p><a href="#">a</a> <a href="#">b</a></p>`},
		{"an address that runs something", "<javascript:alert(1)>", "<p>javascript:alert(1)</p>"},
		{"an image is a link", "![pic](http://x.test/p.png)", `<p><a href="http://x.test/p.png">pic</a></p>`},
		{"no reference links", "[a]: http://x.test", `<p>[a]: <a href="http://x.test">http://x.test</a></p>`},
		{"a time", "at <time:2026-03-04T12:00:00+01:00> or <time:1> or <time:soon>", `<p>at <time datetime="2026-03-04T11:00:00Z">2026-03-04T12:00:00+01:00</time> or <time datetime="1970-01-01T00:00:01Z">1</time> or time:soon</p>`},
		{"strikethrough", "~~old~~", "<p><del>old</del></p>"},
	}
	mill := newMill()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, _ := mill.render(c.content, cast())
			assert.Equal(t, c.want, got)
		})
	}
}

func TestRenderingOnAPage(t *testing.T) {
	page := cast()
	page.page, page.site, page.viewer = true, "http://chat.test", 3
	cases := []struct{ name, content, want string }{
		{"the reader's own mention", "@**Ann Example** @**platform**", `<p><span class="user-mention me" data-user-id="3">@Ann Example</span> <span class="user-mention" data-user-id="2">@platform</span></p>`},
		{"a link elsewhere", "[a](http://x.test/)", `<p><a href="http://x.test/" rel="noopener noreferrer">a</a></p>`},
		{"a bare address", "http://x.test/?a=1&b", `<p><a href="http://x.test/?a=1&amp;b" rel="noopener noreferrer">http://x.test/?a=1&amp;b</a></p>`},
		{"an image", "![a](http://x.test/a.png)", `<p><a href="http://x.test/a.png" rel="noopener noreferrer">a</a></p>`},
		{"mail", "<a@x.test>", `<p><a href="mailto:a@x.test" rel="noopener noreferrer">a@x.test</a></p>`},
		{"a topic", "#**Team A+B>a.b**", `<p><a class="stream-topic" data-stream-id="7" href="/read/7/a.2Eb">#Team A+B &gt; a.b</a></p>`},
		{"a channel", "#**Team A+B**", `<p><a class="stream" data-stream-id="7" href="/read/7">#Team A+B</a></p>`},
		{"a message of this server", "[a](http://chat.test/#narrow/channel/7-Team/topic/a.2Eb/near/12)", `<p><a href="/read/7/a.2Eb?near=12#message-12">a</a></p>`},
		{"a message of another server", "[a](http://chat.test.evil.test/#narrow/channel/7-Team/topic/a)", `<p><a href="http://chat.test.evil.test/#narrow/channel/7-Team/topic/a" rel="noopener noreferrer">a</a></p>`},
		{"an address without a scheme", "[a](//evil.test/x)", `<p><a href="//evil.test/x" rel="noopener noreferrer">a</a></p>`},
		{"a time", "<time:2026-03-04T12:00:00+01:00>", `<p><time datetime="2026-03-04T11:00:00Z">2026-03-04 11:00 UTC</time></p>`},
		{"an address that runs something", "[a](javascript:alert(1)) <javascript:alert(1)>", `<p><a href="#">a</a> javascript:alert(1)</p>`},
	}
	mill := newMill()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, _ := mill.render(c.content, page)
			assert.Equal(t, c.want, got)
		})
	}
}

// safeTags are the elements that a rendered message may have, with their attributes.
var safeTags = map[string][]string{
	"p": nil, "br": nil, "hr": nil, "em": nil, "strong": nil, "del": nil, "ul": nil, "ol": {"start"}, "li": nil, "blockquote": nil,
	"h1": nil, "h2": nil, "h3": nil, "h4": nil, "h5": nil, "h6": nil, "pre": nil, "code": nil, "details": nil, "summary": nil,
	"table": nil, "thead": nil, "tbody": nil, "tr": nil, "th": {"style", "align"}, "td": {"style", "align"},
	"a":    {"href", "title", "class", "data-stream-id", "rel"},
	"time": {"datetime"},
	"div":  {"class", "data-code-language", "aria-hidden"},
	"span": {"class", "data-user-id", "aria-label", "role", "title"},
}

var safeAddress = regexp.MustCompile(`(?i)^(https?:|mailto:|#|/|[^:]*$|[^:/?#]*[/?#])`)

// checkSafe holds rendered HTML to safeTags.
func checkSafe(t require.TestingT, content, out string) {
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(out))
	require.NoError(t, err)
	doc.Find("body *").Each(func(_ int, s *goquery.Selection) {
		tag := goquery.NodeName(s)
		allowed, known := safeTags[tag]
		require.True(t, known, "<%s> from %q", tag, content)
		for _, a := range s.Nodes[0].Attr {
			require.Contains(t, allowed, a.Key, "<%s %s> from %q", tag, a.Key, content)
			if a.Key == "href" {
				require.Regexp(t, safeAddress, a.Val, "from %q", content)
			}
			if a.Key == "style" {
				require.Regexp(t, `^text-align:\s*(left|right|center);?$`, a.Val)
			}
		}
	})
}

var (
	beforeStars = regexp.MustCompile(`@(_?\*)`)
	pieces      = []string{"@**walkthrough**", "@**|2**", "@_**platform**", "@**all**", "@*", "@", "**", "*", "_", "`", "```", "````", "~~~", "\n", "\n\n", "> ", "spoiler x", "quote", "<b>", "<script>", "[", "](", ")", "javascript:alert(1)",
		"http://x", "|", "---", "\n|---|\n", "    ", "* ", "# ", "\\", ":eyes:", "#**Team A+B**", "word", " ", "&lt;", "\"", "'", "![", "<javascript:x>", "(", "{", "/", "/#narrow/channel/7-x/topic/a/near/1", "<time:", "2026-03-04T12:00:00Z", ">", "rel=x", "{rel=x}"}
)

// checkMill holds one message to everything that must hold for all.
func checkMill(t require.TestingT, mill *mill, content string) {
	page := cast()
	page.page, page.site, page.viewer = true, "http://x", 3
	out, found := mill.render(content, cast())
	shown, same := mill.render(content, page)
	require.Equal(t, found, same, "both renderings hear the same mentions")
	checkSafe(t, content, out)
	checkSafe(t, content, shown)
	for _, id := range found.users {
		require.Contains(t, out, `data-user-id="`+string(rune('0'+id))+`">@`, "a mention that fires is one that shows")
	}
	defused := beforeStars.ReplaceAllString(content, "@\u200b$1")
	_, found = mill.render(defused, cast())
	require.Equal(t, mentions{}, found, "a zero-width space makes foreign text safe: %q", defused)
}

func TestAnyMessageRendersSafely(t *testing.T) {
	mill := newMill()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(pieces), rapid.StringN(0, 4, -1)), 0, 40).Draw(t, "parts")
		checkMill(t, mill, strings.Join(parts, ""))
	})
}

func FuzzMill(f *testing.F) {
	for _, p := range pieces {
		f.Add(p + " " + p + "\n" + p)
	}
	mill := newMill()
	f.Fuzz(func(t *testing.T, content string) {
		if len(content) > MaxContent {
			return
		}
		checkMill(t, mill, strings.ToValidUTF8(content, "?"))
	})
}

func TestNestingIsBounded(t *testing.T) {
	var b strings.Builder
	for range 400 {
		b.WriteString("```quote\n```spoiler x\n")
	}
	depth, deepest := 0, 0
	var walk func([]section)
	walk = func(list []section) {
		depth++
		deepest = max(deepest, depth)
		for _, s := range list {
			walk(s.inner)
		}
		depth--
	}
	walk(sections(b.String()))
	assert.LessOrEqual(t, deepest, maxNesting+2)
}

func TestNarrowAddressesSurviveEveryTopic(t *testing.T) {
	for topic, want := range map[string]string{"run 12": "run.2012", "a.b": "a.2Eb", "100%": "100.25", "a/b+c": "a.2Fb.2Bc", "..": ".2E.2E", "Grüße": "Gr.C3.BC.C3.9Fe"} {
		assert.Equal(t, want, narrowEncode(topic))
	}
	rapid.Check(t, func(t *rapid.T) {
		topic := rapid.String().Draw(t, "topic")
		enc := narrowEncode(topic)
		require.Regexp(t, `^[A-Za-z0-9_~.\-]*$`, enc)
		back, err := narrowDecode(enc)
		require.NoError(t, err)
		require.Equal(t, topic, back)
	})
}

func TestCutCountsCodePoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		limit := rapid.IntRange(3, 30).Draw(t, "limit")
		got := []rune(cut(text, limit, "..."))
		require.LessOrEqual(t, len(got), limit)
		if len([]rune(text)) <= limit {
			require.Equal(t, text, string(got))
		} else {
			require.Len(t, got, limit)
			require.True(t, strings.HasSuffix(string(got), "..."))
		}
	})
}
