package flowclient

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const mi = 1 << 20

// asking is a component whose one replica has that size, beside one that runs.
func asking(name string, each Quantities) candidate {
	return candidate{Component: name, Need: need{Replicas: 1, Each: each}}
}

func TestCapacity(t *testing.T) {
	quota := func(hard, used Quantities) *Quota {
		return &Quota{Namespace: "dp-default-shop-production-1", Hard: hard, Used: used}
	}
	memory := func(hard, used int64) *Quota { return quota(Quantities{Memory: hard}, Quantities{Memory: used}) }
	web := asking("shop-web", Quantities{Memory: 128 * mi, CPU: 50, Pods: 1})
	api := asking("shop-api", Quantities{Memory: 384 * mi, CPU: 200, Pods: 1})
	broken := candidate{Component: "shop-job", Need: need{Unread: "the memory of container main is the expression ${a + b}, which only the control plane can evaluate"}}
	const margin = 307 * mi
	for name, c := range map[string]struct {
		cell    *Quota
		set     []candidate
		pass    bool
		says    string
		numbers map[string]string
	}{
		"no quota": {nil, []candidate{web}, true, "no quota limits the cell of shop in production.", nil},
		"the form of the interface document": {memory(4096*mi, 3482*mi), []candidate{web, api}, false,
			"shop in production has no room for shop-api and shop-web: memory needs 512Mi + 307Mi margin; 3.4Gi of 4Gi used; short by 205Mi. shop-web alone would fit. Free something there, raise the quota, or force.",
			map[string]string{"cell": "dp-default-shop-production-1", "memory.needs": "512Mi", "memory.margin": "307Mi", "memory.used": "3482Mi", "memory.hard": "4Gi", "memory.short": "205Mi",
				"memory.needs.shop-api": "384Mi", "memory.needs.shop-web": "128Mi", "fits": "shop-web"}},
		"it fits to the byte": {memory(4096*mi, 4096*mi-margin-512*mi), []candidate{web, api}, true,
			"shop in production has room: memory needs 512Mi + 307Mi margin; 3.2Gi of 4Gi used.",
			map[string]string{"cell": "dp-default-shop-production-1", "memory.needs": "512Mi", "memory.margin": "307Mi", "memory.used": "3277Mi", "memory.hard": "4Gi",
				"memory.needs.shop-api": "384Mi", "memory.needs.shop-web": "128Mi"}},
		"one byte is missing": {memory(4096*mi, 4096*mi-margin-512*mi+1), []candidate{web, api}, false,
			"shop in production has no room for shop-api and shop-web: memory needs 512Mi + 307Mi margin; 3436183553 bytes of 4Gi used; short by 1 byte. shop-api alone would fit. Free something there, raise the quota, or force.", nil},
		"what is used is not rounded so that the sum differs": {memory(4096*mi, 3449*mi), []candidate{web, api}, false,
			"shop in production has no room for shop-api and shop-web: memory needs 512Mi + 307Mi margin; 3449Mi of 4Gi used; short by 172Mi. shop-web alone would fit. Free something there, raise the quota, or force.", nil},
		"the margin alone is too much": {memory(4096*mi, 4000*mi), []candidate{web}, false,
			"shop in production has no room for shop-web: memory needs 128Mi + 307Mi margin; 4000Mi of 4Gi used; short by 339Mi. Free something there, raise the quota, or force.", nil},
		"cpu has no margin": {quota(Quantities{CPU: 1000}, Quantities{CPU: 750}), []candidate{web, api}, true,
			"shop in production has room: cpu needs 250m; 750m of 1 used.", nil},
		"two are short, the third is not": {quota(Quantities{Memory: 1024 * mi, CPU: 400, Pods: 10}, Quantities{Memory: 1000 * mi, CPU: 300, Pods: 3}), []candidate{web, api}, false,
			"shop in production has no room for shop-api and shop-web: memory needs 512Mi + 307Mi margin; 1000Mi of 1Gi used; short by 795Mi; cpu needs 250m; 300m of 400m used; short by 150m. Free something there, raise the quota, or force.", nil},
		"pods": {quota(Quantities{Pods: 4}, Quantities{Pods: 3}), []candidate{web, api}, false,
			"shop in production has no room for shop-api and shop-web: pods needs 2; 3 of 4 used; short by 1. shop-api alone would fit. Free something there, raise the quota, or force.", nil},
		"what is used is more than the quota": {memory(1024*mi, 2048*mi), []candidate{web}, false,
			"shop in production has no room for shop-web: memory needs 128Mi + 307Mi margin; 2Gi of 1Gi used; short by 1459Mi. Free something there, raise the quota, or force.", nil},
		"a resource that nothing asks for may be used up": {quota(Quantities{"count/services": 3}, Quantities{"count/services": 5}), []candidate{web}, true,
			"nothing that would move asks for what the quota of shop in production limits.", nil},
		"nothing would move": {memory(1024*mi, 2048*mi), nil, true, "nothing that would move asks for what the quota of shop in production limits.", nil},
		"a size that cannot be told": {memory(4096*mi, 0), []candidate{web, broken}, false,
			"the size of shop-job cannot be told: the memory of container main is the expression ${a + b}, which only the control plane can evaluate. shop-web alone would fit. Declare it in numbers, or force.", nil},
		"a size that cannot be told, and one that is too large": {memory(256*mi, 0), []candidate{broken, web}, false,
			"shop in production has no room for shop-job and shop-web: memory needs 128Mi + 307Mi margin; 0 of 256Mi used; short by 179Mi; the size of shop-job cannot be told: the memory of container main is the expression ${a + b}, which only the control plane can evaluate. Free something there, raise the quota, or force.", nil},
		"a size that cannot be told, without a quota": {nil, []candidate{broken}, true, "no quota limits the cell of shop in production.", nil},
		"several would fit": {quota(Quantities{CPU: 1000}, Quantities{CPU: 600}), []candidate{api, asking("shop-a", Quantities{CPU: 150}), web, asking("shop-b", Quantities{CPU: 150})}, false,
			"shop in production has no room for shop-a, shop-api, shop-b and shop-web: cpu needs 550m; 600m of 1 used; short by 150m. shop-a, shop-api and shop-web would fit without the others. Free something there, raise the quota, or force.", nil},
	} {
		t.Run(name, func(t *testing.T) {
			v := capacityGate(question{Project: "shop", Cell: c.cell, CellNote: "no quota limits the cell of shop in production.", Margin: margin, Set: c.set}, friday)
			assert.Equal(t, c.pass, v.Pass)
			assert.Equal(t, c.says, v.Sentence)
			if c.numbers != nil {
				assert.Equal(t, c.numbers, v.Numbers)
			}
		})
	}
}

