package chat

import (
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	goldmarkhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// What a message can refer to, at the start of the rest of a line.
var (
	mentionText = regexp.MustCompile(`^@(_?)\*\*([^*]+)\*\*`)
	mentionID   = regexp.MustCompile(`^(.*)\|([0-9]{1,18})$`)
	timeText    = regexp.MustCompile(`^<time:([^>\n]{1,50})>`)
	streamText  = regexp.MustCompile(`^#\*\*([^*>]+)(?:>([^*]+))?\*\*`)
	emojiSyntax = regexp.MustCompile(`^:([\w\-+]+):`)
)

// beforeMention are the characters that may stand before a mention, beside
// white space and the beginning of a line: Zulip's look-behind.
const beforeMention = `'"({[/<`

// wildcards are the names that call everybody; "topic" calls those in the topic.
var wildcards = []string{"all", "everyone", "stream", "channel"}

// kindReference is the node of a mention, a channel link or an emoji.
var kindReference = ast.NewNodeKind("Reference")

// reference is a piece of finished HTML, made of escaped text alone.
type reference struct {
	ast.BaseInline
	html string
}

func (r *reference) Kind() ast.NodeKind { return kindReference }

// Dump is for debugging the tree.
func (r *reference) Dump(source []byte, level int) {
	ast.DumpHelper(r, source, level, map[string]string{"html": r.html}, nil)
}

// referenceParser reads mentions (@), channel links (#), emoji (:) and times (<time:...>).
type referenceParser struct{}

// Trigger is the characters that start a reference.
func (*referenceParser) Trigger() []byte { return []byte{'@', '#', ':', '<'} }

// Parse reads a reference at the reader's place, or nothing.
func (*referenceParser) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	state, ok := pc.Get(millingKey).(*milling)
	if !ok {
		return nil
	}
	line, _ := block.PeekLine()
	if len(line) == 0 {
		return nil
	}
	free := mayMention(block.PrecendingCharacter())
	var markup string
	var length int
	switch {
	case line[0] == '@' && free:
		markup, length = state.mention(string(line), parent)
	case line[0] == '#' && free:
		markup, length = state.streamLink(string(line))
	case line[0] == ':':
		markup, length = state.emoji(string(line))
	case line[0] == '<':
		markup, length = state.time(string(line))
	}
	if length == 0 {
		return nil
	}
	block.Advance(length)
	return &reference{html: markup}
}

// mayMention tells whether a mention may follow a character.
func mayMention(before rune) bool {
	return strings.ContainsRune(beforeMention, before) || strings.TrimSpace(string(before)) == ""
}

// mention reads @**Name**, @**Name|id**, @**|id**, their silent forms with @_,
// and the wildcards. In a quote every mention is silent.
func (m *milling) mention(line string, parent ast.Node) (markup string, length int) {
	found := mentionText.FindStringSubmatch(line)
	if found == nil {
		return "", 0
	}
	name := found[2]
	silent := found[1] == "_" || m.silent || quoted(parent)
	mark, class := "@", ""
	if silent {
		mark, class = "", " silent"
	}
	if a, ok := m.person(name); ok {
		if !silent {
			m.call(a.ID)
		}
		if m.page && a.ID == m.viewer {
			class += " me"
		}
		return `<span class="user-mention` + class + `" data-user-id="` + strconv.FormatInt(a.ID, 10) + `">` +
			html.EscapeString(mark+a.FullName) + `</span>`, len(found[0])
	}
	if slices.Contains(wildcards, name) {
		m.found.wide = m.found.wide || !silent
		return `<span class="user-mention channel-wildcard-mention` + class + `" data-user-id="*">` + mark + name + `</span>`, len(found[0])
	}
	if name == "topic" {
		m.found.topic = m.found.topic || !silent
		return `<span class="topic-mention` + class + `">` + mark + `topic</span>`, len(found[0])
	}
	return "", 0
}

// person is the account that the text of a mention means.
func (m *milling) person(name string) (account, bool) {
	parts := mentionID.FindStringSubmatch(name)
	if parts == nil {
		if slices.Contains(wildcards, name) || name == "topic" {
			return account{}, false
		}
		return m.byName(name)
	}
	id, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return account{}, false
	}
	a, ok := m.byID(id)
	return a, ok && (parts[1] == "" || strings.EqualFold(parts[1], a.FullName))
}

// quoted tells whether a node stands in a quotation made with ">".
func quoted(n ast.Node) bool {
	for ; n != nil; n = n.Parent() {
		if n.Kind() == ast.KindBlockquote {
			return true
		}
	}
	return false
}

