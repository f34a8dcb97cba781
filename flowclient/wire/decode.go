package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"platform.dev/platform/flowclient"
)

// Read reads a body of at most MaxBody bytes; ErrTooLarge when there are more.
func Read(body io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(body, MaxBody+1))
	if err != nil {
		return nil, invalid("body", "", "could not be read to its end: %v", err)
	}
	if len(b) > MaxBody {
		return nil, ErrTooLarge
	}
	return b, nil
}

// Decode reads one JSON object into a struct, strictly: every field is known
// by its exact name, stands once and has the right type, and nothing follows
// the object. The *flowclient.Invalid names the field and the value.
func Decode(body []byte, into any) error {
	fields := fieldsOf(into)
	if !utf8.Valid(body) {
		return invalid("body", strings.ToValidUTF8(string(body), "\uFFFD"), "is not UTF-8 text")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return invalid("body", string(body), "must be a JSON object with the fields %s", names(fields))
	}
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		name, isName := token.(string)
		if err != nil || !isName {
			return malformed(body, err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return malformed(body, err)
		}
		field, known := fields[name]
		switch {
		case !known:
			return invalid(name, written(value), "is no field of this request; its fields are %s", names(fields))
		case seen[name]:
			return invalid(name, written(value), "is given twice")
		}
		seen[name] = true
		if err := json.Unmarshal(value, field.Addr().Interface()); err != nil {
			return invalid(name, written(value), "must be %s", described(field.Type()))
		}
	}
	if _, err := dec.Token(); err != nil {
		return malformed(body, err)
	}
	if rest := bytes.TrimSpace(body[dec.InputOffset():]); len(rest) > 0 {
		return invalid("body", string(rest), "goes on after its end")
	}
	return nil
}

// fieldsOf lists the fields of the struct that into points to, by JSON name.
func fieldsOf(into any) map[string]reflect.Value {
	v := reflect.ValueOf(into).Elem()
	fields := make(map[string]reflect.Value, v.NumField())
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		fields[name] = v.Field(i)
	}
	return fields
}

func names(fields map[string]reflect.Value) string {
	return strings.Join(slices.Sorted(maps.Keys(fields)), ", ")
}

// described is a type as JSON calls it.
func described(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Pointer:
		return described(t.Elem())
	case reflect.Struct:
		if t != reflect.TypeFor[time.Time]() {
			return "an object"
		}
		return "an instant such as 2026-03-04T12:00:00Z"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes in base64"
		}
		return "a list of strings"
	default:
		return "an object of strings"
	}
}

// written is a JSON value as a person would name it: a string without its quotes.
func written(value json.RawMessage) string {
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return string(value)
	}
	return text
}

// malformed tells that the body is no JSON, and where it goes wrong.
func malformed(body []byte, err error) *flowclient.Invalid {
	why := "is not valid JSON"
	var syntax *json.SyntaxError
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) && mistyped.Field == "" {
		why = "must be a JSON object"
	} else if errors.As(err, &mistyped) {
		return invalid(mistyped.Field, mistyped.Value, "must be %s", described(mistyped.Type))
	} else if errors.As(err, &syntax) {
		why = fmt.Sprintf("is not valid JSON at byte %d: %v", syntax.Offset, syntax)
	} else if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		why = "ends in the middle of the object"
	}
	return invalid("body", string(body), "%s", why)
}

// Query reads query parameters strictly: each is known and stands once.
func Query(raw string, known ...string) (map[string]string, error) {
	values, err := parseQuery(raw)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		all := values[name]
		switch {
		case !slices.Contains(known, name) && len(known) == 0:
			return nil, invalid(name, all[0], "is no parameter of this request; it has none")
		case !slices.Contains(known, name):
			return nil, invalid(name, all[0], "is no parameter of this request; its parameters are %s", strings.Join(known, ", "))
		case len(all) > 1:
			return nil, invalid(name, all[1], "is given twice")
		}
		found[name] = all[0]
	}
	return found, nil
}
