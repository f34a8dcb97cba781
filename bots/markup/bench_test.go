package markup_test

import (
	"encoding/json"
	"testing"

	"platform.dev/platform/bots/markup"
)

// promoted is a message as people read it most often: promote.done of two components.
func promoted() markup.Message {
	const commits, page = "http://127.0.0.1:3001/platform/shop/commit/", "http://production-shop.apps.platform.localhost:19080/shop-web-http"
	return markup.Message{
		Kind: "promote.done", Status: markup.Done, Title: markup.Spans(markup.T("Promoted "), markup.B("shop"), markup.T(" to production")),
		Blocks: []markup.Block{markup.List(
			markup.Spans(markup.C("shop-web"), markup.T(": "), markup.L("1a2b3c4", commits+"1a2b3c4d5e6f708192a3b4c5d6e7f80912a3b4c5"), markup.T(" → "),
				markup.L("9f8e7d6", commits+"9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c"), markup.T(", release "), markup.C("shop-web-2b3c4d5e"), markup.T(", "), markup.L("open it", page)),
			markup.Spans(markup.C("shop-api"), markup.T(": "), markup.C("1a2b3c4"), markup.T(", release "), markup.C("shop-api-a3b4c5d6")),
		)},
	}
}

// BenchmarkRender renders one promote.done for each chat. Its limit, in the same
// run, is encoding the document as JSON, which the outbox does with every message.
func BenchmarkRender(b *testing.B) {
	m := promoted()
	for _, c := range []struct {
		name   string
		render func() int
	}{
		{"limit=json", func() int { body, _ := json.Marshal(m); return len(body) }},
		{"zulip", func() int { return len(markup.Zulip(m)) }},
		{"slack", func() int { return len(markup.Slack(m)) }},
		{"terminal", func() int { return len(markup.Terminal(m, 80, true)) }},
		{"plain", func() int { return len(markup.Plain(m)) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if c.render() == 0 {
					b.Fatal("nothing was rendered")
				}
			}
		})
	}
}
