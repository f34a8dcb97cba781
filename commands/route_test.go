package commands_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/commands"
)

// many are n commands of one bot, of which every tenth has another name in two words.
func many(t testing.TB, n int) *commands.Registry {
	t.Helper()
	var all []commands.Command
	for i := range n {
		c := commands.Typed(commands.Command{
			Bot: "sample", Verb: fmt.Sprintf("ship-%d", i), Summary: "ship", Examples: []string{fmt.Sprintf("ship-%d shop", i)}, Effect: commands.Read,
		}, nothing[struct {
			Project string `arg:"" optional:""`
		}])
		if i%10 == 0 {
			c.Also = []string{fmt.Sprintf("ship-%d list", i+1)}
		}
		all = append(all, c)
	}
	r, err := commands.NewRegistry(all...)
	require.NoError(t, err)
	return r
}

func TestATextIsRoutedByItsFirstWords(t *testing.T) {
	r := many(t, 30)
	for text, want := range map[string][2]string{
		"ship-7":                 {"ship-7", ""},
		"ship-7 shop":            {"ship-7", "shop"},
		"SHIP-7 \n\t Shop x":     {"ship-7", "Shop x"},
		"ship-21 list":           {"ship-20", ""},
		"Ship-21 LIST":           {"ship-20", ""},
		"ship-21 list all":       {"ship-21", "list all"},
		"ship-21 lists":          {"ship-21", "lists"},
		"ship-22 list":           {"ship-22", "list"},
		"help ship-7":            {"help", "ship-7"},
		`ship-7 "two words"`:     {"ship-7", `"two words"`},
		"ship-999":               {},
		`"ship-7" shop`:          {}, // Parse reads the quotes
		"ship-7,":                {},
		"":                       {},
		"-":                      {},
		strings.Repeat("s", 300): {},
	} {
		c, rest, ok := r.Route("sample", text)
		if want[0] == "" {
			assert.False(t, ok, text)
			continue
		}
		require.True(t, ok, text)
		assert.Equal(t, want, [2]string{c.Verb, rest}, text)
		call, err := r.Parse("sample", text)
		require.True(t, err == nil || strings.Contains(err.Error(), c.Verb), "%s: %v", text, err)
		if err == nil {
			assert.Equal(t, c.Verb, call.Verb, "parsing and routing are of one mind")
		}
	}
	_, _, ok := r.Route("nobody", "ship-7")
	assert.False(t, ok)
	for text, want := range map[string]string{`"ship-7" shop`: "ship-7", `"SHIP-21" list`: "ship-20", "ship-21 “list”": "ship-20", "ship-3\u00a0shop": "ship-3"} {
		call, err := r.Parse("sample", text)
		require.NoError(t, err, text)
		assert.Equal(t, want, call.Verb, text)
	}
}

func TestRoutingAllocatesNothing(t *testing.T) {
	r := many(t, 1000)
	for _, text := range []string{"ship-500 shop", "SHIP-500 shop", "ship-501 list", "help ship-500"} {
		assert.Zero(t, testing.AllocsPerRun(100, func() { r.Route("sample", text) }), text)
	}
}

// BenchmarkRoute is routing among commands with one captured argument. Its limit,
// in the same run, is a bare look-up of the first word of the text: no bot, no
// other names, no capitals.
func BenchmarkRoute(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		r, bare := many(b, n), map[string]int{}
		texts := make([]string, n)
		for i := range n {
			bare[fmt.Sprintf("ship-%d", i)], texts[i] = i, fmt.Sprintf("ship-%d shop", i)
		}
		found := 0
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, rest, ok := r.Route("sample", texts[i%n]); !ok || rest != "shop" {
					b.Fatal(texts[i%n])
				}
			}
		})
		b.Run(fmt.Sprintf("N=%d/limit", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				word, _, _ := strings.Cut(texts[i%n], " ")
				found += bare[word]
			}
		})
		require.NotZero(b, found)
	}
}
