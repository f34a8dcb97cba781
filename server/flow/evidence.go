package flow

import (
	"context"
	"net/http"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/wire"
)

func (s *Server) buildEvidence(r *http.Request, _ []byte) (int, any, error) {
	return read(r, func(ctx context.Context) (flowclient.Evidence, error) {
		return s.cfg.Flow.EvidenceOfBuild(ctx, r.PathValue("run"))
	})
}

func (s *Server) bindingEvidence(r *http.Request, _ []byte) (int, any, error) {
	return read(r, func(ctx context.Context) (flowclient.Evidence, error) {
		return s.cfg.Flow.EvidenceOfBinding(ctx, r.PathValue("name"))
	})
}

func (s *Server) flowEvidence(r *http.Request, _ []byte) (int, any, error) {
	trace, err := wire.FlowTrace(r.URL.RawQuery)
	if err != nil {
		return 0, nil, err
	}
	evidence, err := s.cfg.Flow.EvidenceOfFlow(r.Context(), trace)
	return http.StatusOK, evidence, err
}
