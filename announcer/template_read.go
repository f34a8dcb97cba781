package announcer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"
)

const (
	// templateEnd ends the name of a kind's file.
	templateEnd = ".yaml"
	// maxTemplate bounds such a file, in bytes.
	maxTemplate = 64 << 10
)

// ReadTemplates reads the files <kind>.yaml of a directory, such as
// build.failed.yaml: title and body, templates over an About whose output
// replaces ours, or "skip: true", by which the kind is not told. A file of
// another name, an unknown field and a template that cannot be read or names
// what its events do not have are errors that name file, line and field. Names
// that begin with a dot are passed over.
func ReadTemplates(dir fs.FS) (Templates, error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return Templates{}, err
	}
	t := Templates{by: map[string]wording{}}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") {
			continue
		}
		kind, ok := strings.CutSuffix(name, templateEnd)
		if !ok || bodyOf(kind) == nil {
			return Templates{}, fmt.Errorf("%s: is the file of no announcement; there are %s, each with %s", name, strings.Join(kindNames(), ", "), templateEnd)
		}
		text, err := readTemplate(dir, name)
		if err != nil {
			return Templates{}, err
		}
		if t.by[kind], err = parseWording(name, kind, text); err != nil {
			return Templates{}, err
		}
	}
	return t, nil
}

// kindNames are the kinds that may have a file, sorted.
func kindNames() []string {
	all := slices.Concat(slices.Collect(maps.Keys(kinds)), slices.Collect(maps.Keys(severals)))
	all = slices.DeleteFunc(all, func(kind string) bool { return bodyOf(kind) == nil })
	slices.Sort(all)
	return all
}

// readTemplate reads a file of a bounded size; what is none, such as a pipe, could be waited for.
func readTemplate(dir fs.FS, name string) ([]byte, error) {
	if info, err := fs.Stat(dir, name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is no file", name)
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxTemplate+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > maxTemplate {
		return nil, fmt.Errorf("%s: is larger than %d KiB", name, maxTemplate>>10)
	}
	return text, nil
}

// parseWording reads one file.
func parseWording(file, kind string, text []byte) (w wording, err error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return w, fmt.Errorf("%s: %w", file, err)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode || len(doc.Content[0].Content) == 0 {
		return w, fmt.Errorf("%s: has no fields; there are title, body and skip", file)
	}
	seen := map[string]bool{}
	fields := doc.Content[0].Content
	for i := 0; i+1 < len(fields); i += 2 {
		key, value := fields[i], fields[i+1]
		at := fmt.Sprintf("%s:%d", file, key.Line)
		if seen[key.Value] {
			return w, fmt.Errorf("%s: the field %q is there twice", at, key.Value)
		}
		seen[key.Value] = true
		if value.Kind != yaml.ScalarNode {
			return w, fmt.Errorf("%s: %s is one value", at, key.Value)
		}
		switch key.Value {
		case "title":
			w.title, err = parseTemplate(file, key.Value, kind, value)
		case "body":
			w.body, err = parseTemplate(file, key.Value, kind, value)
		case "skip":
			if err := value.Decode(&w.skip); err != nil {
				return w, fmt.Errorf("%s: skip is true or false, not %q", at, value.Value)
			}
		default:
			return w, fmt.Errorf("%s: there is no field %q; there are title, body and skip", at, key.Value)
		}
		if err != nil {
			return w, err
		}
	}
	if w.skip && (w.title != nil || w.body != nil) {
		return w, fmt.Errorf("%s: what is skipped has neither title nor body", file)
	}
	return w, tried(file, kind, w)
}

// parseTemplate reads a template and looks at every branch of it.
func parseTemplate(file, field, kind string, value *yaml.Node) (*template.Template, error) {
	line := value.Line
	if value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		line++ // the text begins below the mark
	}
	t := template.New(field).Option("missingkey=zero").Funcs(functions(foreign)).Funcs(template.FuncMap{every: lastOf})
	t, err := t.Parse(value.Value)
	if err == nil {
		err = check(t, kind)
	}
	if err != nil {
		return nil, located(file, field, kind, line, err)
	}
	return t, nil
}

// complaint is how text/template words what is wrong: where, within what, and why.
var complaint = regexp.MustCompile(`(?s)^template: [^:]*:(\d+)(?::\d+)?: (?:executing "[^"]*" )?(?:at <(.*?)>: )?(.*)$`)

// located says where in a file a template is wrong, whose first line is the file's line first.
func located(file, field, kind string, first int, err error) error {
	found := complaint.FindStringSubmatch(err.Error())
	if found == nil {
		return fmt.Errorf("%s:%d: %s: %w", file, first, field, err)
	}
	line, _ := strconv.Atoi(found[1]) // digits
	why := found[3]
	if found[2] != "" {
		why = found[2] + ": " + why
	}
	why = strings.ReplaceAll(why, "in type interface {}", "in type "+bodyOf(kind).String()) // the one that an About has
	return fmt.Errorf("%s:%d: %s: %s", file, first+line-1, field, why)
}

// tried writes the samples of the kind in these words: what does not fit them would never be said.
func tried(file, kind string, w wording) error {
	for _, s := range allSamples() {
		if s.Kind != kind {
			continue
		}
		if _, err := w.write(s.message, s.About, foreign); err != nil {
			var field string
			if found := complaint.FindStringSubmatch(err.Error()); found != nil {
				field, err = found[2]+": ", errors.New(found[3])
			}
			return fmt.Errorf("%s: does not fit an ordinary announcement: %s%w", file, field, err)
		}
	}
	return nil
}
