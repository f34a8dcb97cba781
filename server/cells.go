package server

import (
	"context"
	"errors"

	"platform.dev/platform/flowclient/kubernetes"
	"platform.dev/platform/server/web"
)

// Kubernetes is the API server of a data plane's cluster.
type Kubernetes struct {
	URL       string // "https://127.0.0.1:6550"; empty: the embedded runtime tells of cells
	TokenFile string // holds the bearer token; empty: none is sent
	CAFile    string // certificates that the server's is signed by; empty: the machine's
}

// openCells opens the reader of the cells' quotas: of a cluster where one is
// configured, else of the embedded runtime, which answers like one.
func (r *rooms) openCells(_ context.Context, p *Platform) (err error) {
	cfg := kubernetes.Config{BaseURL: p.cfg.Kubernetes.URL, TokenFile: p.cfg.Kubernetes.TokenFile, CAFile: p.cfg.Kubernetes.CAFile, Log: p.log.With("part", "data plane")}
	if cfg.BaseURL == "" {
		r.dataPlane = web.NewMemory()
		cfg = kubernetes.Config{BaseURL: "http://dataplane" + hostAliases, Transport: web.Propagate(r.dataPlane.Transport()), Log: cfg.Log}
	}
	r.cells, err = kubernetes.New(cfg)
	return err
}

// serveCells answers for the embedded runtime's cells, in this process alone.
func (r *rooms) serveCells(p *Platform) []part {
	if r.dataPlane == nil {
		return nil
	}
	return []part{{"data plane (in memory)", func(ctx context.Context) error {
		err := web.Serve(ctx, r.dataPlane, r.runtime.Handler(), p.log)
		return errors.Join(err, r.dataPlane.Close())
	}}}
}
