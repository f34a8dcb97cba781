package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheMarginIsReadAsAQuantity(t *testing.T) {
	for text, want := range map[string]int64{"307Mi": 307 << 20, "0": -1, "1G": 1_000_000_000} {
		got, err := (&upCmd{CapacityMargin: text}).margin()
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
}

func TestUpRefusesSettingsThatMeanNothing(t *testing.T) {
	for says, args := range map[string][]string{
		`--capacity-margin "much" is no quantity that can be counted; write one such as 256Mi`: {"--capacity-margin", "much"},
		`--capacity-margin "-1Mi" is no quantity that can be counted`:                          {"--capacity-margin=-1Mi"},
		`--default-soak -1s: give a duration that is not negative`:                             {"--default-soak=-1s"},
		`--keep-messages 24h0m0s: give 48h0m0s or more`:                                        {"--keep-messages", "24h"},
		`--keep-history 1h0m0s: give 10920h0m0s or more`:                                       {"--keep-history", "1h"},
	} {
		var told bytes.Buffer
		code := run(t.Context(), append([]string{"up", "--data", t.TempDir()}, args...), terminal{Out: &told, Err: &told})
		assert.Equal(t, 1, code)
		assert.Contains(t, told.String(), says)
	}
}
