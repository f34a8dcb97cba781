package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"go.yaml.in/yaml/v3"

	"platform.dev/platform/flowclient"
)

// seed makes what a fresh platform has: the pipeline module's repository and
// the objects of the world templates. What exists already is left as it is.
func (r *rooms) seed(ctx context.Context, templates fs.FS) error {
	if err := r.seedModule(ctx, templates); err != nil {
		if ctx.Err() != nil {
			return err
		}
		// Builds need it. What is deployed does not, and must answer again.
		r.notes = append(r.notes, fmt.Sprintf("builds will fail until the pipeline module is back: repository %s: %v", pipelineRepo, err))
	}
	objects, err := worldObjects(templates)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if _, err := r.plane.Create(ctx, o); err != nil && !errors.Is(err, flowclient.ErrExists) {
			return fmt.Errorf("%s %s: %w", o.Kind, o.Metadata.Name, err)
		}
	}
	return nil
}

// seedModule makes the pipeline module's repository with its first commit.
func (r *rooms) seedModule(ctx context.Context, templates fs.FS) error {
	module, err := fs.Sub(templates, "pipeline")
	if err != nil {
		return err
	}
	if _, err := r.git.EnsureRepository(ctx, pipelineRepo, "The pipeline module: the stages of every build", false); err != nil {
		return err
	}
	return r.git.Seed(ctx, pipelineRepo, module, "Start the pipeline module")
}

// worldObjects reads world/*.yaml, several documents a file, in the order in which they depend on each other.
func worldObjects(templates fs.FS) ([]flowclient.Object, error) {
	files, err := fs.Glob(templates, "world/*.yaml")
	if err != nil {
		return nil, err
	}
	var objects []flowclient.Object
	for _, name := range files {
		text, err := fs.ReadFile(templates, name)
		if err != nil {
			return nil, err
		}
		for dec := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var doc map[string]any
			if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			o, err := toObject(doc)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			objects = append(objects, o)
		}
	}
	order := []flowclient.Kind{flowclient.KindEnvironment, flowclient.KindDeploymentPipeline, flowclient.KindClusterProjectType, flowclient.KindClusterWorkflow, flowclient.KindClusterComponentType}
	slices.SortStableFunc(objects, func(a, b flowclient.Object) int {
		return slices.Index(order, a.Kind) - slices.Index(order, b.Kind)
	})
	return objects, nil
}

func toObject(doc map[string]any) (flowclient.Object, error) {
	text, err := json.Marshal(doc)
	if err != nil {
		return flowclient.Object{}, err
	}
	var o flowclient.Object
	return o, json.Unmarshal(text, &o)
}