func TestWhatARolloutUsesBesideWhatRuns(t *testing.T) {
	of := func(replicas, each int64) *size { return &size{replicas, Quantities{Memory: each}} }
	for name, c := range map[string]struct {
		replicas, each int64
		first          bool
		was            *size
		want           int64
	}{
		"the first deployment counts in full":            {3, 100, true, nil, 300},
		"the same size counts one replica":               {3, 100, false, of(3, 100), 100},
		"the same size, without knowing what runs":       {3, 100, false, nil, 100},
		"more than four replicas are replaced in pairs":  {5, 100, false, of(5, 100), 200},
		"a smaller one counts one replica of its own":    {3, 60, false, of(3, 100), 60},
		"a larger one counts what it grows by besides":   {3, 150, false, of(3, 100), 250},
		"more replicas of the same size":                 {5, 100, false, of(3, 100), 400},
		"fewer replicas make room first":                 {1, 100, false, of(3, 100), 0},
		"fewer and larger ones":                          {1, 400, false, of(3, 100), 200},
		"more and smaller ones":                          {4, 50, false, of(2, 100), 150},
		"what runs cannot be told: in full":              {3, 100, false, &size{}, 300},
		"scaled to nothing":                              {0, 100, false, of(3, 100), 0},
		"the first deployment of nothing":                {0, 100, true, nil, 0},
		"what it does not declare":                       {3, 0, false, of(3, 0), 0},
		"it declares for the first time":                 {2, 100, false, of(2, 0), 200},
		"the largest numbers stay numbers":               {math.MaxInt32, math.MaxInt64, true, nil, math.MaxInt64},
		"the largest numbers on both sides stay numbers": {math.MaxInt32, math.MaxInt64, false, of(math.MaxInt32, math.MaxInt64), 0},
	} {
		t.Run(name, func(t *testing.T) {
			n := need{Replicas: c.replicas, Each: Quantities{Memory: c.each}, First: c.first, Was: c.was}
			assert.Equal(t, c.want, n.asks(Memory))
		})
	}
}

