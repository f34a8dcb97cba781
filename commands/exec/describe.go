package exec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"platform.dev/platform/commands"
)

// Version is the one version of what is said between us and a program.
const Version = 1

// The bounds of a description.
const (
	maxDescription = 64 << 10 // bytes
	describeWithin = 5 * time.Second
	maxArguments   = 20
	maxExamples    = 10
	maxValues      = 50
	maxCalls       = 50
	maxSummary     = 120 // code points
	maxHelp        = 300 // code points
	DefaultTimeout = 30 * time.Second
	MaxTimeout     = 10 * time.Minute
)

// Description is what a program says of itself when it is run with --describe.
type Description struct {
	Version  int             `json:"version"` // 1
	Bot      string          `json:"bot"`
	Verb     string          `json:"verb"` // as in the file's name
	Summary  string          `json:"summary"`
	Examples []string        `json:"examples"`
	Effect   commands.Effect `json:"effect"`
	Action   string          `json:"action"` // the permission that it needs: "report:read"; a write must name one
	// Idempotent: run again with the same key, it does nothing twice.
	Idempotent bool       `json:"idempotent"`
	Timeout    string     `json:"timeout"` // as Go writes durations, "30s"; empty: DefaultTimeout
	Calls      []string   `json:"calls"`   // the verbs of its bot that it may call
	Args       []Argument `json:"args"`

	limit time.Duration // Timeout, read
}

// Argument is one argument of a program.
type Argument struct {
	Name     string   `json:"name"`
	Help     string   `json:"help"`
	Kind     string   `json:"kind"`     // string, int, bool or enum; empty: string
	Required bool     `json:"required"` // else it is Default, or empty, 0 or false
	Flag     bool     `json:"flag"`     // --name <value>, and no word by its place; a bool always is
	Default  string   `json:"default"`
	Values   []string `json:"values"` // of an enum
}

// The kinds of arguments.
const (
	kindString = "string"
	kindInt    = "int"
	kindBool   = "bool"
	kindEnum   = "enum"
)

// reserved are the verbs that a registry gives bots by itself.
var reserved = []string{"help", "explain", "confirm", "cancel"}

