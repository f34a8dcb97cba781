// Package server assembles the platform: every embedded part, the controller,
// the bots and the announcer in one process, each part reached as its client
// would reach the real one. It decides who is wired to whom and in which order
// parts start and stop.
//
// It knows nothing of flags and the environment, nor of how a part works.
package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"platform.dev/platform/flowclient"
)

// Platform is the whole platform on one data directory.
type Platform struct {
	cfg   Config
	log   *slog.Logger // cfg.Log and the log store
	own   *ownLog
	data  *Data
	ports *Ports
	doors map[string]*door
	rooms rooms
	ready chan struct{}
}

// Address is a surface with its base URL.
type Address struct {
	Name, What, URL string
}

// Open claims the data directory, takes the ports and opens every part. Nothing
// is served and nothing runs before Run. An error leaves nothing behind.
func Open(ctx context.Context, cfg Config) (*Platform, error) {
	if cfg.Data == "" || cfg.Templates == nil || cfg.Now == nil || cfg.Log == nil {
		return nil, errors.New("server: Config needs Data, Templates, Now and Log")
	}
	own := &ownLog{now: cfg.Now}
	p := &Platform{cfg: cfg, log: own.logger(cfg.Log), own: own, ready: make(chan struct{})}
	if err := p.open(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Platform) open(ctx context.Context) error {
	var err error
	if p.data, err = Claim(p.cfg.Data); err != nil {
		return err
	}
	if p.ports, err = Listen(ctx, p.data, p.cfg.Ports); err != nil {
		return err
	}
	p.doors = newDoors(p.ports)
	if err := p.rooms.open(ctx, p); err != nil {
		return err
	}
	if err := p.rebase(ctx); err != nil {
		return fmt.Errorf("rebase: %w", err)
	}
	return p.writeSurfaces()
}

// rebase rewrites what is stored with ports that have changed. It is recorded
// before and after, so that one cut short is finished by the next start.
func (p *Platform) rebase(ctx context.Context) error {
	if moved := p.ports.Moved(); len(moved) > 0 {
		if err := p.ports.Move(p.data); err != nil {
			return err
		}
		if err := p.rooms.rebase(ctx, moved); err != nil {
			return err
		}
	}
	return p.ports.Store(p.data)
}

// Surfaces lists the surfaces in the order they are printed.
func (p *Platform) Surfaces() []Address {
	var all []Address
	for _, s := range surfaces {
		all = append(all, Address{Name: s.Name, What: s.What, URL: p.ports.URL(s.Name)})
	}
	return all
}

// writeSurfaces keeps each surface's base URL in surfaces.json, for people and programs beside the platform.
func (p *Platform) writeSurfaces() error {
	urls := map[string]string{}
	for _, s := range p.Surfaces() {
		urls[s.Name] = s.URL
	}
	text, err := json.MarshalIndent(urls, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(p.data.Path("surfaces.json"), append(text, '\n'), 0o600)
}

// Flow is the controller.
func (p *Platform) Flow() flowclient.Flow { return p.rooms.controller }

// Path is a path within the data directory.
func (p *Platform) Path(names ...string) string { return p.data.Path(names...) }

// Ready is closed once every part runs and what was deployed before answers again.
func (p *Platform) Ready() <-chan struct{} { return p.ready }

// Close gives up what Open took. Call it when Run has returned, or instead of Run.
func (p *Platform) Close() error {
	err := p.rooms.close()
	if p.ports != nil {
		err = errors.Join(err, p.ports.Close())
	}
	if p.data != nil {
		err = errors.Join(err, p.data.Close())
	}
	return err
}

// Run serves until ctx ends or a part fails, then stops everything in order:
// bots first, so that nothing new is begun; then the controller; then the
// planes; stores are closed by Close. It returns nil when ctx ended.
func (p *Platform) Run(ctx context.Context) error {
	l := newLayers(ctx)
	defer l.stop()
	started := make(chan error, 1)
	starting, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { started <- p.start(starting, l) }()
	select {
	case err := <-started:
		if err != nil && ctx.Err() == nil {
			return err
		}
	case err := <-l.failed:
		cancel()
		if late := <-started; late != nil {
			p.log.Info("the start ended with a part that failed", "error", late)
		}
		return err
	}
	if ctx.Err() == nil {
		close(p.ready)
	}
	return l.wait(ctx)
}

// start brings the layers up, each one when those below it are ready.
//
//nolint:contextcheck // layers end by stop, in their order, and not with ctx
func (p *Platform) start(ctx context.Context, l *layers) error {
	r := &p.rooms
	l.next("telemetry", part{"observer", r.telemetry.observer.Run})
	// What works comes above what serves: it stops first, with its calls
	// answered, and then all doors are closed together, so that slow clients
	// are waited for once.
	l.next("doors", p.serve("observer", "registry", "chat", "git", "api", "workflow")...)
	l.next("planes", append(r.serveCells(p), part{"chat", r.chat.Run}, part{"workflow", r.workflow.Run}, part{"runtime", r.runtime.Run})...)
	if err := r.seed(ctx, p.cfg.Templates); err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	l.next("control", part{"control plane", r.api.Run})
	// Applications answer once what was deployed before is back: until then
	// requests wait in the listener instead of getting a 404.
	if err := r.api.Synced(ctx); err != nil {
		return fmt.Errorf("control plane: first reconcile: %w", err)
	}
	l.next("applications", p.serve("gateway", "flow")...)
	l.next("controller", part{"controller", r.controller.Run}, part{"git hooks", r.git.Run}, part{"recorder", r.recorder.Run}, part{"compaction", r.compaction.Run})
	return r.startBots(ctx, l)
}
