package workflow

import (
	"net/http"

	"platform.dev/platform/flowclient"
)

// shownLines is how many lines of a stage its page shows.
const shownLines = 500

// runPage is a run with its logs.
type runPage struct {
	runView
	Narrowed string      // the ci_stage that the page is narrowed to
	Before   []Line      // what was said before the first stage
	Parts    []stagePart // the stages shown, in order
}

// stagePart is a stage on a run's page.
type stagePart struct {
	flowclient.Task
	Lines []Line
	Older int // lines before these
}

// Took is how long the stage has taken; empty while it is under way.
func (p stagePart) Took() string { return took(p.StartedAt, p.CompletedAt) }

// loadRun reads a run without its logs.
func (s *Server) loadRun(r *http.Request) (any, error) {
	rec, err := s.book.load(r.Context(), r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	return s.show(rec), nil
}

// loadRunPage reads a run with the newest lines of its stages, or of the one that ci_stage names.
func (s *Server) loadRunPage(r *http.Request) (any, error) {
	rec, err := s.book.load(r.Context(), r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	p := runPage{runView: s.show(rec), Narrowed: r.URL.Query().Get("ci_stage")}
	lines, err := s.Log(r.Context(), rec.Run, p.Narrowed)
	if err != nil {
		return nil, err
	}
	byStage := map[string][]Line{}
	for _, l := range lines {
		byStage[l.Stage] = append(byStage[l.Stage], l)
	}
	p.Before = byStage[""]
	for _, t := range rec.Stages {
		if p.Narrowed != "" && p.Narrowed != t.Name {
			continue
		}
		part := stagePart{Task: t, Lines: byStage[t.Name]}
		part.Older = max(0, len(part.Lines)-shownLines)
		part.Lines = part.Lines[part.Older:]
		p.Parts = append(p.Parts, part)
	}
	return p, nil
}