var (
	word   = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)
	action = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}:[a-z][a-z0-9-]{0,39}$`)
)

// ParseDescription reads a description. The error names field and value.
func ParseDescription(text []byte) (Description, error) {
	var d Description
	if err := strict(text, maxDescription, &d); err != nil {
		return Description{}, fmt.Errorf("its description: %w", err)
	}
	d.limit = DefaultTimeout
	if d.Timeout != "" {
		var err error
		if d.limit, err = time.ParseDuration(d.Timeout); err != nil {
			return Description{}, fmt.Errorf("timeout %q: write it as in 30s or 2m", cut(d.Timeout, 40))
		}
	}
	if err := d.check(); err != nil {
		return Description{}, err
	}
	for i := range d.Args {
		if d.Args[i].Kind == "" {
			d.Args[i].Kind = kindString
		}
		if err := d.Args[i].check(); err != nil {
			return Description{}, fmt.Errorf("args[%d].%w", i, err)
		}
		if slices.ContainsFunc(d.Args[:i], func(a Argument) bool { return a.Name == d.Args[i].Name }) {
			return Description{}, fmt.Errorf("args[%d].name %q: there is one of that name", i, d.Args[i].Name)
		}
		if d.Args[i].placed() && d.Args[i].Required && slices.ContainsFunc(d.Args[:i], func(a Argument) bool { return a.placed() && !a.Required }) {
			return Description{}, fmt.Errorf("args[%d].required true: it stands behind one that is not", i)
		}
	}
	return d, nil
}

// check checks everything but the arguments.
func (d Description) check() error {
	for _, c := range []struct {
		bad   bool
		field string
		value any
		why   string
	}{
		{d.Version != Version, "version", d.Version, "must be 1"},
		{!word.MatchString(d.Bot), "bot", d.Bot, "must be a lower-case word"},
		{!word.MatchString(d.Verb), "verb", d.Verb, "must be a lower-case word"},
		{slices.Contains(reserved, d.Verb), "verb", d.Verb, "every bot has it already"},
		{!line(d.Summary, maxSummary) || strings.HasSuffix(d.Summary, "."), "summary", d.Summary, fmt.Sprintf("must be one line of 1 to %d characters without a full stop", maxSummary)},
		{len(d.Examples) == 0 || len(d.Examples) > maxExamples, "examples", len(d.Examples), fmt.Sprintf("there must be 1 to %d", maxExamples)},
		{d.Effect != commands.Read && d.Effect != commands.Write, "effect", d.Effect, "must be read or write"},
		{d.Effect == commands.Write && d.Action == "", "action", d.Action, "a write must name the permission that it needs, as in report:send"},
		{d.Action != "" && !action.MatchString(d.Action), "action", d.Action, "must be two lower-case words with a colon between, as in report:send"},
		{d.limit < time.Second || d.limit > MaxTimeout, "timeout", d.Timeout, "must be 1s to " + MaxTimeout.String()},
		{len(d.Calls) > maxCalls, "calls", len(d.Calls), fmt.Sprintf("there may be %d", maxCalls)},
		{len(d.Args) > maxArguments, "args", len(d.Args), fmt.Sprintf("there may be %d", maxArguments)},
	} {
		if c.bad {
			return fmt.Errorf("%s %s: %s", c.field, quoted(c.value), c.why)
		}
	}
	for i, e := range d.Examples {
		if !line(e, maxHelp) {
			return fmt.Errorf("examples[%d] %s: must be one line of 1 to %d characters", i, quoted(e), maxHelp)
		}
	}
	for i, verb := range d.Calls {
		if !word.MatchString(verb) || verb == d.Verb {
			return fmt.Errorf("calls[%d] %s: must be another verb of the bot", i, quoted(verb))
		}
	}
	return nil
}

// placed tells whether an argument is known by its place, and not by its name.
func (a Argument) placed() bool { return !a.Flag && a.Kind != kindBool }

// check checks one argument; the error begins with the field's name.
func (a Argument) check() error {
	_, notInt := strconv.ParseInt(a.Default, 10, 64)
	for _, c := range []struct {
		bad   bool
		field string
		value any
		why   string
	}{
		{!word.MatchString(a.Name) || a.Name == "help", "name", a.Name, "must be a lower-case word other than help"},
		{!line(a.Help, maxHelp), "help", a.Help, fmt.Sprintf("must be one line of 1 to %d characters", maxHelp)},
		{!slices.Contains([]string{kindString, kindInt, kindBool, kindEnum}, a.Kind), "kind", a.Kind, "must be string, int, bool or enum"},
		{a.Required && a.Default != "", "default", a.Default, "what is required has none"},
		{a.Kind == kindBool && (a.Required || a.Default != ""), "kind", a.Kind, "a bool is a switch that is off: it is not required, and has no default"},
		{a.Kind == kindInt && a.Default != "" && notInt != nil, "default", a.Default, "must be a whole number"},
		{a.Kind == kindEnum && (len(a.Values) == 0 || len(a.Values) > maxValues), "values", len(a.Values), fmt.Sprintf("an enum has 1 to %d", maxValues)},
		{a.Kind != kindEnum && len(a.Values) > 0, "values", len(a.Values), "only an enum has any"},
		{a.Kind == kindEnum && a.Default != "" && !slices.Contains(a.Values, a.Default), "default", a.Default, "must be one of values"},
		{a.Default != "" && !simple(a.Default), "default", a.Default, "must be one line without quotes, backslashes and dollar signs"},
	} {
		if c.bad {
			return fmt.Errorf("%s %s: %s", c.field, quoted(c.value), c.why)
		}
	}
	for i, v := range a.Values {
		if !simple(v) || strings.ContainsAny(v, ", ") {
			return fmt.Errorf("values[%d] %s: must be one word without commas, quotes, backslashes and dollar signs", i, quoted(v))
		}
	}
	return nil
}

// line tells whether a text is one line of 1 to limit code points, all of them visible.
func line(text string, limit int) bool {
	n := utf8.RuneCountInString(text)
	return n >= 1 && n <= limit && utf8.ValidString(text) && strings.TrimSpace(text) != "" && strings.IndexFunc(text, unicode.IsControl) < 0
}

// simple tells whether a text may stand in a grammar as it is.
func simple(text string) bool { return line(text, maxHelp) && !strings.ContainsAny(text, "\"'`\\$") }

// quoted shows a value in an error.
func quoted(v any) string {
	if n, ok := v.(int); ok {
		return strconv.Itoa(n)
	}
	return strconv.Quote(cut(fmt.Sprint(v), 80))
}

// strict reads one JSON object of at most limit bytes without unknown fields.
func strict(text []byte, limit int, into any) error {
	text = bytes.TrimSpace(text)
	switch {
	case len(text) > limit:
		return fmt.Errorf("it has %d bytes; %d are read", len(text), limit)
	case len(text) == 0:
		return errors.New("nothing was said")
	case text[0] != '{':
		return fmt.Errorf("%s is no JSON object", quoted(string(text)))
	case !utf8.Valid(text):
		return errors.New("it is no UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return plainly(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON object was said")
	}
	return nil
}

// plainly says what is wrong with JSON without Go's names.
func plainly(err error) error {
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrong):
		return fmt.Errorf("%s: a %s does not belong there", cut(wrong.Field, 80), wrong.Value)
	case errors.As(err, &syntax):
		return fmt.Errorf("it is no JSON at byte %d", syntax.Offset)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it is JSON that ends too early")
	}
	return errors.New(cut(strings.TrimPrefix(err.Error(), "json: "), 120))
}
