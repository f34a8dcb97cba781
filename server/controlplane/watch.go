package controlplane

import (
	"context"

	"platform.dev/platform/flowclient"
)

// A watch says whom a changed object concerns, besides itself.
type watch struct {
	wakes flowclient.Kind
	// by picks the objects of that kind: those whose refs have these values. The
	// value "name" is the changed object's name, any other what it names under that field.
	by map[string]string
	// owner is the field under which the changed object names the one to wake; used instead of by.
	owner string
}

const itsName = "name"

// watches is the table of who depends on whom. An object with a controller is always woken itself.
func watches() map[flowclient.Kind][]watch {
	owner := func(kind flowclient.Kind, field string) watch { return watch{wakes: kind, owner: field} }
	named := func(kind flowclient.Kind, field string) watch {
		return watch{wakes: kind, by: map[string]string{field: itsName}}
	}
	return map[flowclient.Kind][]watch{
		flowclient.KindProject:               {named(flowclient.KindComponent, refProject), named(flowclient.KindProjectReleaseBinding, refProject)},
		flowclient.KindComponent:             {owner(flowclient.KindProject, refProject)},
		flowclient.KindResource:              {owner(flowclient.KindProject, refProject)},
		flowclient.KindWorkload:              {owner(flowclient.KindComponent, refComponent)},
		flowclient.KindComponentRelease:      {named(flowclient.KindReleaseBinding, refRelease)},
		flowclient.KindReleaseBinding:        {owner(flowclient.KindComponent, refComponent)},
		flowclient.KindProjectReleaseBinding: {owner(flowclient.KindProject, refProject), {wakes: flowclient.KindReleaseBinding, by: map[string]string{refProject: refProject, refEnvironment: refEnvironment}}},
		flowclient.KindEnvironment:           {named(flowclient.KindProjectReleaseBinding, refEnvironment), named(flowclient.KindReleaseBinding, refEnvironment)},
		flowclient.KindDeploymentPipeline:    {named(flowclient.KindProject, refPipeline)},
		flowclient.KindClusterProjectType:    {{wakes: flowclient.KindProjectReleaseBinding}}, // whichever project's
		flowclient.KindClusterComponentType:  {named(flowclient.KindComponent, refType)},
	}
}

// notify tells of a commit's changes and wakes who depends on them. What is
// missed here because the process ends is found by the first pass of the next one.
func (s *Server) notify(ctx context.Context, changed []change) {
	for _, c := range changed {
		s.changed(c.object.kind, c.object.name)
		if c.statusOnly {
			continue
		}
		s.Wake(c.object.kind, c.object.name)
		for _, w := range s.watches[c.object.kind] {
			if err := s.wakeDependents(ctx, c.object, w); err != nil {
				s.log.Warn("wake", "kind", w.wakes, "because of", c.object.name, "error", err)
			}
		}
	}
}

func (s *Server) wakeDependents(ctx context.Context, o object, w watch) error {
	if w.owner != "" {
		if name := s.ref(o, w.owner); name != "" {
			s.Wake(w.wakes, name)
		}
		return nil
	}
	refs := map[string]string{}
	for field, from := range w.by {
		if from == itsName {
			refs[field] = o.name
		} else {
			refs[field] = s.ref(o, from)
		}
	}
	dependents, err := find(ctx, s.db.Reader(), selection{kind: w.wakes, refs: refs})
	if err != nil {
		return err
	}
	for _, d := range dependents {
		s.Wake(d.kind, d.name)
	}
	return nil
}
