package server

import (
	"context"

	"platform.dev/platform/commands"
	"platform.dev/platform/commands/all"
	"platform.dev/platform/commands/exec"
)

// openCommands registers the commands of this binary and those of the programs
// beside it. A program that is left out is a note for whoever started this.
func (r *rooms) openCommands(ctx context.Context, p *Platform) (*commands.Registry, error) {
	own, err := all.Commands(all.Deps{
		Flow: r.controller, Fetch: fetch, Now: p.cfg.Now, Stream: StreamWalkthroughs,
	})
	if err != nil {
		return nil, err
	}
	if p.cfg.Commands == "" {
		return commands.NewRegistry(own...)
	}
	programs, err := exec.Open(ctx, exec.Config{Dir: p.cfg.Commands, Ledger: r.store, Beside: own, Now: p.cfg.Now, Log: p.log.With("part", "programs")})
	if err != nil {
		return nil, err
	}
	for _, out := range programs.LeftOut {
		r.notes = append(r.notes, out.String())
	}
	return commands.NewRegistry(append(own, programs.Commands...)...)
}
