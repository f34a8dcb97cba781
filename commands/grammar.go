package commands

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// grammar builds the parser of one message over args, a pointer to a kong
// struct. It prints nothing and never ends the process.
func grammar(verb string, args any) (parser *kong.Kong, err error) {
	defer func() { // kong panics on tags that it cannot read
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return kong.New(args, kong.Name(verb), kong.NoDefaultHelp(), kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}))
}

// checkArgs refuses argument structs that a chat message must not fill: what
// reads the file system or the environment, hooks of kong's own flags, and
// anything but words, numbers, switches, durations and lists of words.
func checkArgs(verb string, args any) error {
	t := reflect.TypeOf(args)
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("args are %T, want a pointer to a struct", args)
	}
	parser, err := grammar(verb, args)
	if err != nil {
		return fmt.Errorf("args %T: %w", args, err)
	}
	if len(parser.Model.Children) > 0 {
		return fmt.Errorf("args %T: commands within commands are not for chat", args)
	}
	for _, v := range values(parser) {
		if err := checkValue(v); err != nil {
			return fmt.Errorf("args %T: %s: %w", args, v.Name, err)
		}
	}
	return nil
}

// values lists every positional argument, then every flag.
func values(parser *kong.Kong) []*kong.Value {
	out := append([]*kong.Value{}, parser.Model.Positional...)
	for _, f := range parser.Model.Flags {
		out = append(out, f.Value)
	}
	return out
}

// checkValue checks one argument's tag and type; what is not known to be harmless is refused.
func checkValue(v *kong.Value) error {
	if len(v.Tag.Envs) > 0 {
		return errors.New("the tag env reads the environment of the process")
	}
	if v.Tag.Type != "" {
		return fmt.Errorf("the tag type %q is not for chat", v.Tag.Type)
	}
	t := v.Target.Type()
	if t == reflect.TypeFor[time.Duration]() {
		return nil
	}
	if t.PkgPath() != "" && strings.Contains(t.PkgPath(), "alecthomas/kong") {
		return fmt.Errorf("the type %s acts on the process", t)
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Float64, reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint64:
		return nil
	case reflect.Slice:
		if t.Elem().Kind() == reflect.String {
			return nil
		}
	}
	return fmt.Errorf("the type %s is not for chat", t)
}

// Usage is how the command is asked for, without the mention: "promote <project> [--component <c>]".
func (c Command) Usage() string {
	parts := []string{c.Verb}
	if c.Args == nil {
		return c.Verb
	}
	parser, err := grammar(c.Verb, c.Args())
	if err != nil {
		return c.Verb // the registry refuses such a command
	}
	for _, p := range parser.Model.Positional {
		name := p.Name
		if p.Enum != "" {
			name = strings.Trim(strings.Join(p.EnumSlice(), "|"), "|") // an enum with a default may hold the empty word
		}
		if p.Required {
			parts = append(parts, "<"+name+">")
		} else {
			parts = append(parts, "["+name+"]")
		}
	}
	for _, f := range parser.Model.Flags {
		if f.Hidden {
			continue
		}
		if f.Required {
			parts = append(parts, flagUsage(f))
		} else {
			parts = append(parts, "["+flagUsage(f)+"]")
		}
	}
	return strings.Join(parts, " ")
}

func flagUsage(f *kong.Flag) string {
	if f.IsBool() {
		return "--" + f.Name
	}
	name := f.PlaceHolder
	if name == "" {
		name = f.Name
	}
	return "--" + f.Name + " <" + name + ">"
}

// Kong's own sentences, and ours for them.
var (
	missingArgs  = regexp.MustCompile(`^expected "(.*)"$`)
	missingFlags = regexp.MustCompile(`^missing flags: (.*)$`)
	flagValue    = regexp.MustCompile(`=\S*`)
)

// plainly says what is wrong with the arguments; kong's sentences name argument and value already.
func plainly(err error) string {
	text := err.Error()
	if m := missingArgs.FindStringSubmatch(text); m != nil {
		return "missing: " + m[1]
	}
	if m := missingFlags.FindStringSubmatch(text); m != nil {
		return "missing: " + flagValue.ReplaceAllString(m[1], "")
	}
	return text
}
