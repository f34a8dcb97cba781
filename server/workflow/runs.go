package workflow

import (
	"net/http"
	"time"

	"platform.dev/platform/flowclient"
)

// runView is a run as pages and their twins show it.
type runView struct {
	Run         string            `json:"run"`
	Project     string            `json:"project"`
	Component   string            `json:"component"`
	Phase       string            `json:"phase"`
	Message     string            `json:"message,omitempty"`
	FailedStage string            `json:"failedStage,omitempty"`
	Repository  string            `json:"repository"`
	Commit      string            `json:"commit,omitempty"` // whole, once resolved
	Module      moduleView        `json:"module"`
	Image       string            `json:"image,omitempty"` // by digest
	CreatedAt   time.Time         `json:"createdAt"`
	StartedAt   *time.Time        `json:"startedAt,omitempty"`
	CompletedAt *time.Time        `json:"completedAt,omitempty"`
	Stages      []flowclient.Task `json:"stages"`
}

// moduleView is the pipeline module that a run uses.
type moduleView struct {
	URL    string `json:"url"`
	Ref    string `json:"ref"`
	Commit string `json:"commit,omitempty"` // whole, once resolved
}

// runsView is the list of runs.
type runsView struct {
	Runs []runView `json:"runs"` // newest first
}

// Moving tells whether the list will change by itself.
func (v runsView) Moving() bool {
	for _, r := range v.Runs {
		if r.CompletedAt == nil {
			return true
		}
	}
	return false
}

// Took is how long the run has taken; empty while it is under way.
func (v runView) Took() string { return took(v.StartedAt, v.CompletedAt) }

// took is the time between two instants, for people.
func took(from, to *time.Time) string {
	if from == nil || to == nil {
		return ""
	}
	d := to.Sub(*from)
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

// show makes a record into what is shown.
func (s *Server) show(rec record) runView {
	v := runView{
		Run: rec.Run, Project: rec.Project, Component: rec.Component, Phase: rec.Phase, Message: rec.Message,
		FailedStage: rec.failed(), Repository: rec.Params.Repository.URL, Commit: rec.Commit, Image: rec.Image,
		Module:    moduleView{URL: s.cfg.Module, Ref: rec.moduleRef(), Commit: rec.ModuleCommit},
		CreatedAt: rec.CreatedAt, StartedAt: rec.StartedAt, CompletedAt: rec.CompletedAt, Stages: rec.Stages,
	}
	if v.Stages == nil {
		v.Stages = []flowclient.Task{}
	}
	return v
}

// loadRuns reads the newest runs.
func (s *Server) loadRuns(r *http.Request) (any, error) {
	limit, err := number(r, "limit", 50, 500)
	if err != nil {
		return nil, err
	}
	recs, err := s.book.recent(r.Context(), limit)
	if err != nil {
		return nil, err
	}
	v := runsView{Runs: make([]runView, 0, len(recs))}
	for _, rec := range recs {
		v.Runs = append(v.Runs, s.show(rec))
	}
	return v, nil
}