// streamLink reads #**channel** and #**channel>topic**.
func (m *milling) streamLink(line string) (markup string, length int) {
	found := streamText.FindStringSubmatch(line)
	if found == nil {
		return "", 0
	}
	st, ok := m.stream(found[1])
	if !ok {
		return "", 0
	}
	class, label, address := "stream", "#"+st.Name, narrowAddress(st.ID, st.Name, found[2])
	if found[2] != "" {
		class, label = "stream-topic", label+" > "+found[2]
	}
	if m.page {
		address = m.pageLink(address)
	}
	return `<a class="` + class + `" data-stream-id="` + strconv.FormatInt(st.ID, 10) + `" href="` + html.EscapeString(address) + `">` +
		html.EscapeString(label) + `</a>`, len(found[0])
}

// emoji reads :name: of a known emoji.
func (m *milling) emoji(line string) (markup string, length int) {
	found := emojiSyntax.FindStringSubmatch(line)
	if found == nil {
		return "", 0
	}
	code, ok := emojiNames[found[1]]
	if !ok {
		return "", 0
	}
	title := strings.ReplaceAll(found[1], "_", " ")
	shown := found[0]
	if m.page {
		shown = emojiText(code)
	}
	return `<span aria-label="` + title + `" class="emoji emoji-` + code + `" role="img" title="` + title + `">` + shown + `</span>`, len(found[0])
}

// time reads <time:...>: RFC 3339, or unix seconds.
func (m *milling) time(line string) (markup string, length int) {
	found := timeText.FindStringSubmatch(line)
	if found == nil {
		return "", 0
	}
	at, err := time.Parse(time.RFC3339, found[1])
	if seconds, bad := strconv.ParseInt(found[1], 10, 64); err != nil && bad == nil && seconds >= 0 && seconds <= maxTime {
		at, err = time.Unix(seconds, 0), nil
	}
	if err != nil {
		return "", 0
	}
	shown := found[1]
	if m.page {
		shown = at.UTC().Format("2006-01-02 15:04 UTC")
	}
	return `<time datetime="` + at.UTC().Format("2006-01-02T15:04:05Z") + `">` + html.EscapeString(shown) + `</time>`, len(found[0])
}

// maxTime is the last second of the year 9999.
const maxTime = 253402300799

// narrowLink is the address of a channel, a topic or a message as clients write it.
var narrowLink = regexp.MustCompile(`^/#narrow/(?:channel|stream)/([0-9]{1,18})[^/]*(?:/(?:topic|subject)/([^/?#]+)(?:/(?:near|with)/([0-9]{1,18}))?)?/?$`)

// pageLink is where a page leads for an address: the page of a narrow, without a script, and any other as it is.
func (m *milling) pageLink(address string) string {
	found := narrowLink.FindStringSubmatch(strings.TrimPrefix(address, m.site))
	if found == nil {
		return address
	}
	page := "/read/" + found[1]
	if found[2] != "" {
		page += "/" + found[2]
	}
	if found[3] != "" {
		page += "?near=" + found[3] + "#message-" + found[3]
	}
	return page
}

// narrowAddress is the address of a channel or one of its topics within the realm.
func narrowAddress(id int64, name, topic string) string {
	address := "/#narrow/channel/" + strconv.FormatInt(id, 10) + "-" + narrowEncode(strings.ReplaceAll(name, " ", "-"))
	if topic != "" {
		address += "/topic/" + narrowEncode(topic)
	}
	return address
}

// narrowEncode writes a text for a narrow's address: percent-encoding with "."
// for "%", so that it survives in a fragment and as one element of a path.
func narrowEncode(text string) string {
	return strings.NewReplacer("+", ".20", ".", ".2E", "%", ".").Replace(url.QueryEscape(text))
}

// narrowDecode reads what narrowEncode wrote.
func narrowDecode(text string) (string, error) {
	return url.PathUnescape(strings.ReplaceAll(text, ".", "%"))
}

// referenceRenderer writes references, and images as links to them: showing a
// message must not fetch anything.
type referenceRenderer struct{}

// RegisterFuncs tells goldmark what is rendered here.
func (*referenceRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(kindReference, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if ref, ok := n.(*reference); ok && entering {
			_, _ = w.WriteString(ref.html)
		}
		return ast.WalkContinue, nil
	})
	r.Register(ast.KindImage, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		img, ok := n.(*ast.Image)
		switch {
		case ok && entering:
			_, _ = w.WriteString(`<a href="` + html.EscapeString(string(img.Destination)) + `"`)
			goldmarkhtml.RenderAttributes(w, img, goldmarkhtml.LinkAttributeFilter)
			_, _ = w.WriteString(">")
			if !n.HasChildren() {
				_, _ = w.WriteString(html.EscapeString(string(img.Destination)))
			}
		case ok:
			_, _ = w.WriteString("</a>")
		}
		return ast.WalkContinue, nil
	})
}
