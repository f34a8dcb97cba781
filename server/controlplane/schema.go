package controlplane

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"sort"
	"strconv"

	"platform.dev/platform/server/web"
)

// A schema says what a field may hold. One description checks what comes in,
// drops what is unknown, and is published at /openapi.json.
type schema struct {
	kind    string // object, array, string, boolean, integer; empty: anything
	fields  []field
	open    bool    // of an object: unknown fields are kept
	values  *schema // of an object used as a map: what each value holds
	items   *schema // of an array
	enum    []string
	pattern *regexp.Regexp
	min     int // integer: smallest; array and string: fewest
	max     int // integer: largest; 0: none
}

// field is a named part of an object.
type field struct {
	name     string
	schema   *schema
	required bool
}

var (
	anything = &schema{}
	text     = &schema{kind: "string"}
	filled   = &schema{kind: "string", min: 1}
	flag     = &schema{kind: "boolean"}
	port     = &schema{kind: "integer", min: 1, max: 65535}
	freeForm = &schema{kind: "object", open: true}
)

func fieldsOf(fields ...field) *schema   { return &schema{kind: "object", fields: fields} }
func openObject(fields ...field) *schema { return &schema{kind: "object", fields: fields, open: true} }
func list(items *schema) *schema         { return &schema{kind: "array", items: items} }
func mapOf(values *schema) *schema       { return &schema{kind: "object", values: values} }
func oneOf(values ...string) *schema     { return &schema{kind: "string", enum: values} }
func like(pattern string) *schema {
	return &schema{kind: "string", pattern: regexp.MustCompile(pattern)}
}
func must(name string, s *schema) field { return field{name: name, schema: s, required: true} }
func may(name string, s *schema) field  { return field{name: name, schema: s} }

// read checks v, which came from JSON with numbers kept as written, and gives it
// back without unknown fields and nulls. path names it in refusals: a value of
// the wrong type or a missing field is 400; one of the right type that is not
// allowed is 422.
func (s *schema) read(path string, v any) (any, error) {
	switch s.kind {
	case "object":
		m, ok := v.(map[string]any)
		if !ok {
			return nil, mistyped(path, v, "an object")
		}
		return s.readObject(path, m)
	case "array":
		a, ok := v.([]any)
		if !ok {
			return nil, mistyped(path, v, "a list")
		}
		return s.readList(path, a)
	case "string":
		t, ok := v.(string)
		if !ok {
			return nil, mistyped(path, v, "a string")
		}
		return t, s.allowText(path, t)
	case "boolean":
		if _, ok := v.(bool); !ok {
			return nil, mistyped(path, v, "true or false")
		}
	case "integer":
		return v, s.allowInteger(path, v)
	}
	return v, nil
}

// readObject keeps known fields (all, where open) and asks for the required ones.
func (s *schema) readObject(path string, m map[string]any) (any, error) {
	out := make(map[string]any, len(m))
	for _, f := range s.fields {
		v, given := m[f.name]
		if !given || v == nil {
			if f.required {
				return nil, missing(path + "." + f.name)
			}
			continue
		}
		kept, err := f.schema.read(path+"."+f.name, v)
		if err != nil {
			return nil, err
		}
		out[f.name] = kept
	}
	if s.values == nil && !s.open {
		return out, nil
	}
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names) // so that the same bad body gets the same answer
	for _, name := range names {
		if _, known := out[name]; known || m[name] == nil {
			continue
		}
		rest := s.values
		if rest == nil {
			rest = anything
		}
		kept, err := rest.read(path+"."+name, m[name])
		if err != nil {
			return nil, err
		}
		out[name] = kept
	}
	return out, nil
}

func (s *schema) readList(path string, a []any) (any, error) {
	if len(a) < s.min {
		return nil, missing(path + "[0]")
	}
	out := make([]any, len(a))
	for i, v := range a {
		kept, err := s.items.read(path+"["+strconv.Itoa(i)+"]", v)
		if err != nil {
			return nil, err
		}
		out[i] = kept
	}
	return out, nil
}

func (s *schema) allowText(path, t string) error {
	switch {
	case len(t) < s.min:
		return missing(path)
	case s.enum != nil && !slices.Contains(s.enum, t):
		return unprocessable(path, t, "must be one of %s", quoteAll(s.enum))
	case s.pattern != nil && !s.pattern.MatchString(t):
		return unprocessable(path, t, "must match %s", s.pattern)
	}
	return nil
}

func (s *schema) allowInteger(path string, v any) error {
	n, ok := v.(json.Number)
	if !ok {
		return mistyped(path, v, "an integer")
	}
	i, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil {
		return mistyped(path, v, "an integer")
	}
	if i < int64(s.min) || s.max != 0 && i > int64(s.max) {
		return unprocessable(path, n.String(), "must be from %d to %d", s.min, s.max)
	}
	return nil
}

// document is the schema as OpenAPI 3.0 writes it.
func (s *schema) document() map[string]any {
	d := map[string]any{}
	if s.kind != "" {
		d["type"] = s.kind
	}
	if len(s.fields) > 0 {
		properties := map[string]any{}
		required := []string{}
		for _, f := range s.fields {
			properties[f.name] = f.schema.document()
			if f.required {
				required = append(required, f.name)
			}
		}
		d["properties"] = properties
		if len(required) > 0 {
			d["required"] = required
		}
	}
	switch {
	case s.values != nil:
		d["additionalProperties"] = s.values.document()
	case s.open:
		d["additionalProperties"] = true
	case s.items != nil:
		d["items"] = s.items.document()
	}
	if s.enum != nil {
		d["enum"] = s.enum
	}
	if s.pattern != nil {
		d["pattern"] = s.pattern.String()
	}
	s.documentBounds(d)
	return d
}

func (s *schema) documentBounds(d map[string]any) {
	lowest := map[string]string{"integer": "minimum", "array": "minItems", "string": "minLength"}
	if name, bounded := lowest[s.kind]; bounded && s.min > 0 {
		d[name] = s.min
	}
	if s.kind == "integer" && s.max > 0 {
		d["maximum"] = s.max
	}
}

func mistyped(path string, v any, want string) error {
	raw, err := json.Marshal(v)
	if err != nil {
		raw = fmt.Append(nil, v)
	}
	return bad(http.StatusBadRequest, path, web.Echo(string(raw)), "must be "+want)
}

func missing(path string) error {
	return bad(http.StatusBadRequest, path, "", "is required")
}

func unprocessable(path, value, format string, args ...any) error {
	return bad(http.StatusUnprocessableEntity, path, value, fmt.Sprintf(format, args...))
}
