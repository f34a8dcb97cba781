package server

import (
	"context"
	"errors"
	"net"
	"net/http"

	"platform.dev/platform/server/web"
)

// door is a surface's two entrances: its TCP port, and a listener in memory for
// clients in this process. Both lead to the same handler.
type door struct {
	tcp     net.Listener
	memory  *web.Memory
	handler http.Handler
}

func newDoors(p *Ports) map[string]*door {
	doors := map[string]*door{}
	for _, s := range surfaces {
		doors[s.Name] = &door{tcp: p.listeners[s.Name], memory: web.NewMemory()}
	}
	return doors
}

// transport reaches a surface without the network.
func (p *Platform) transport(name string) *http.Transport { return p.doors[name].memory.Transport() }

// guard is checked for a surface that is well while it answers at all.
func guard(surface string, h http.Handler) http.Handler { return checked(surface, web.Health(nil, h)) }

// checked puts the checks at the door of a surface before its handler, which
// answers for its health itself: known Hosts, no cross-origin writes. The surface
// answers to the loopback names and to its own, <surface>.platform.localhost,
// which is what a caller names in the Host header who reaches it through an alias
// of the host. The gateway has its own checks: its Hosts are the applications'.
func checked(surface string, h http.Handler) http.Handler {
	return web.Hosts([]string{surface + hostAliases}, web.SameOrigin(h))
}

// serve gives the parts that serve the named surfaces.
func (p *Platform) serve(names ...string) []part {
	var parts []part
	for _, name := range names {
		d, handler := p.doors[name], p.rooms.telemetry.front(name, p.doors[name].handler)
		parts = append(parts,
			part{name, func(ctx context.Context) error { return web.Serve(ctx, d.tcp, handler, p.log) }},
			part{name + " (in memory)", func(ctx context.Context) error {
				err := web.Serve(ctx, d.memory, handler, p.log)
				return errors.Join(err, d.memory.Close())
			}})
	}
	return parts
}
