package flowclient

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

const (
	evidentLines  = 20 // of each stage
	evidentBuilds = 10 // whose logs are shown, the newest
)

// logs adds the last lines of each stage of the builds that ran. What cannot be
// read is said, and is no reason to withhold the rest.
func (q *inquiry) logs(ctx context.Context) {
	builds := q.evidence.Builds
	for _, b := range builds[max(0, len(builds)-evidentBuilds):] {
		for _, stage := range b.Stages {
			if stage.StartedAt == nil && stage.Phase != BuildSucceeded && stage.Phase != BuildFailed && stage.Phase != BuildRunning {
				continue // it did not run
			}
			lines, err := q.c.BuildLog(ctx, b.Run, stage.Name, evidentLines)
			if err != nil {
				q.note("The log of stage %s of %s could not be read: %v.", stage.Name, b.Run, err)
				continue
			}
			q.evidence.Logs = append(q.evidence.Logs, StageLog{Run: b.Run, Stage: stage.Name, Phase: stage.Phase, Lines: lines})
		}
	}
}

// services adds the names of the services whose spans a trace has.
func (q *inquiry) services(ctx context.Context, traceID string) {
	if q.c.deps.Telemetry == nil {
		return
	}
	trace, err := q.c.deps.Telemetry.Trace(ctx, traceID)
	switch {
	case IsNotFound(err):
		q.note("No span of the trace is kept.")
	case err != nil:
		q.note("The spans of the trace could not be read: %v.", err)
	}
	names := []string{}
	for _, span := range trace.Spans {
		names = append(names, span.Service)
	}
	slices.Sort(names)
	q.evidence.Services = unique(names)
}

// note says once what is not shown.
func (q *inquiry) note(format string, args ...any) {
	if text := strings.ToValidUTF8(fmt.Sprintf(format, args...), "?"); !slices.Contains(q.evidence.Notes, text) {
		q.evidence.Notes = append(q.evidence.Notes, text)
	}
}

// pullLink is the page of the pull request that an event is about.
func pullLink(e Event) string {
	var body struct {
		Pull Pull `json:"pull"`
	}
	if !strings.HasPrefix(e.Kind, "pull.") && !strings.HasPrefix(e.Kind, "review.") || json.Unmarshal(e.Body, &body) != nil {
		return ""
	}
	return body.Pull.URL
}

// page is the page of the repository that is cloned from an address.
func page(cloneURL string) string {
	if !strings.HasPrefix(cloneURL, "http://") && !strings.HasPrefix(cloneURL, "https://") {
		return ""
	}
	return strings.TrimSuffix(cloneURL, ".git")
}
