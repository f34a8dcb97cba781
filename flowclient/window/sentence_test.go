package window_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"platform.dev/platform/fixtures/goldenfile"
	"platform.dev/platform/flowclient/window"
)

const office = "Mon-Fri 09:00-17:00 Europe/London"

// TestSentences holds every sentence against the one file of them.
func TestSentences(t *testing.T) {
	freeze := func(from, until, who, reason string) window.Freeze {
		return window.Freeze{From: at(t, from), Until: at(t, until), Who: who, Reason: reason}
	}
	yearsEnd := freeze("2026-12-18T17:00:00Z", "2027-01-04T09:00:00Z", "ops", "end of year")
	fair := freeze("2026-11-24T12:00:00Z", "2026-11-25T12:00:00Z", "sre", "the fair.")
	everywhere := freeze("2026-11-20T00:00:00Z", "2026-12-01T00:00:00Z", "admin", "the move to the new hall")
	everywhere.All = true
	hostile := freeze("2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z", "@**all**\n", "first line\n\tsecond\x1b[31m line; ")
	silent := freeze("2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z", "", " ")
	const friday = "2026-11-20T13:55:00Z"
	var said strings.Builder
	for _, c := range []struct {
		name, text, now string
		freezes         []window.Freeze
	}{
		{"closed for the weekend", office, "2026-11-20T18:00:00Z", nil},
		{"open until the afternoon", office, friday, nil},
		{"open at the very start", office, "2026-11-20T09:00:00Z", nil},
		{"closed at the very end", office, "2026-11-19T17:00:00Z", nil},
		{"opens next year", "Mon 09:00-17:00 Europe/London", "2026-12-29T12:00:00Z", nil},
		{"a zone without an abbreviation", "Sat 22:00-02:00 America/Sao_Paulo", "2026-11-22T04:59:30Z", nil},
		{"always open", "Mon-Sun 00:00-24:00 UTC", "2026-11-22T04:59:30Z", nil},
		{"no window", "", friday, nil},

		{"frozen until the window opens", office, "2026-12-22T12:00:00Z", []window.Freeze{yearsEnd}},
		{"frozen, and the window opens later", office, friday, []window.Freeze{freeze("2026-11-20T12:00:00Z", "2026-11-21T12:00:00Z", "sre", "database move")}},
		{"frozen without a window", "", "2026-12-22T12:00:00Z", []window.Freeze{yearsEnd}},
		{"every project is frozen", office, friday, []window.Freeze{everywhere}},
		{"frozen, and the next freeze begins before that one ends", office, friday, []window.Freeze{everywhere, freeze("2026-11-30T00:00:00Z", "2026-12-03T00:00:00Z", "sre", "audit")}},
		{"frozen twice", office, friday, []window.Freeze{fair, everywhere, freeze("2026-11-20T00:00:00Z", "2026-11-23T00:00:00Z", "sre", "audit")}},
		{"frozen many times", "", friday, []window.Freeze{everywhere, everywhere, everywhere, everywhere}},
		{"hostile words stay on the line", office, friday, []window.Freeze{hostile}},
		{"nothing was said", office, friday, []window.Freeze{silent}},

		{"a freeze begins within a week", office, friday, []window.Freeze{fair}},
		{"a freeze begins at the end of the window", office, "2026-12-18T12:00:00Z", []window.Freeze{yearsEnd}},
		{"a freeze closes the window early", office, "2026-11-24T09:30:00Z", []window.Freeze{fair}},
		{"a freeze keeps the window from opening", office, "2026-12-18T18:00:00Z", []window.Freeze{freeze("2026-12-20T00:00:00Z", "2027-01-04T09:00:00Z", "ops", "end of year")}},
		{"a freeze far ahead of a window is not told of", office, friday, []window.Freeze{yearsEnd}},
		{"a freeze far ahead is what closes where there is no window", "", friday, []window.Freeze{yearsEnd}},
		{"many freezes are to come", office, friday, []window.Freeze{fair, freeze("2026-11-26T12:00:00Z", "2026-11-26T13:00:00Z", "sre", "drill"), freeze("2026-11-26T14:00:00Z", "2026-11-26T15:00:00Z", "sre", "drill"), yearsEnd}},
		{"a freeze that has ended is past", "", friday, []window.Freeze{freeze("2026-11-20T12:00:00Z", "2026-11-20T13:55:00Z", "sre", "drill")}},
		{"a freeze that ends before it begins is none", office, friday, []window.Freeze{freeze("2026-11-21T12:00:00Z", "2026-11-20T13:55:00Z", "sre", "drill")}},
	} {
		calendar := window.Anytime(c.freezes...)
		if c.text != "" {
			calendar = window.Within(parse(t, c.text), c.freezes...)
		}
		said.WriteString(c.name + " (" + c.now + ")\n  " + calendar.Sentence("shop", at(t, c.now)) + "\n\n")
	}
	_, err := window.Parse("Mon-Fri 9-17 London")
	said.WriteString("a text that cannot be read\n  " + window.Broken("shop", err) + "\n")
	goldenfile.Compare(t, filepath.Join("..", "..", "fixtures", "golden", "window", "sentences.txt"), said.String())
}

func TestTheSentenceOfAWindowIsTheIssues(t *testing.T) {
	assert.Equal(t, "Production changes to shop are allowed Mon-Fri 09:00-17:00 Europe/London. Closed now; opens Mon 23 Nov 09:00 GMT, in 2 d 15 h.",
		parse(t, office).Sentence("shop", at(t, "2026-11-20T18:00:00Z")))
	assert.Equal(t, window.Always("shop"), window.Anytime().Sentence("shop", at(t, "2026-11-20T18:00:00Z")))
}