// A rollout that is played through, pod by pod in every order that its bounds
// allow, never uses more than was asked for, and in one of them as much.
func TestWhatIsAskedForIsTheMostThatARolloutUses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := need{Replicas: rapid.Int64Range(0, 9).Draw(t, "replicas"), Each: Quantities{Memory: rapid.Int64Range(0, 50).Draw(t, "each")},
			Was: &size{rapid.Int64Range(0, 9).Draw(t, "before"), Quantities{Memory: rapid.Int64Range(0, 50).Draw(t, "was")}}}
		most := int64(0)
		for older := int64(0); older <= n.Was.Replicas; older++ {
			for newer := int64(0); newer <= n.Replicas && older+newer <= n.Replicas+surge(n.Replicas); newer++ {
				most = max(most, older*n.Was.Each[Memory]+newer*n.Each[Memory]-n.Was.Replicas*n.Was.Each[Memory])
			}
		}
		require.Equal(t, most, n.asks(Memory))
	})
}

// drawQuestion draws a cell and a set that asks about it.
func drawQuestion(t *rapid.T, components int) question {
	names := []string{Memory, CPU, Pods, "limits.memory"}
	amounts := func(label string, most int64) Quantities {
		q := Quantities{}
		for _, n := range names {
			if rapid.Bool().Draw(t, label+" has "+n) {
				q[n] = rapid.OneOf(rapid.Int64Range(0, most), rapid.Int64Range(0, math.MaxInt64)).Draw(t, label+" "+n)
			}
		}
		return q
	}
	q := question{Project: "shop", Margin: rapid.SampledFrom([]int64{0, 3, 307 * mi, math.MaxInt64}).Draw(t, "margin"),
		Cell: &Quota{Namespace: "dp", Hard: amounts("hard", 60), Used: amounts("used", 30)}}
	for i := range rapid.IntRange(0, components).Draw(t, "components") {
		n := need{Replicas: rapid.Int64Range(0, 5).Draw(t, "replicas"), Each: amounts("each", 12), First: rapid.Bool().Draw(t, "first")}
		if rapid.IntRange(0, 9).Draw(t, "unread") == 0 {
			n.Unread = "no number"
		}
		q.Set = append(q.Set, candidate{Component: fmt.Sprintf("c%02d", i), Need: n})
	}
	return q
}

// fitsByHand is the rule with numbers that have no end.
func fitsByHand(q question, set []candidate) bool {
	for name, hard := range q.Cell.Hard {
		needs := new(big.Int)
		for _, c := range set {
			needs.Add(needs, big.NewInt(c.Need.asks(name)))
		}
		sum := new(big.Int).Add(needs, big.NewInt(q.Cell.Used[name]))
		if name == Memory {
			sum.Add(sum, big.NewInt(q.Margin))
		}
		if needs.Sign() > 0 && sum.Cmp(big.NewInt(hard)) > 0 {
			return false
		}
	}
	return !slices.ContainsFunc(set, func(c candidate) bool { return c.Need.Unread != "" })
}

func TestCapacityIsTheRuleWithoutOverflowAndWithoutAnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawQuestion(t, 5)
		v := capacityGate(q, friday)
		require.Equal(t, fitsByHand(q, q.Set), v.Pass, v.Sentence)
		require.True(t, strings.HasSuffix(v.Sentence, "."))
		require.Equal(t, !v.Pass, strings.HasSuffix(v.Sentence, "or force."))
		shuffled := q
		shuffled.Set = rapid.Permutation(q.Set).Draw(t, "order")
		require.Equal(t, v, capacityGate(shuffled, friday))
		for name, n := range v.Numbers {
			require.NotContains(t, n, "-", name)
		}
	})
}

func TestANeedMoreTurnsNoRefusalIntoAPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawQuestion(t, 5)
		before := capacityGate(q, friday)
		more := q
		more.Set = append(slices.Clone(q.Set), drawQuestion(t, 1).Set...)
		if i := len(more.Set) - 1; i >= 0 && rapid.Bool().Draw(t, "one asks for more") {
			n := &more.Set[i].Need
			n.Each, n.Replicas = maps.Clone(n.Each), n.Replicas+1
			n.Each[Memory] = plus(n.Each[Memory], 5)
		}
		if !before.Pass {
			require.False(t, capacityGate(more, friday).Pass)
		}
	})
}

