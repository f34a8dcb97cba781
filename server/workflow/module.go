package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"platform.dev/platform/flowclient"
)

// defaultModuleRef is the module-ref of a run that names none.
const defaultModuleRef = "#main"

// refShape is that of a branch, a tag or a whole SHA. It cannot be taken for an option.
var refShape = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$`)

// fetchModule fetches the pipeline module, reads its pipeline.yaml and records
// the stages that the run will have. Only now are there names for them, so a
// failure here is the run's and not a stage's.
func (l *life) fetchModule(ctx context.Context) error {
	j, err := l.s.openLog(l.rec.Run, 0)
	if err != nil {
		return err
	}
	j.told = l.telling("")
	failure := l.readModule(ctx, j)
	if failure != nil {
		j.printf("%v", failure)
	}
	if err := j.close(); err != nil {
		return fmt.Errorf("write log: %w", err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if failure != nil {
		return &stageError{err: failure}
	}
	if err := l.s.book.plan(ctx, l.rec.Run, l.rec.ModuleCommit, l.module.names()); err != nil {
		return err
	}
	l.s.changed(l.rec.Run)
	return nil
}

// readModule fetches the module and parses its pipeline.yaml.
func (l *life) readModule(ctx context.Context, j *journal) error {
	ref := l.rec.moduleRef()
	name, ok := strings.CutPrefix(ref, "#")
	if !ok || !validRef(name) {
		return &flowclient.Invalid{Field: "module-ref", Value: ref, Why: "must be # and a branch, a tag or a whole SHA, as in #main or #v1.2.0"}
	}
	dir := filepath.Join(l.dir, "module")
	sha, err := l.fetch(ctx, fetching{dir: dir, url: l.s.cfg.Module, ref: name, commit: l.rec.ModuleCommit, line: j.line})
	if err != nil {
		return fmt.Errorf("pipeline module %s at %s: %w", l.s.cfg.Module, ref, err)
	}
	body, err := l.gitOutput(ctx, dir, maxPipelineBytes, "show", sha+":pipeline.yaml")
	if err == nil {
		l.module, err = parsePipeline([]byte(body))
	}
	if errors.Is(err, errTooMuch) {
		err = fmt.Errorf("pipeline.yaml: it is larger than %d bytes", maxPipelineBytes)
	}
	if err != nil {
		return fmt.Errorf("pipeline module %s at %s (%s): %w", l.s.cfg.Module, ref, sha, err)
	}
	l.rec.ModuleCommit = sha
	return nil
}

// moduleRef is the ref as asked for.
func (r record) moduleRef() string { return cmp.Or(r.Params.ModuleRef, defaultModuleRef) }

// validRef tells whether a name can be handed to git as a branch, tag or SHA.
func validRef(name string) bool {
	return refShape.MatchString(name) && !strings.Contains(name, "..")
}
