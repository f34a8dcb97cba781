package flow

import (
	"context"
	"errors"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

// syncKind is the kind under which deliveries to /sync are recorded.
const syncKind = "sync"

// manifestsEvent is the name of the span event with a sync's result, and of the commit status that says the same.
const manifestsEvent = "platform/manifests"

// sync applies a repository's manifests: those of the branch that a strict body
// names, or of the default branch when a delivery tells that it was pushed.
func (s *Server) sync(r *http.Request, body []byte) (int, any, error) {
	h, is, err := s.hear(r, body)
	switch {
	case err != nil:
		return 0, nil, err
	case !is:
		req, err := request[wire.SyncBody](r, h.body)
		if err != nil {
			return 0, nil, err
		}
		synced, err := s.cfg.Flow.Sync(r.Context(), req)
		if err == nil {
			traced(r.Context(), synced)
		}
		return http.StatusOK, wire.SyncAnswer{Synced: synced}, err
	case !h.isPush():
		return 0, nil, &flowclient.Invalid{Field: h.event, Value: h.name, Why: "is not taken here: send " + h.push + " deliveries to " + wire.SyncPath + " and the others to " + wire.HookPath}
	}
	pushed, err := wire.DecodePush(h.body)
	if err != nil {
		return 0, nil, err
	}
	if _, err := s.wake(r.Context(), syncKind, h, pushed); err != nil {
		return 0, nil, err
	}
	answer, err := s.apply(r, h.id, pushed)
	return http.StatusOK, answer, err
}

// apply applies the manifests of a pushed default branch. The delivery's id is
// the origin's key, so that a delivery sent again finds what was recorded or
// finishes what was begun. A decision against it is told and is no error: the
// sender would repeat the delivery, and hear the same again.
func (s *Server) apply(r *http.Request, id string, pushed wire.PushBody) (wire.SyncAnswer, error) {
	repo := pushed.Repository.FullName
	answer := wire.SyncAnswer{Synced: flowclient.Synced{Repo: repo, Commit: pushed.After}}
	branch, ok := pushed.Manifests()
	if !ok {
		answer.Note = "only pushes of the default branch apply manifests"
		return answer, nil
	}
	synced, err := s.cfg.Flow.Sync(r.Context(), flowclient.SyncRequest{
		Origin: flowclient.Origin{Key: "push:" + id, Who: pushed.Who(), Trace: wire.Trace(r.Header)}, Repo: repo, Ref: branch,
	})
	var decided interface{ Refused() string }
	switch {
	case errors.As(err, &decided):
		answer.Note = decided.Refused()
		return answer, nil
	case err != nil:
		return wire.SyncAnswer{}, err
	case len(synced.Objects) == 0: // nothing is recorded of that, so the answer tells of this push alone
		answer.Note = "there are no manifests"
		return answer, nil
	}
	answer.Synced = synced
	traced(r.Context(), synced)
	return answer, nil
}

// traced puts the result on the request's span (interface document, Inbound events).
func traced(ctx context.Context, synced flowclient.Synced) {
	trace.SpanFromContext(ctx).AddEvent(manifestsEvent, trace.WithAttributes(
		attribute.String("repo", synced.Repo), attribute.String("commit", synced.Commit),
		attribute.Int("created", synced.Created), attribute.Int("updated", synced.Updated),
		attribute.Int("skipped", synced.Skipped), attribute.Int("refused", synced.Refused),
	))
}
