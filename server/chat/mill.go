package chat

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"html"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	goldmarkhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// mentions is whom a message calls: each user once, by id.
type mentions struct {
	users []int64
	wide  bool // @**all** and its like
	topic bool // @**topic**
}

// names resolves what messages refer to.
type names struct {
	byID   func(id int64) (account, bool)
	byName func(name string) (account, bool)
	stream func(name string) (stream, bool)

	page   bool   // for a page: spoilers open by themselves, emoji are characters, links lead to pages
	site   string // with page: the server's own address
	viewer int64  // with page: who reads
}

// names is the resolver over the server's accounts and channels.
func (s *Server) names(ctx context.Context) names {
	return names{
		byID: s.people.byID, byName: s.people.byName,
		stream: func(name string) (stream, bool) {
			st, err := streamByName(ctx, s.file.Reader(), name)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				s.cfg.Log.Warn("resolve channel link", "error", err) // the link stays text
			}
			return st, err == nil
		},
	}
}

// milling is the state of rendering one message; parsers find it in their context.
type milling struct {
	names
	found  mentions
	silent bool // inside a quote: mentions call nobody
}

var millingKey = parser.NewContextKey()

// call records a mention.
func (m *milling) call(id int64) {
	if !slices.Contains(m.found.users, id) {
		m.found.users = append(m.found.users, id)
	}
}

// mill turns Zulip's Markdown into HTML that is safe to show, and tells whom it
// mentions. One reading of the text does both, so that what looks like a
// mention is one, and nothing else is.
type mill struct{ markdown goldmark.Markdown }

// newMill takes from CommonMark what Zulip has. It leaves out raw HTML (which
// stays text), reference links, underlined headings and CommonMark's fences.
func newMill() *mill {
	p := parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(&referenceParser{}, 50),
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewEmphasisParser(), 500),
		),
		parser.WithASTTransformers(util.Prioritized(&linkGuard{}, 900)),
	)
	return &mill{markdown: goldmark.New(
		goldmark.WithParser(p),
		goldmark.WithExtensions(extension.Strikethrough, extension.Table,
			extension.NewLinkify(extension.WithLinkifyAllowedProtocols([]string{"http:", "https:"}))),
		goldmark.WithRendererOptions(
			goldmarkhtml.WithHardWraps(),
			renderer.WithNodeRenderers(util.Prioritized(&referenceRenderer{}, 100)),
		),
	)}
}

// render is a message's HTML and its mentions.
func (m *mill) render(content string, n names) (string, mentions) {
	state := &milling{names: n}
	var b bytes.Buffer
	for _, sec := range sections(content) {
		m.section(&b, sec, state)
	}
	return strings.TrimSuffix(b.String(), "\n"), state.found
}

// section writes one section.
func (m *mill) section(b *bytes.Buffer, sec section, state *milling) {
	switch sec.kind {
	case sectionText:
		m.text(b, sec.text, state)
	case sectionCode:
		b.WriteString(`<div class="codehilite"`)
		if sec.lang != "" {
			b.WriteString(` data-code-language="` + html.EscapeString(sec.lang) + `"`)
		}
		b.WriteString(`><pre><span></span><code>` + html.EscapeString(sec.text) + "\n</code></pre></div>\n")
	case sectionQuote:
		before := state.silent
		state.silent = true
		b.WriteString("<blockquote>\n")
		for _, inner := range sec.inner {
			m.section(b, inner, state)
		}
		b.WriteString("</blockquote>\n")
		state.silent = before
	case sectionSpoiler:
		m.spoiler(b, sec, state)
	}
}

// spoiler writes a folded section: Zulip's markup, or an element that browsers fold by themselves.
func (m *mill) spoiler(b *bytes.Buffer, sec section, state *milling) {
	parts := []string{`<div class="spoiler-block"><div class="spoiler-header">` + "\n", `</div><div class="spoiler-content" aria-hidden="true">` + "\n", "</div></div>\n"}
	if state.page {
		parts = []string{"<details><summary>", "</summary>\n", "</details>\n"}
	}
	b.WriteString(parts[0])
	header := sec.header
	if header == "" && state.page {
		header = "Spoiler"
	}
	m.text(b, header, state)
	b.WriteString(parts[1])
	for _, inner := range sec.inner {
		m.section(b, inner, state)
	}
	b.WriteString(parts[2])
}

// text writes Markdown without fences.
func (m *mill) text(b *bytes.Buffer, text string, state *milling) {
	pc := parser.NewContext()
	pc.Set(millingKey, state)
	var out bytes.Buffer
	if err := m.markdown.Convert([]byte(text), &out, parser.WithContext(pc)); err != nil {
		out.Reset() // a buffer takes every write, so no renderer fails; were one to, the text is shown as it is
		out.WriteString("<p>" + html.EscapeString(text) + "</p>\n")
	}
	b.Write(out.Bytes())
}
