package chat_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestARebaseRewritesTheAddressesInWhatWasSaidAndNothingElse(t *testing.T) {
	w := fresh(t)
	dev := w.person("Dev Developer")
	w.stream("shop", dev)
	const old, other = "http://127.0.0.1:8080/a", "http://127.0.0.1:80801/a"
	dev.post("shop", "talk", "see "+old+" and "+other)
	edited := dev.post("shop", "talk", "first "+old)
	dev.ok("PATCH", "/messages/"+itoa(edited), form{"content": "then " + old})
	for n := range 600 { // more than one page of rows
		dev.post("shop", "talk", fmt.Sprintf("note %d %s", n, old))
	}
	moved := func(base string) string {
		if base == "http://127.0.0.1:8080" {
			return "http://127.0.0.1:9090"
		}
		return base
	}
	for range 2 { // doing it again changes nothing
		require.NoError(t, w.server.Rebase(t.Context(), moved))
		for _, html := range []bool{false, true} {
			said := dev.messages(form{"anchor": "oldest", "num_before": 0, "num_after": 1000, "apply_markdown": html})
			require.Len(t, said, 602)
			for _, m := range said {
				assert.Contains(t, m["content"], "http://127.0.0.1:9090/a")
				assert.NotContains(t, m["content"], old)
			}
			assert.Contains(t, said[0]["content"], other, "another port that begins alike")
		}
	}
	history := dev.ok("GET", "/messages/"+itoa(edited)+"/history", nil)["message_history"].([]any)
	assert.Equal(t, "first http://127.0.0.1:9090/a", history[0].(map[string]any)["content"])
}
