package workflow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"platform.dev/platform/flowclient"
)

// pipeline is the module's pipeline.yaml.
type pipeline struct {
	Source string  `yaml:"source"` // name of the stage that fetches the commit
	Stages []stage `yaml:"stages"`
	Image  struct {
		Stage string `yaml:"stage"` // name of the stage that makes and pushes the image
		Root  string `yaml:"root"`  // directory below the component's that becomes the image
	} `yaml:"image"`
}

// stage is a program of the built repository.
type stage struct {
	Name    string   `yaml:"name"`
	Argv    []string `yaml:"argv"`
	Timeout string   `yaml:"timeout"`

	limit time.Duration // Timeout, read
}

// The bounds of a pipeline.yaml.
const (
	maxPipelineBytes = 64 << 10
	maxStages        = 32
	maxArgv          = 64
	maxArgument      = 4 << 10 // bytes
	maxTimeout       = time.Hour
)

// stageName is also safe in a query and in a message.
var stageName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// parsePipeline reads a pipeline.yaml strictly. Its errors name the field and the value.
func parsePipeline(body []byte) (pipeline, error) {
	var p pipeline
	if err := strictYAML(body, &p); err != nil {
		return pipeline{}, fmt.Errorf("pipeline.yaml: %w", err)
	}
	if err := p.check(); err != nil {
		return pipeline{}, fmt.Errorf("pipeline.yaml: %w", err)
	}
	return p, nil
}

// check holds p against the bounds and reads the time limits.
func (p *pipeline) check() error {
	if n := len(p.Stages); n == 0 || n > maxStages {
		return &flowclient.Invalid{Field: "stages", Value: fmt.Sprint(n), Why: fmt.Sprintf("there must be 1 to %d", maxStages)}
	}
	for i := range p.Stages {
		if err := p.Stages[i].check(fmt.Sprintf("stages[%d]", i)); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	for _, name := range p.names() {
		switch {
		case !stageName.MatchString(name):
			return &flowclient.Invalid{Field: "name of a stage", Value: name,
				Why: "must be 1 to 40 lower-case letters, digits and dashes, a letter first"}
		case seen[name]:
			return &flowclient.Invalid{Field: "name of a stage", Value: name, Why: "is taken by another stage"}
		}
		seen[name] = true
	}
	if !filepath.IsLocal(p.Image.Root) {
		return &flowclient.Invalid{Field: "image.root", Value: p.Image.Root, Why: "must be a path within the component's directory"}
	}
	return nil
}

// check holds one stage against the bounds; field is its place in the file.
func (s *stage) check(field string) error {
	if n := len(s.Argv); n == 0 || n > maxArgv {
		return &flowclient.Invalid{Field: field + ".argv", Value: fmt.Sprint(n), Why: fmt.Sprintf("there must be 1 to %d arguments", maxArgv)}
	}
	if strings.HasPrefix(s.Argv[0], "-") {
		return &flowclient.Invalid{Field: field + ".argv[0]", Value: s.Argv[0], Why: "must be a program"}
	}
	for i, arg := range s.Argv {
		if len(arg) > maxArgument || strings.ContainsRune(arg, 0) || i == 0 && arg == "" {
			return &flowclient.Invalid{Field: fmt.Sprintf("%s.argv[%d]", field, i), Value: arg[:min(len(arg), 80)],
				Why: fmt.Sprintf("must be at most %d bytes without a zero byte, and the first not empty", maxArgument)}
		}
	}
	limit, err := time.ParseDuration(s.Timeout)
	if err != nil || limit <= 0 || limit > maxTimeout {
		return &flowclient.Invalid{Field: field + ".timeout", Value: s.Timeout, Why: fmt.Sprintf("must be a duration of more than 0 and at most %v, as in 2m", maxTimeout)}
	}
	s.limit = limit
	return nil
}

// names are the stages of a run in order: the source, the programs, the image.
func (p pipeline) names() []string {
	names := []string{p.Source}
	for _, s := range p.Stages {
		names = append(names, s.Name)
	}
	return append(names, p.Image.Stage)
}

// unknownField is how the YAML library words a field that a struct does not have.
var unknownField = regexp.MustCompile(`field (\S+) not found in type \S+`)

// strictYAML reads exactly one document, without a field that v does not have.
func strictYAML(body []byte, v any) error {
	dec := yaml.NewDecoder(bytes.NewReader(body))
	dec.KnownFields(true)
	err := dec.Decode(v)
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("it is empty")
	case err != nil:
		text := strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " ")
		return errors.New(unknownField.ReplaceAllString(text, `field "$1" is unknown`))
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("it must hold one document")
	}
	return nil
}
