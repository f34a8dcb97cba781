package flowclient

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Quantities are amounts by the resource's name as a quota knows it, with
// "memory" for requests.memory: "memory" and "limits.memory" in bytes, "cpu"
// and "limits.cpu" in thousandths of a core, "pods" in pods, others in their own unit.
type Quantities map[string]int64

// The resources that the rules of capacity name.
const (
	Memory = "memory"
	CPU    = "cpu"
	Pods   = "pods"
)

// QuotaResource is the one name of what a quota calls name: cpu, memory and
// their like stand for requests.cpu and requests.memory (Kubernetes, Resource Quotas).
func QuotaResource(name string) string { return strings.TrimPrefix(name, "requests.") }

// milli tells whether amounts of a resource are counted in thousandths.
func milli(resource string) bool { return strings.TrimPrefix(resource, "limits.") == CPU }

// quantityForm is Kubernetes' quantity: a decimal number, then a binary or a
// decimal suffix or an exponent. A bare E is exa; with digits it is an exponent.
var quantityForm = regexp.MustCompile(`^\+?([0-9]{0,30})(?:\.([0-9]{0,30}))?(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?[0-9]{1,2})?$`)

// decimalSuffixes are powers of ten, binarySuffixes powers of two.
var (
	decimalSuffixes = map[string]int{"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
	binarySuffixes  = map[string]uint{"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
)

// ParseQuantity reads an amount of a resource as Kubernetes writes it ("512Mi",
// "1.5G", "250m", "2e3"), in the unit of Quantities. As there, a fraction of
// the unit is rounded up, and what is larger than an int64 is the largest one.
// An error says what to write; the text is not part of it.
func ParseQuantity(resource, text string) (int64, error) {
	m := quantityForm.FindStringSubmatch(text)
	if m == nil || m[1]+m[2] == "" {
		return 0, errors.New("is no quantity that can be counted; write one such as " + exampleOf(resource))
	}
	digits, _ := new(big.Int).SetString(m[1]+m[2], 10) // digits alone, at least one
	ten, two := -len(m[2]), uint(0)
	switch suffix := m[3]; {
	case binarySuffixes[suffix] > 0:
		two = binarySuffixes[suffix]
	case len(suffix) == 1:
		ten += decimalSuffixes[suffix]
	case suffix != "":
		exponent, err := strconv.Atoi(suffix[1:])
		if err != nil {
			return 0, fmt.Errorf("has an exponent that is no number; write a quantity such as %s", exampleOf(resource))
		}
		ten += exponent
	}
	if milli(resource) {
		ten += 3
	}
	digits.Lsh(digits, two)
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(ten, -ten))), nil)
	if ten >= 0 {
		digits.Mul(digits, power)
	} else if _, rest := digits.DivMod(digits, power, new(big.Int)); rest.Sign() > 0 {
		digits.Add(digits, big.NewInt(1))
	}
	if !digits.IsInt64() {
		return math.MaxInt64, nil
	}
	return digits.Int64(), nil
}

func exampleOf(resource string) string {
	switch {
	case milli(resource):
		return "250m or 2"
	case strings.TrimPrefix(resource, "limits.") == Memory:
		return "256Mi, 1.5Gi or 500M"
	}
	return "10"
}

// FormatQuantity writes an amount so that ParseQuantity reads the same one, in
// the unit that makes it shortest: "512Mi", "1.5Gi", "500M", "250m".
func FormatQuantity(resource string, n int64) string {
	if milli(resource) {
		if n%1000 == 0 {
			return strconv.FormatInt(n/1000, 10)
		}
		return strconv.FormatInt(n, 10) + "m"
	}
	shortest := strconv.FormatInt(n, 10)
	if !inBytes(resource) {
		return shortest
	}
	for _, u := range units {
		if s, exact := u.tenths(n); exact && len(s) <= len(shortest) {
			shortest = s
		}
	}
	return shortest
}

// inBytes tells whether people read amounts of a resource in units of bytes.
func inBytes(resource string) bool {
	return slices.Contains([]string{Memory, "storage", "ephemeral-storage"}, strings.TrimPrefix(resource, "limits."))
}

// unit is a suffix and how many bytes it stands for.
type unit struct {
	suffix string
	size   int64
}

// units are those that people read, the one to prefer among equally short ones last.
var units = []unit{
	{"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15},
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}, {"Pi", 1 << 50},
}

// tenths writes n in the unit with at most one decimal; exact tells that nothing was lost.
func (u unit) tenths(n int64) (text string, exact bool) {
	whole, rest := n/u.size, n%u.size
	if rest == 0 {
		return strconv.FormatInt(whole, 10) + u.suffix, true
	}
	// rest*10 fits: a unit is at most 2^50.
	tenth, lost := rest*10/u.size, rest*10%u.size
	return fmt.Sprintf("%d.%d%s", whole, tenth, u.suffix), lost == 0 && whole > 0
}

// plus adds two amounts that are not negative; a sum beyond an int64 is the largest one.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// times multiplies two amounts that are not negative, like plus.
func times(a, b int64) int64 {
	if a != 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

// minus is a-b; a difference beyond an int64 is the nearest one.
func minus(a, b int64) int64 {
	switch {
	case b < 0 && a > math.MaxInt64+b:
		return math.MaxInt64
	case b > 0 && a < math.MinInt64+b:
		return math.MinInt64
	}
	return a - b
}
