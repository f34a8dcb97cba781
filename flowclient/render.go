package flowclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// TemplateData is what a project template may name.
type TemplateData struct {
	Project    string // "shop"
	Component  string // "shop-web": the component of a project that has one
	Owner      string // who owns the repository on the git server
	Repository string // clone URL
	SecretRef  string // names the credentials that builds clone with
	ModuleRef  string // the pipeline module's ref
}

// rendered is a project made from a template.
type rendered struct {
	files   map[string]string // of the repository, by path
	objects []Object          // in the order in which they are applied
}

// components are the names of the rendered components.
func (r rendered) components() []string {
	names := []string{}
	for _, o := range r.objects {
		if o.Kind == KindComponent {
			names = append(names, o.Metadata.Name)
		}
	}
	return names
}

// templates lists the templates there are, sorted: directories that hold both
// a repository and objects.
func (c *Controller) templates() ([]string, error) {
	dirs, err := fs.ReadDir(c.deps.Templates, ".")
	if err != nil {
		return nil, fmt.Errorf("templates: %w", err)
	}
	var names []string
	for _, d := range dirs {
		_, noRepository := fs.Stat(c.deps.Templates, path.Join(d.Name(), "repository"))
		_, noObjects := fs.Stat(c.deps.Templates, path.Join(d.Name(), "objects"))
		if d.IsDir() && noRepository == nil && noObjects == nil {
			names = append(names, d.Name())
		}
	}
	return names, nil
}

// render renders every file of a template.
func (c *Controller) render(name string, data TemplateData) (rendered, error) {
	r := rendered{files: map[string]string{}}
	err := c.renderTree(path.Join(name, "repository"), data, func(file, content string) error {
		r.files[file] = content
		return nil
	})
	if err != nil {
		return rendered{}, fmt.Errorf("template %s: %w", name, err)
	}
	err = c.renderTree(path.Join(name, "objects"), data, func(file, content string) error {
		objects, err := readObjects(content)
		r.objects = append(r.objects, objects...)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		return nil
	})
	if err != nil {
		return rendered{}, fmt.Errorf("template %s: %w", name, err)
	}
	slices.SortStableFunc(r.objects, func(a, b Object) int { return applyRank(a.Kind) - applyRank(b.Kind) })
	return r, nil
}

// renderTree renders the files under dir in the order of their names; what is
// no text is taken as it stands.
func (c *Controller) renderTree(dir string, data TemplateData, emit func(file, content string) error) error {
	return fs.WalkDir(c.deps.Templates, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(c.deps.Templates, name)
		if err != nil {
			return err
		}
		file := strings.TrimPrefix(name, dir+"/")
		if !utf8.Valid(raw) {
			return emit(file, string(raw))
		}
		t, err := template.New(file).Option("missingkey=error").Parse(string(raw))
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := t.Execute(&out, data); err != nil {
			return err
		}
		return emit(file, out.String())
	})
}

// readObjects reads the YAML documents of a file as objects.
func readObjects(content string) (objects []Object, err error) {
	documents := yaml.NewDecoder(strings.NewReader(content))
	for {
		var document any
		if err := documents.Decode(&document); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		if document == nil {
			continue
		}
		raw, err := json.Marshal(document)
		if err != nil {
			return nil, err
		}
		var o Object
		if err := json.Unmarshal(raw, &o); err != nil {
			return nil, err
		}
		if o.Kind == "" || o.Metadata.Name == "" {
			return nil, errors.New("an object has no kind or no name")
		}
		objects = append(objects, o)
	}
}

// applyRank orders kinds so that nothing is applied before what it refers to.
func applyRank(kind Kind) int {
	order := []Kind{KindProject, KindResource, KindComponent}
	if at := slices.Index(order, kind); at >= 0 {
		return at
	}
	return len(order)
}
