package flowclient

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestQuantitiesAreReadAsKubernetesReadsThem(t *testing.T) {
	for _, c := range []struct {
		resource, text string
		want           int64
	}{
		{Memory, "0", 0}, {Memory, "1", 1}, {Memory, "+5", 5}, {Memory, "007", 7},
		{Memory, "1Ki", 1 << 10}, {Memory, "512Mi", 512 << 20}, {Memory, "4Gi", 4 << 30}, {Memory, "1Ti", 1 << 40}, {Memory, "1Pi", 1 << 50}, {Memory, "1Ei", 1 << 60},
		{Memory, "1k", 1e3}, {Memory, "500M", 500e6}, {Memory, "2G", 2e9}, {Memory, "1T", 1e12}, {Memory, "1P", 1e15}, {Memory, "1E", 1e18},
		{Memory, "1.5Gi", 3 << 29}, {Memory, ".5Ki", 512}, {Memory, "5.Ki", 5120}, {Memory, "1.5G", 15e8},
		{Memory, "1e3", 1000}, {Memory, "1E3", 1000}, {Memory, "12e-1", 2}, {Memory, "1.25e+2", 125}, {Memory, "1e99", math.MaxInt64},
		{Memory, "128974848000m", 128974848}, {Memory, "1m", 1}, {Memory, "1n", 1}, {Memory, "1000000u", 1},
		{Memory, "0.1", 1}, {Memory, "100.000000001", 101},
		{Memory, "9223372036854775807", math.MaxInt64}, {Memory, "9223372036854775808", math.MaxInt64}, {Memory, "8Ei", math.MaxInt64}, {Memory, "16Ei", math.MaxInt64},
		{CPU, "1", 1000}, {CPU, "250m", 250}, {CPU, "0.1", 100}, {CPU, "1.5", 1500}, {CPU, "100u", 1}, {CPU, "1n", 1}, {CPU, "2k", 2e6}, {CPU, "1e1", 10_000},
		{"limits.cpu", "2", 2000}, {"limits.memory", "1Mi", 1 << 20}, {Pods, "10", 10}, {"count/services", "3", 3},
	} {
		got, err := ParseQuantity(c.resource, c.text)
		require.NoError(t, err, c.text)
		assert.Equal(t, c.want, got, "%s %s", c.resource, c.text)
	}
	for resource, says := range map[string]string{
		Memory: "is no quantity that can be counted; write one such as 256Mi, 1.5Gi or 500M",
		CPU:    "is no quantity that can be counted; write one such as 250m or 2",
		Pods:   "is no quantity that can be counted; write one such as 10",
	} {
		for _, text := range []string{"", "+", ".", "Mi", "-1", "1 Mi", "1mi", "1KiB", "1K", "e3", "1e", "1e1000", "1e3Mi", "0x10", "1_000", "much", "1.2.3", "٣", "1\n",
			"1000000000000000000000000000000000000000000000"} {
			_, err := ParseQuantity(resource, text)
			require.EqualError(t, err, says, "%q", text)
		}
	}
}

func TestQuantitiesAreWrittenInTheUnitThatMakesThemShortest(t *testing.T) {
	for _, c := range []struct {
		resource string
		n        int64
		want     string
	}{
		{Memory, 0, "0"}, {Memory, 7, "7"}, {Memory, 512 << 20, "512Mi"}, {Memory, 4 << 30, "4Gi"}, {Memory, 3 << 29, "1.5Gi"}, {Memory, 1025 << 20, "1025Mi"},
		{Memory, 5e8, "500M"}, {Memory, 1 << 10, "1Ki"}, {Memory, 1000, "1k"}, {Memory, 123_456_789, "123456789"}, {"limits.memory", 1 << 20, "1Mi"},
		{CPU, 2000, "2"}, {CPU, 250, "250m"}, {CPU, 0, "0"}, {Pods, 1 << 20, "1048576"},
	} {
		assert.Equal(t, c.want, FormatQuantity(c.resource, c.n))
	}
}

func TestAQuantityIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		resource := rapid.SampledFrom([]string{Memory, CPU, Pods, "limits.memory", "ephemeral-storage"}).Draw(t, "resource")
		n := rapid.OneOf(rapid.Int64Min(0), rapid.Custom(func(t *rapid.T) int64 {
			return rapid.Int64Range(0, 4096).Draw(t, "few") << rapid.SampledFrom([]int{0, 10, 20, 30, 40}).Draw(t, "unit")
		})).Draw(t, "n")
		got, err := ParseQuantity(resource, FormatQuantity(resource, n))
		require.NoError(t, err)
		require.Equal(t, n, got)
	})
}

func TestAnOrderOfQuantitiesIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		suffix := rapid.SampledFrom([]string{"", "m", "k", "M", "G", "Ki", "Mi", "Gi", "Ti", "E", "e3", "e-3"}).Draw(t, "suffix")
		a, b := rapid.IntRange(0, 1e6).Draw(t, "a"), rapid.IntRange(0, 1e6).Draw(t, "b")
		smaller, err := ParseQuantity(Memory, fmt.Sprint(min(a, b), suffix))
		require.NoError(t, err)
		larger, err := ParseQuantity(Memory, fmt.Sprint(max(a, b), suffix))
		require.NoError(t, err)
		require.LessOrEqual(t, smaller, larger)
	})
}

func TestSumsAndProductsNeverOverflow(t *testing.T) {
	amount := rapid.OneOf(rapid.Int64Min(0), rapid.Int64Range(0, 1<<33), rapid.Int64Range(math.MaxInt64-9, math.MaxInt64))
	clamp := func(n *big.Int) int64 {
		switch {
		case n.IsInt64():
			return n.Int64()
		case n.Sign() < 0:
			return math.MinInt64
		}
		return math.MaxInt64
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := amount.Draw(t, "a"), amount.Draw(t, "b")
		x, y := big.NewInt(a), big.NewInt(b)
		require.Equal(t, clamp(new(big.Int).Add(x, y)), plus(a, b))
		require.Equal(t, clamp(new(big.Int).Mul(x, y)), times(a, b))
		require.Equal(t, clamp(new(big.Int).Sub(x, y)), minus(a, b))
		require.Equal(t, clamp(new(big.Int).Add(x, y)), minus(a, -b))
		require.Equal(t, clamp(new(big.Int).Sub(new(big.Int).Neg(x), y)), minus(-a, b))
	})
}

func FuzzParseQuantity(f *testing.F) {
	for _, seed := range []string{"512Mi", "1.5G", "250m", "1e3", "1E", ".5", "5.", "+1Ki", "", "9223372036854775808", "1e-99", "0.000000001n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, resource := range []string{Memory, CPU, Pods} {
			n, err := ParseQuantity(resource, text)
			if err != nil {
				continue
			}
			require.GreaterOrEqual(t, n, int64(0))
			require.LessOrEqual(t, len(text), 70, "what is read is bounded")
			again, err := ParseQuantity(resource, FormatQuantity(resource, n))
			require.NoError(t, err)
			require.Equal(t, n, again)
		}
	})
}
