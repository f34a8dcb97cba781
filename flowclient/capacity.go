package flowclient

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// capacityGate: used + surge of every component of the set + margin <= hard,
// for each quantity of the quota, all or none (facts of the interface document,
// Limits). A quantity that nothing of the set asks for is not asked about, as
// the cluster does not; the margin is memory's alone. A size that cannot be told
// fits nowhere. Without a quota the gate passes and says so.
func capacityGate(q question, _ time.Time) Verdict {
	if q.Cell == nil {
		return Verdict{Pass: true, Sentence: cmp.Or(q.CellNote, fmt.Sprintf("nothing of %s would move, so that nothing needs room in %s.", q.Project, Production))}
	}
	r := room{quota: *q.Cell, margin: max(q.Margin, 0)}
	set := slices.SortedFunc(slices.Values(q.Set), func(a, b candidate) int { return strings.Compare(a.Component, b.Component) })
	balances := r.balances(set)
	v := Verdict{Numbers: r.numbers(set, balances)}
	short := slices.DeleteFunc(slices.Clone(balances), func(b balance) bool { return b.short <= 0 })
	var unread []string
	for _, c := range set {
		if c.Need.Unread != "" {
			unread = append(unread, fmt.Sprintf("the size of %s cannot be told: %s", c.Component, c.Need.Unread))
		}
	}
	if v.Pass = len(short)+len(unread) == 0; v.Pass {
		v.Sentence = passes(q.Project, balances)
		return v
	}
	subset := r.largest(set)
	if len(subset) > 0 {
		v.Numbers["fits"] = strings.Join(componentNames(subset), ",")
	}
	var why []string
	for _, b := range short {
		why = append(why, b.arithmetic())
	}
	if len(short) > 0 {
		why[0] = fmt.Sprintf("%s in %s has no room for %s: %s", q.Project, Production, listOf(componentNames(set)), why[0])
	}
	v.Sentence = strings.Join(append(why, unread...), "; ") + ". " + whatToDo(subset, len(short) > 0)
	return v
}

// passes says that everything fits, and what there is.
func passes(project string, balances []balance) string {
	if len(balances) == 0 {
		return fmt.Sprintf("nothing that would move asks for what the quota of %s in %s limits.", project, Production)
	}
	var parts []string
	for _, b := range balances {
		parts = append(parts, b.terms())
	}
	return fmt.Sprintf("%s in %s has room: %s.", project, Production, strings.Join(parts, "; "))
}

// whatToDo ends a refusal: the largest subset that would fit is named, and
// never promoted by itself.
func whatToDo(subset []candidate, short bool) string {
	ways := "Free something there, raise the quota, or force."
	if !short {
		ways = "Declare it in numbers, or force."
	}
	switch names := componentNames(subset); len(names) {
	case 0:
		return ways
	case 1:
		return fmt.Sprintf("%s alone would fit. %s", names[0], ways)
	default:
		return fmt.Sprintf("%s would fit without the others. %s", listOf(names), ways)
	}
}

func componentNames(set []candidate) []string {
	names := make([]string, len(set))
	for i, c := range set {
		names[i] = c.Component
	}
	return names
}

// listOf joins names as a sentence does: "a", "a and b", "a, b and c".
func listOf(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// room is a quota with what is kept free of it.
type room struct {
	quota  Quota
	margin int64 // bytes of memory
}

// balance is the arithmetic of one resource. No number in it is negative but short.
type balance struct {
	resource                  string
	needs, margin, used, hard int64
	short                     int64 // what is missing; 0 or less when it fits
}

// balance adds up what a set asks of a resource.
func (r room) balance(resource string, set []candidate) balance {
	b := balance{resource: resource, used: max(r.quota.Used[resource], 0), hard: max(r.quota.Hard[resource], 0)}
	if resource == Memory {
		b.margin = r.margin
	}
	left := minus(b.hard-b.used, b.margin)
	for _, c := range set {
		asked := c.Need.asks(resource)
		b.needs = plus(b.needs, asked)
		left = minus(left, asked) // a sum beyond an int64 is still too much: the sum itself would stop there, and fit
	}
	b.short = minus(0, left)
	return b
}

// balances are those of the resources that the quota limits and the set asks
// for: memory, cpu and pods first, then the others by name.
func (r room) balances(set []candidate) (all []balance) {
	first := []string{Memory, CPU, Pods}
	rank := func(name string) string {
		if i := slices.Index(first, name); i >= 0 {
			return strconv.Itoa(i)
		}
		return "~" + name
	}
	names := slices.SortedFunc(maps.Keys(r.quota.Hard), func(a, b string) int { return strings.Compare(rank(a), rank(b)) })
	for _, name := range names {
		if b := r.balance(name, set); b.needs > 0 {
			all = append(all, b)
		}
	}
	return all
}

// numbers is everything that was compared, exactly.
func (r room) numbers(set []candidate, balances []balance) map[string]string {
	n := map[string]string{"cell": r.quota.Namespace}
	for _, b := range balances {
		exactly := func(name string, amount int64) { n[b.resource+"."+name] = FormatQuantity(b.resource, amount) }
		exactly("needs", b.needs)
		exactly("used", b.used)
		exactly("hard", b.hard)
		if b.margin > 0 {
			exactly("margin", b.margin)
		}
		if b.short > 0 {
			exactly("short", b.short)
		}
		for _, c := range set {
			if asks := c.Need.asks(b.resource); asks > 0 {
				exactly("needs."+c.Component, asks)
			}
		}
	}
	return n
}

// arithmetic tells what is missing, in the interface document's form.
func (b balance) arithmetic() string {
	return fmt.Sprintf("%s; short by %s", b.terms(), roundedUp(b.resource, b.short))
}

// terms tells what is compared.
func (b balance) terms() string {
	needs := spoken(b.resource, b.needs)
	if b.margin > 0 {
		needs += " + " + spoken(b.resource, b.margin) + " margin"
	}
	return fmt.Sprintf("%s needs %s; %s of %s used", b.resource, needs, b.shownUsed(), spoken(b.resource, b.hard))
}

// spoken is an amount exactly, for a sentence.
func spoken(resource string, n int64) string {
	text := FormatQuantity(resource, n)
	switch bare := text == strconv.FormatInt(n, 10); {
	case !inBytes(resource) || !bare || n == 0:
		return text
	case n == 1:
		return text + " byte"
	}
	return text + " bytes"
}

// shownUsed is what is used, in Gi with one decimal where that changes nothing
// in the arithmetic that people do with what they read, else exactly.
func (b balance) shownUsed() string {
	gi := int64(1 << 30)
	if inBytes(b.resource) && b.used >= gi && b.used < 1<<52 {
		tenths := (b.used*10 + gi/2) / gi
		shown := tenths * gi / 10
		as := minus(plus(b.needs, b.margin), b.hard-shown)
		if (as > 0) == (b.short > 0) && (b.short <= 0 || roundedUp(b.resource, as) == roundedUp(b.resource, b.short)) {
			return strings.TrimSuffix(fmt.Sprintf("%d.%d", tenths/10, tenths%10), ".0") + "Gi"
		}
	}
	return spoken(b.resource, b.used)
}

// roundedUp is an amount that is missing, in whole units that people read.
func roundedUp(resource string, n int64) string {
	if !inBytes(resource) || n < 1<<20 || n > 1<<60 {
		return spoken(resource, n)
	}
	const ten = 10 << 30
	if n < ten {
		return strconv.FormatInt((n+1<<20-1)>>20, 10) + "Mi"
	}
	return strconv.FormatInt((n+1<<30-1)>>30, 10) + "Gi"
}
