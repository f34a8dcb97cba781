package bots

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"platform.dev/platform/bots/markup"
)

func TestWhatChangedBetweenTwoPlansIsToldInWords(t *testing.T) {
	item := func(name string, rest ...string) []markup.Span {
		spans := markup.Spans(markup.C(name), markup.T(": "))
		for _, r := range rest {
			spans = append(spans, markup.T(r))
		}
		return spans
	}
	list := func(items ...[]markup.Span) markup.Message {
		return markup.Message{Title: markup.Spans(markup.T("Would promote shop")), Blocks: []markup.Block{markup.List(items...)}}
	}
	fields := func(value string) markup.Message {
		return markup.Message{Blocks: []markup.Block{markup.Fields(markup.Named("reason", markup.F("fair")), markup.Named("until", markup.T(value)))}}
	}
	table := func(commit string) markup.Message {
		return markup.Message{Blocks: []markup.Block{markup.Table([]string{"component", "from", "to"},
			[][]markup.Span{markup.Spans(markup.C("web")), markup.Spans(markup.C("1a2b3c")), markup.Spans(markup.C(commit))})}}
	}
	says := func(text string) markup.Message {
		return markup.Message{Title: markup.Spans(markup.T("It goes")), Blocks: []markup.Block{markup.Text(markup.T(text)), markup.Text(markup.T("Twice."))}}
	}
	code := func(lines ...string) markup.Message {
		return markup.Message{Blocks: []markup.Block{markup.Spoiler(markup.Spans(markup.T("lines")), markup.Code("", lines...))}}
	}
	for _, c := range []struct {
		name        string
		before, now markup.Message
		want        []string
	}{
		{"nothing", list(item("web", "a")), list(item("web", "a")), nil},
		{"another target", list(item("checkout", "1a2b3c", " → ", "9f8e7d")), list(item("checkout", "1a2b3c", " → ", "4d5e6f")),
			[]string{"checkout: 1a2b3c → 4d5e6f (was 9f8e7d)"}},
		{"only the part in the middle", list(item("web", "a → ", "b", ", open it")), list(item("web", "a → ", "c", ", open it")), []string{"web: a → c, open it (was b)"}},
		{"a part more", list(item("web", "a")), list(item("web", "a", ", out of service")), []string{"web: a, out of service (was said without out of service)"}},
		{"a component more, and one less", list(item("web", "a"), item("old", "b")), list(item("web", "a"), item("api", "c")), []string{"new: api: c", "no longer: old: b"}},
		{"another order is no change", list(item("web", "a"), item("api", "b")), list(item("api", "b"), item("web", "a")), nil},
		{"two of one name", list(item("web", "a"), item("web", "b")), list(item("web", "a"), item("web", "c")), []string{"web: c (was b)"}},
		{"a field", fields("Mon 09:00"), fields("Tue 09:00"), []string{"until: Tue 09:00 (was Mon 09:00)"}},
		{"a row of a table", table("9f8e7d"), table("4d5e6f"), []string{"web, from 1a2b3c, to 4d5e6f (was 9f8e7d)"}},
		{"a sentence", says("By 2."), says("By 3."), []string{"By 3. (was By 2.)"}},
		{"lines of code, folded away", code("a", "b"), code("a", "c"), []string{"new: c", "no longer: b"}},
		{"everything", list(item("web", "a")), markup.Message{Title: markup.Spans(markup.T("Nothing moves"))},
			[]string{"Nothing moves (was Would promote shop)", "no longer: web: a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, row := range changesBetween(c.before, c.now) {
				got = append(got, words(row))
			}
			assert.Equal(t, c.want, got)
		})
	}
}

func TestWhatChangedIsBounded(t *testing.T) {
	plan := func(release string) (m markup.Message) {
		for i := range 100 {
			line := markup.Spans(markup.C(fmt.Sprintf("web-%d", i)))
			for range 200 {
				line = append(line, markup.F(strings.Repeat(release, 5000)))
			}
			m.Blocks = append(m.Blocks, markup.List(line))
		}
		return m
	}
	rows := changesBetween(plan("a"), plan("b"))
	assert.Len(t, rows, changesShown+1)
	assert.Equal(t, "and 88 changes more", words(rows[changesShown]))
	for _, row := range rows {
		assert.LessOrEqual(t, len([]rune(words(row))), 2*(changeSpans+1)*(shownError+2))
	}
}

// A plan differs from another exactly where one of their rows does.
func TestAPlanDiffersFromAnotherAndNeverFromItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := func(label string) markup.Message {
			m := markup.Message{Title: markup.Spans(markup.T("plan"))}
			for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"web", "api", "job"}), 0, 5).Draw(t, label) {
				m.Blocks = append(m.Blocks, markup.List(markup.Spans(markup.C(name), markup.F(rapid.SampledFrom([]string{"1", "2"}).Draw(t, label+name)))))
			}
			return m
		}
		before, now := plan("before"), plan("now")
		if rows := changesBetween(before, before); len(rows) != 0 {
			t.Fatalf("it differs from itself: %v", rows)
		}
		forth, back := changesBetween(before, now), changesBetween(now, before)
		if len(forth) != len(back) {
			t.Fatalf("%v one way, %v the other", forth, back)
		}
	})
}
