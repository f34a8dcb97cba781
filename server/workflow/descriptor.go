package workflow

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"platform.dev/platform/flowclient"
)

// descriptor is the file at workloadPath: the parts of a Workload's spec that
// the repository decides.
type descriptor struct {
	Endpoints map[string]struct {
		Type       string   `yaml:"type"`
		Port       int      `yaml:"port"`
		BasePath   string   `yaml:"basePath"`
		Visibility []string `yaml:"visibility"`
	} `yaml:"endpoints"`
	Command []string `yaml:"command"`
	Args    []string `yaml:"args"`
	Env     []struct {
		Key   string `yaml:"key"`
		Value string `yaml:"value"`
	} `yaml:"env"`
}

// The bounds of a descriptor.
const (
	maxDescriptorBytes = 64 << 10
	maxEndpoints       = 16
	maxWords           = 256     // of command, args and env each
	maxWord            = 8 << 10 // bytes
)

// What a descriptor may say; OpenChoreo's WorkloadEndpoint.
var (
	endpointTypes = []string{"HTTP", "gRPC", "GraphQL", "Websocket", "TCP", "UDP"}
	visibilities  = []string{"project", "namespace", "internal", "external"}
	endpointName  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,29}[a-z0-9])?$`) // it becomes part of a path
	variableName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
)

// workload reads the run's descriptor into a Workload's spec. Without a
// workloadPath the component answers HTTP at endpoint "http", port 8080.
// workloadPath counts from the top of the repository.
func (l *life) workload() (flowclient.WorkloadSpec, error) {
	w := flowclient.WorkloadSpec{Owner: &flowclient.Owner{ProjectName: l.rec.Project, ComponentName: l.rec.Component}}
	if l.rec.Params.WorkloadPath == "" {
		w.Endpoints = map[string]flowclient.Endpoint{"http": {Type: "HTTP", Port: 8080}}
		return w, nil
	}
	body, err := l.source.read(l.rec.Params.WorkloadPath)
	if err != nil {
		return flowclient.WorkloadSpec{}, err
	}
	var d descriptor
	if err = strictYAML(body, &d); err == nil {
		err = d.into(&w)
	}
	if err != nil {
		return flowclient.WorkloadSpec{}, fmt.Errorf("%s: %w", l.rec.Params.WorkloadPath, err)
	}
	return w, nil
}

// read gives a file of the checkout that parameter workloadPath names.
func (s source) read(name string) ([]byte, error) {
	invalid := func(why string) error {
		return &flowclient.Invalid{Field: "workloadPath", Value: name, Why: why}
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, fmt.Errorf("workloadPath: %w", err)
	}
	defer root.Close()
	info, err := root.Stat(path.Clean(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, invalid("does not exist at commit " + s.commit)
	case err != nil: // os.Root refuses what leads out by dots or links
		return nil, invalid("must be a file within the repository: " + err.Error())
	case !info.Mode().IsRegular():
		return nil, invalid("must be a file")
	case info.Size() > maxDescriptorBytes:
		return nil, invalid(fmt.Sprintf("must be at most %d bytes", maxDescriptorBytes))
	}
	f, err := root.Open(path.Clean(name))
	if err != nil {
		return nil, fmt.Errorf("workloadPath: %w", err)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxDescriptorBytes))
}

// into checks d and writes it into a spec.
func (d descriptor) into(w *flowclient.WorkloadSpec) error {
	if n := len(d.Endpoints); n == 0 || n > maxEndpoints {
		return &flowclient.Invalid{Field: "endpoints", Value: fmt.Sprint(n), Why: fmt.Sprintf("there must be 1 to %d", maxEndpoints)}
	}
	w.Endpoints = make(map[string]flowclient.Endpoint, len(d.Endpoints))
	for name, e := range d.Endpoints {
		end := flowclient.Endpoint{Type: e.Type, Port: e.Port, BasePath: e.BasePath, Visibility: e.Visibility}
		if err := checkEndpoint(name, end); err != nil {
			return err
		}
		w.Endpoints[name] = end
	}
	w.Container.Command, w.Container.Args = d.Command, d.Args
	words := slices.Concat(d.Command, d.Args)
	for _, e := range d.Env {
		if !variableName.MatchString(e.Key) {
			return &flowclient.Invalid{Field: "env.key", Value: e.Key, Why: "must be the name of an environment variable"}
		}
		w.Container.Env = append(w.Container.Env, flowclient.EnvVar{Key: e.Key, Value: e.Value})
		words = append(words, e.Value)
	}
	if len(words) > maxWords {
		return &flowclient.Invalid{Field: "command, args and env", Value: fmt.Sprint(len(words)), Why: fmt.Sprintf("there may be %d in all", maxWords)}
	}
	for _, word := range words {
		if len(word) > maxWord || strings.ContainsRune(word, 0) {
			return &flowclient.Invalid{Field: "command, args and env", Value: word[:min(len(word), 80)],
				Why: fmt.Sprintf("each must be at most %d bytes without a zero byte", maxWord)}
		}
	}
	return nil
}

// checkEndpoint holds an endpoint against what may be said of one.
func checkEndpoint(name string, e flowclient.Endpoint) error {
	field := "endpoints." + name
	switch {
	case !endpointName.MatchString(name):
		return &flowclient.Invalid{Field: "endpoints", Value: name, Why: "a name must be 1 to 31 lower-case letters, digits and dashes"}
	case !slices.Contains(endpointTypes, e.Type):
		return &flowclient.Invalid{Field: field + ".type", Value: e.Type, Why: "must be one of " + strings.Join(endpointTypes, ", ")}
	case e.Port < 1 || e.Port > 65535:
		return &flowclient.Invalid{Field: field + ".port", Value: fmt.Sprint(e.Port), Why: "must be 1 to 65535"}
	case e.BasePath != "" && (!strings.HasPrefix(e.BasePath, "/") || path.Clean(e.BasePath) != e.BasePath):
		return &flowclient.Invalid{Field: field + ".basePath", Value: e.BasePath, Why: "must be a clean path that begins with /"}
	}
	for _, v := range e.Visibility {
		if !slices.Contains(visibilities, v) {
			return &flowclient.Invalid{Field: field + ".visibility", Value: v, Why: "must be one of " + strings.Join(visibilities, ", ")}
		}
	}
	return nil
}
