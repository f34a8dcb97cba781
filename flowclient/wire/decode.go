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
// by its exact name, stands once and has the right type, which null is none of,
// and nothing follows the object. What a field holds is read as strictly. The
// *flowclient.Invalid names the field, as "outer.inner" within one, and the value.
func Decode(body []byte, into any) error {
	fields := fieldsOf(reflect.ValueOf(into).Elem())
	if !utf8.Valid(body) {
		return invalid("body", strings.ToValidUTF8(string(body), "\uFFFD"), "is not UTF-8 text")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return invalid("body", string(body), "must be a JSON object with the fields %s", names(fields))
	}
	err := eachMember(dec, body, "", func(name string, value json.RawMessage) error {
		field, known := fields[name]
		if !known {
			return invalid(name, written(value), "is no field of this request; its fields are %s", names(fields))
		}
		return decodeValue(name, value, field)
	})
	if err != nil {
		return err
	}
	if rest := bytes.TrimSpace(body[dec.InputOffset():]); len(rest) > 0 {
		return invalid("body", string(rest), "goes on after its end")
	}
	return nil
}

// eachMember reads the members of an object whose beginning has been read, to
// its end. Each name stands once; within names what the object is a field of.
func eachMember(dec *json.Decoder, body []byte, within string, take func(name string, value json.RawMessage) error) error {
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
		if seen[name] {
			return invalid(within+name, written(value), "is given twice")
		}
		seen[name] = true
		if err := take(name, value); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return malformed(body, err)
	}
	return nil
}

// decodeValue reads a value that is JSON into what the field of that name is.
func decodeValue(name string, value json.RawMessage, into reflect.Value) error {
	t := into.Type()
	switch {
	case string(value) == "null", isBytes(t) && value[0] != '"': // encoding/json takes null for anything, and numbers for bytes
	case t.Kind() == reflect.Pointer:
		into.Set(reflect.New(t.Elem()))
		return decodeValue(name, value, into.Elem())
	case t.Kind() == reflect.Map && value[0] == '{':
		return decodeMap(name, value, into)
	case t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]() && value[0] == '{':
		return decodeStruct(name, value, into)
	case t.Kind() == reflect.Slice && !isBytes(t) && value[0] == '[':
		return decodeList(name, value, into)
	default:
		if json.Unmarshal(value, into.Addr().Interface()) == nil {
			return nil
		}
	}
	return invalid(name, written(value), "must be %s", described(t))
}

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

func decodeMap(name string, value json.RawMessage, into reflect.Value) error {
	t := into.Type()
	into.Set(reflect.MakeMap(t))
	return members(name, value, func(key string, value json.RawMessage) error {
		item := reflect.New(t.Elem()).Elem()
		if err := decodeValue(name+"."+key, value, item); err != nil {
			return err
		}
		into.SetMapIndex(reflect.ValueOf(key).Convert(t.Key()), item)
		return nil
	})
}

func decodeStruct(name string, value json.RawMessage, into reflect.Value) error {
	fields := fieldsOf(into)
	return members(name, value, func(key string, value json.RawMessage) error {
		field, known := fields[key]
		if !known {
			return invalid(name+"."+key, written(value), "is no field of %s; its fields are %s", name, names(fields))
		}
		return decodeValue(name+"."+key, value, field)
	})
}

func decodeList(name string, value json.RawMessage, into reflect.Value) error {
	var items []json.RawMessage
	if err := json.Unmarshal(value, &items); err != nil {
		return malformed(value, err)
	}
	into.Set(reflect.MakeSlice(into.Type(), len(items), len(items)))
	for i, item := range items {
		if err := decodeValue(fmt.Sprintf("%s.%d", name, i), item, into.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// members reads the members of an object that is the value of a field.
func members(within string, value json.RawMessage, take func(name string, value json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(value))
	if _, err := dec.Token(); err != nil {
		return malformed(value, err)
	}
	return eachMember(dec, value, within+".", take)
}

// fieldsOf lists the fields of a struct, by JSON name.
func fieldsOf(v reflect.Value) map[string]reflect.Value {
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
		switch t.Elem().Kind() {
		case reflect.Uint8:
			return "bytes in base64"
		case reflect.Struct:
			return "a list of objects"
		default:
			return "a list of strings"
		}
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
	if len(raw) > MaxQuery {
		return nil, invalid("query", raw, "is longer than %d bytes", MaxQuery)
	}
	values, err := parseQuery(raw)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		all := values[name]
		switch {
		case name == "":
			return nil, invalid("query", raw, "has a value without a name")
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
