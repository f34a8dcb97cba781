package walkthrough

import (
	"bytes"
	"context"
	_ "embed" // the page that the walkthrough pushes
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/PuerkitoBio/goquery"

	"platform.dev/platform/flowclient"
)

// page is what a visitor sees of a site: its one heading, and the commit that its build stamped on it.
type page struct {
	Heading string `json:"heading"`
	Commit  string `json:"commit"` // whole SHA
}

// String tells a page apart from others for people.
func (p page) String() string {
	return fmt.Sprintf("%q at commit %s", p.Heading, flowclient.ShortSHA(p.Commit))
}

//go:embed page.html
var pageText string

// pageSource writes index.html as the static template's build expects it:
// one h1, the markers that the build stamps, the template's stylesheet. link
// is a further local link, empty for none.
func pageSource(heading, lead, link string) (string, error) {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return "", fmt.Errorf("page: %w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, map[string]string{"Heading": heading, "Lead": lead, "Link": link}); err != nil {
		return "", fmt.Errorf("page: %w", err)
	}
	return b.String(), nil
}

// errNoAddress is a deployment that says not yet where it answers.
var errNoAddress = errors.New("it has no address yet")

// visit fetches a page as a visitor would and reads it. Its error says what was seen instead.
func (b *bot) visit(ctx context.Context, url string) (page, error) {
	if url == "" {
		return page{}, errNoAddress
	}
	status, body, err := b.Fetch(ctx, url)
	if err != nil {
		return page{}, fmt.Errorf("%s does not answer: %w", url, err)
	}
	if status != http.StatusOK {
		return page{}, fmt.Errorf("%s answers %d", url, status)
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(body))
	if err != nil {
		return page{}, fmt.Errorf("%s is no page: %w", url, err)
	}
	headings := doc.Find("h1")
	if n := headings.Length(); n != 1 {
		return page{}, fmt.Errorf("%s has %d first-level headings, want one", url, n)
	}
	commit, marked := doc.Find(`meta[name="commit"]`).Attr("content")
	if !marked || commit == "" {
		return page{}, fmt.Errorf("%s does not say which commit it is", url)
	}
	return page{Heading: strings.TrimSpace(headings.Text()), Commit: commit}, nil
}
