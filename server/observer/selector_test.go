package observer_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A label's value and a filter's text are found again whatever they hold, and
// nothing in them changes what the query means.
func TestAnyValueQuotedIsMatchedExactly(t *testing.T) {
	r := newRig(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++ // each case has a label of its own
		value := rapid.StringN(1, 40, 200).Draw(rt, "value")
		line := rapid.StringN(1, 40, 200).Draw(rt, "line")
		if strings.ToValidUTF8(value, "") != value || strings.ToValidUTF8(line, "") != line {
			rt.Skip("what is no UTF-8 is replaced")
		}
		name := "case" + strconv.Itoa(n)
		r.log(map[string]string{name: value}, begun.Add(-time.Second), line)
		query := "{" + name + "=" + strconv.Quote(value) + "} |= " + strconv.Quote(line)
		assert.Equal(rt, []string{line}, texts(t, r.get(ask(query))))
		assert.Empty(rt, texts(t, r.get(ask("{"+name+"="+strconv.Quote(value+"x")+"}"))))
		assert.Empty(rt, texts(t, r.get(ask("{"+name+"="+strconv.Quote(value)+"} != "+strconv.Quote(line)))))
	})
}

// Whatever is asked is answered or refused, and a refusal is the client's.
func TestNoQueryIsAFault(t *testing.T) {
	r := newRig(t)
	token := rapid.SampledFrom([]string{"{", "}", "a", "_", "=", "!=", "=~", "!~", "|=", "|~", ",", `"x"`, "`y`", `"`, `".*"`, `"("`, " ", "\n", "é", "'", "|"})
	rapid.Check(t, func(rt *rapid.T) {
		query := strings.Join(rapid.SliceOfN(token, 0, 12).Draw(rt, "tokens"), "")
		got := r.get("/loki/api/v1/query_range?query=" + url.QueryEscape(query))
		require.Contains(rt, []int{200, 400}, got.status, "%q: %s", query, got.body)
		tags := r.get("/api/search?tags=" + url.QueryEscape(query))
		require.Contains(rt, []int{200, 400}, tags.status, "%q: %s", query, tags.body)
	})
}
