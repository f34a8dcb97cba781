package flowclient

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// commits adds the commits that the project's repositories have; one that a
// repository has no longer is left out.
func (q *inquiry) commits(ctx context.Context, project string, shas []string) error {
	components, err := q.list(ctx, KindComponent)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, o := range components {
		var spec ComponentSpec
		if err := o.Decode(&spec, nil); err != nil {
			return err
		}
		repo, err := repositoryOf(o)
		if err != nil || spec.Owner.ProjectName != project {
			continue
		}
		for _, sha := range shas {
			if sha == "" || known[repo+sha] {
				continue
			}
			known[repo+sha] = true
			commit, err := q.c.deps.Git.Commit(ctx, repo, sha)
			if IsNotFound(err) {
				continue
			}
			if err != nil {
				return fmt.Errorf("commit %s: %w", ShortSHA(sha), err)
			}
			q.evidence.Commits = append(q.evidence.Commits, commit)
			url, err := cloneURL(o)
			if err != nil {
				return err
			}
			q.evidence.Links = append(q.evidence.Links, page(url), commit.WebURL)
		}
	}
	return nil
}

// builds adds the builds of a commit, of one component or ("") of all, and gives their names.
func (q *inquiry) builds(ctx context.Context, component, sha string) (runs []string, err error) {
	all, err := q.list(ctx, KindWorkflowRun)
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		b, err := q.c.buildOf(o)
		if err != nil {
			return nil, err
		}
		if sha != "" && b.Commit == sha && (component == "" || b.Component == component) {
			q.evidence.Builds = append(q.evidence.Builds, b)
			q.add(KindWorkflowRun, o)
			runs = append(runs, b.Run)
		}
	}
	return runs, nil
}

// releases adds the releases of a commit, of one component or ("") of all, and gives their names.
func (q *inquiry) releases(ctx context.Context, component, sha string) (names []string, err error) {
	all, err := q.list(ctx, KindComponentRelease)
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		r, err := releaseOf(o)
		if err != nil {
			return nil, err
		}
		if sha != "" && r.Commit == sha && (component == "" || r.Of == component) {
			q.add(KindComponentRelease, o)
			names = append(names, r.Name)
		}
	}
	return names, nil
}

// bindingsOf adds the bindings that run one of the releases, with their addresses.
func (q *inquiry) bindingsOf(ctx context.Context, releases []string) error {
	all, err := q.list(ctx, KindReleaseBinding)
	if err != nil {
		return err
	}
	for _, o := range all {
		b, err := bindingOf(o)
		if err != nil {
			return err
		}
		if slices.Contains(releases, b.spec.ReleaseName) {
			q.add(KindReleaseBinding, o)
			q.evidence.Links = append(q.evidence.Links, b.url())
		}
	}
	return nil
}

func (q *inquiry) list(ctx context.Context, kind Kind) ([]Object, error) {
	if objects, read := q.objects[kind]; read {
		return objects, nil
	}
	objects, err := q.c.deps.ControlPlane.List(ctx, kind, Filter{})
	q.objects[kind] = objects
	return objects, wrap(err, "list %s", kind)
}

// add adds an object as it stands.
func (q *inquiry) add(kind Kind, o Object) {
	o.Kind = kind
	q.evidence.Objects = append(q.evidence.Objects, o)
}

// originOf is who asked for an intent, and how.
func originOf(in Intent) Origin {
	var body struct {
		Origin  Origin `json:"origin"`
		Request struct {
			Origin Origin `json:"origin"`
		} `json:"request"`
	}
	if json.Unmarshal(in.Body, &body) != nil {
		return Origin{}
	}
	return cmp.Or(body.Origin, body.Request.Origin)
}

// projectOf is the project that an intent is about, "" when it is about none or several.
func projectOf(in Intent) string {
	var body struct {
		Project string `json:"project"`
	}
	if json.Unmarshal(in.Body, &body) != nil {
		return ""
	}
	return body.Project
}

// unique drops what is empty or was there before.
func unique(all []string) []string {
	var kept []string
	for _, one := range all {
		if one != "" && !slices.Contains(kept, one) {
			kept = append(kept, one)
		}
	}
	return kept
}