func TestTheSubsetThatIsNamedFitsAndNoLargerOneDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawQuestion(t, 12)
		v := capacityGate(q, friday)
		if v.Pass {
			require.NotContains(t, v.Numbers, "fits")
			return
		}
		var named []candidate
		for _, name := range strings.FieldsFunc(v.Numbers["fits"], func(r rune) bool { return r == ',' }) {
			i := slices.IndexFunc(q.Set, func(c candidate) bool { return c.Component == name })
			named = append(named, q.Set[i])
			require.Contains(t, v.Sentence, name)
		}
		require.True(t, fitsByHand(q, named))
		for mask := range uint(1) << len(q.Set) {
			if bits.OnesCount(mask) != len(named)+1 {
				continue // a larger one that fits would hold one of this size that fits
			}
			var larger []candidate
			for i, c := range q.Set {
				if mask>>i&1 == 1 {
					larger = append(larger, c)
				}
			}
			require.False(t, fitsByHand(q, larger), "%v would fit as well", componentNames(larger))
		}
	})
}

func TestOfAManyTheSubsetThatIsNamedFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := question{Project: "shop", Cell: &Quota{Hard: Quantities{CPU: 1000}, Used: Quantities{CPU: rapid.Int64Range(0, 1000).Draw(t, "used")}}}
		for i := range rapid.IntRange(mostTried+1, 60).Draw(t, "components") {
			q.Set = append(q.Set, asking(fmt.Sprintf("c%02d", i), Quantities{CPU: rapid.Int64Range(1, 400).Draw(t, "cpu")}))
		}
		chosen := room{quota: *q.Cell}.largest(q.Set)
		require.True(t, fitsByHand(q, chosen))
		var asks []int64
		for _, c := range q.Set {
			asks = append(asks, c.Need.Each[CPU])
		}
		slices.Sort(asks)
		most, sum := 0, q.Cell.Used[CPU]
		for _, a := range asks {
			if sum += a; sum <= 1000 {
				most++
			}
		}
		require.Len(t, chosen, most, "with one resource, those that ask for least are the most that fit")
	})
}

// What people read adds up to what was decided: used as shown, with the exact
// numbers beside it, is short of the same.
func TestTheArithmeticThatIsShownIsTheOneThatWasDone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Custom(func(t *rapid.T) int64 {
			return rapid.Int64Range(0, 9000).Draw(t, "many")*mi + rapid.SampledFrom([]int64{0, 0, 1, 1023, mi - 1}).Draw(t, "bytes")
		})
		b := balance{resource: Memory, needs: amount.Draw(t, "needs") + 1, margin: 307 * mi, used: amount.Draw(t, "used"), hard: amount.Draw(t, "hard")}
		b.short = b.needs + b.margin + b.used - b.hard
		shown, err := ParseQuantity(Memory, strings.TrimRight(b.shownUsed(), " bytes"))
		require.NoError(t, err)
		short := b.needs + b.margin + shown - b.hard
		if b.short <= 0 {
			require.LessOrEqual(t, short, int64(1), "a pass looks like one") // a tenth of a Gi is no whole number of bytes
			return
		}
		require.Positive(t, short, "a refusal looks like one")
		said, err := ParseQuantity(Memory, strings.TrimRight(roundedUp(Memory, b.short), " bytes"))
		require.NoError(t, err)
		require.GreaterOrEqual(t, said, b.short, "what is missing is rounded up")
		require.InDelta(t, said, short, float64(1<<30), "%s", b.arithmetic())
		if b.short < 10<<30 {
			require.InDelta(t, said, short, float64(mi), "%s", b.arithmetic())
		}
	})
}

func TestASumBeyondAnInt64FitsNowhere(t *testing.T) {
	asking := func(component string, each int64) candidate {
		return candidate{Component: component, Need: need{First: true, Replicas: 1, Each: Quantities{Memory: each}}}
	}
	for name, q := range map[string]question{
		"one and the margin": {Margin: math.MaxInt64, Set: []candidate{asking("a", 1)}},
		"two":                {Set: []candidate{asking("a", math.MaxInt64), asking("b", 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			q.Project, q.Cell = "shop", &Quota{Namespace: "dp", Hard: Quantities{Memory: math.MaxInt64}}
			v := capacityGate(q, friday)
			assert.False(t, v.Pass, v.Sentence)
			assert.NotContains(t, v.Numbers["fits"], ",")
		})
	}
}
