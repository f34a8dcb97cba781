package controlplane

import (
	"net/http"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/web"
)

// step is a stage of a run as the status path names it.
type step struct {
	Name       string     `json:"name"`
	Phase      string     `json:"phase"`
	StartedAt  *time.Time `json:"startedAt,omitempty"`
	FinishedAt *time.Time `json:"finishedAt,omitempty"`
}

// runStatus answers GET workflowruns/{name}/status.
func (s *Server) runStatus(w http.ResponseWriter, r *http.Request) {
	o, err := get(r.Context(), s.db.Reader(), flowclient.KindWorkflowRun, r.PathValue("name"))
	if err != nil {
		s.answer(w, r, err)
		return
	}
	st, err := decode[flowclient.WorkflowRunStatus](o.status)
	if err != nil {
		s.answer(w, r, err)
		return
	}
	steps := make([]step, 0, len(st.Tasks))
	for _, t := range st.Tasks {
		steps = append(steps, step{Name: t.Name, Phase: t.Phase, StartedAt: t.StartedAt, FinishedAt: t.CompletedAt})
	}
	phase := phaseOf(st)
	web.JSON(w, http.StatusOK, struct {
		Status string `json:"status"`
		Steps  []step `json:"steps"`
		Live   bool   `json:"hasLiveObservability"`
	}{phase, steps, phase == flowclient.BuildRunning})
}
