package chat

import (
	"net/url"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// linkGuard empties the address of every link that is not http, https, mailto
// or within the realm. On a page it also leads narrows to their pages, and
// keeps what is opened elsewhere from knowing where it was opened.
type linkGuard struct{}

// Transform visits the parsed document.
func (*linkGuard) Transform(doc *ast.Document, source text.Reader, pc parser.Context) {
	state, _ := pc.Get(millingKey).(*milling)
	var bare []*ast.AutoLink
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch link := n.(type) {
		case *ast.Link:
			link.Destination = guard(link.Destination)
			state.lead(link, &link.Destination)
		case *ast.Image:
			link.Destination = guard(link.Destination)
			state.lead(link, &link.Destination)
		case *ast.AutoLink:
			bare = append(bare, link)
		}
		return ast.WalkContinue, nil
	})
	for _, link := range bare {
		label := ast.NewString(link.Label(source.Source()))
		address := guard(link.URL(source.Source()))
		switch {
		case string(address) == nowhere: // becomes the text that it was
			link.Parent().ReplaceChild(link.Parent(), link, label)
		case state != nil && state.page:
			led := ast.NewLink()
			led.Destination = address
			if link.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(string(address)), "mailto:") {
				led.Destination = append([]byte("mailto:"), address...)
			}
			led.AppendChild(led, label)
			state.lead(led, &led.Destination)
			link.Parent().ReplaceChild(link.Parent(), link, led)
		}
	}
}

// lead sends a page's link where a page is, and marks one that leaves the server.
func (m *milling) lead(link ast.Node, address *[]byte) {
	if m == nil || !m.page {
		return
	}
	*address = []byte(m.pageLink(string(*address)))
	if at, err := url.Parse(string(*address)); err == nil && (at.Scheme != "" || at.Host != "") {
		link.SetAttributeString("rel", []byte("noopener noreferrer"))
	}
}

// nowhere is the address of a link that must not be followed.
const nowhere = "#"

// guard is a link's address, or nowhere.
func guard(address []byte) []byte {
	u, err := url.Parse(strings.TrimSpace(string(address)))
	if err != nil {
		return []byte(nowhere)
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https", "mailto", "":
		return []byte(u.String())
	default:
		return []byte(nowhere)
	}
}
