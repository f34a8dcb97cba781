package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
)

// Surface is one address of the platform.
type Surface struct {
	Name string // as in surfaces.json
	Port int    // the interface document's where it gives one
	What string // for the line printed at start
}

// surfaces lists every surface in the order they are printed. A surface's place
// in the list is its offset from --port-base.
var surfaces = []Surface{
	{Name: "flow", Port: 8090, What: "flow controller"},
	{Name: "api", Port: 8080, What: "control plane"},
	{Name: "git", Port: 3001, What: "git server"},
	{Name: "chat", Port: 9991, What: "chat"},
	{Name: "gateway", Port: 19080, What: "applications"},
	{Name: "registry", Port: 10082, What: "images"},
	{Name: "workflow", Port: 10081, What: "builds"},
	{Name: "observer", Port: 11080, What: "traces and logs"},
}

// Ports holds the listeners of all surfaces, opened before anything starts.
type Ports struct {
	listeners map[string]net.Listener
	moved     map[string]string // old base URL to new, after a rebase
	stored    book
}

// PortChoice says where surfaces listen when the data directory has no ports yet, or is rebased.
type PortChoice struct {
	Base   *int // nil: the document's ports; 0: free ones; else Base, Base+1, ...
	Rebase bool // choose anew although ports are stored
}

// book is ports.json. Moving holds the ports that a rebase was moving to when
// it did not finish: what is stored may then speak of either.
type book struct {
	Ports  map[string]int `json:"ports"`
	Moving map[string]int `json:"moving,omitempty"`
}

// Listen opens every surface's listener on loopback. Ports are chosen once and
// kept in ports.json, because clone URLs, images and hooks are stored with
// them; a taken one is an error naming the port and --rebase.
func Listen(ctx context.Context, d *Data, choice PortChoice) (*Ports, error) {
	stored, err := readBook(d.Path("ports.json"))
	if err != nil {
		return nil, err
	}
	last := stored.Ports
	if stored.Moving != nil {
		last = stored.Moving
	}
	if err := choice.check(last); err != nil {
		return nil, err
	}
	ports := &Ports{listeners: map[string]net.Listener{}, moved: map[string]string{}, stored: stored}
	for i, s := range surfaces {
		port := wanted(s, i, last, choice)
		l, err := listen(ctx, port, func(port int) bool { return stored.others(s.Name, port) })
		if err != nil {
			return nil, errors.Join(taken(s, port, len(last) > 0, err), ports.Close())
		}
		ports.listeners[s.Name] = l
		for _, earlier := range []map[string]int{stored.Ports, stored.Moving} {
			if old, ok := earlier[s.Name]; ok && old != ports.Port(s.Name) {
				ports.moved["http://127.0.0.1:"+strconv.Itoa(old)] = ports.URL(s.Name)
			}
		}
	}
	return ports, nil
}

// check refuses a base that leaves the range of ports that need no privilege,
// or that disagrees with the ports that are stored.
func (c PortChoice) check(stored map[string]int) error {
	if c.Base == nil || *c.Base == 0 {
		return nil
	}
	if most := 65536 - len(surfaces); *c.Base < 1024 || *c.Base > most {
		return fmt.Errorf("port base %d: give a port from 1024 to %d, or 0 for free ones", *c.Base, most)
	}
	for i, s := range surfaces {
		port, ok := stored[s.Name]
		if ok && port != *c.Base+i && !c.Rebase {
			return fmt.Errorf("port base %d: this data directory has ports of its own already (%s is on %d), and what is stored speaks of them; add --rebase to move it, or leave --port-base out", *c.Base, s.Name, port)
		}
		for _, other := range surfaces {
			if other != s && stored[other.Name] == *c.Base+i {
				return fmt.Errorf("port base %d: %s would move to port %d, which %s has now, and what is stored could not be told apart; choose a base whose %d ports are not in use here",
					*c.Base, s.Name, *c.Base+i, other.Name, len(surfaces))
			}
		}
	}
	return nil
}

// others tells whether a port is, or is becoming, that of another surface.
// While a rebase can be cut short and done again, a port must mean one surface.
func (b book) others(name string, port int) bool {
	for _, ports := range []map[string]int{b.Ports, b.Moving} {
		for other, p := range ports {
			if other != name && p == port {
				return true
			}
		}
	}
	return false
}

// listen opens a port on loopback; 0 opens a free one that is not to be avoided.
func listen(ctx context.Context, port int, avoid func(port int) bool) (net.Listener, error) {
	var passed []net.Listener // kept open, so that none is given twice
	defer func() {
		for _, l := range passed {
			_ = l.Close()
		}
	}()
	for {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil || port != 0 {
			return l, err
		}
		if a, ok := l.Addr().(*net.TCPAddr); !ok || !avoid(a.Port) {
			return l, nil
		}
		passed = append(passed, l)
	}
}

// wanted is the port to ask for; 0 asks for a free one.
func wanted(s Surface, offset int, stored map[string]int, choice PortChoice) int {
	if port, ok := stored[s.Name]; ok && !choice.Rebase {
		return port
	}
	switch {
	case choice.Base == nil && choice.Rebase:
		return 0
	case choice.Base == nil:
		return s.Port
	case *choice.Base == 0:
		return 0
	default:
		return *choice.Base + offset
	}
}

func taken(s Surface, port int, stored bool, err error) error {
	advice := "stop what uses it, or choose others with --port-base N (0: free ones)"
	if stored {
		advice = "stop what uses it, or start with --rebase, which chooses free ports and rewrites what is stored with the old ones"
	}
	return fmt.Errorf("port %d (%s, %s) cannot be taken: %s: %w", port, s.Name, s.What, advice, err)
}

func readBook(path string) (book, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return book{}, nil
	}
	if err != nil {
		return book{}, fmt.Errorf("stored ports: %w", err)
	}
	var b book
	if err := json.Unmarshal(text, &b); err != nil {
		return book{}, fmt.Errorf("stored ports %s: %w", path, err)
	}
	return b, nil
}

// Move records in ports.json that what is stored is being rewritten to these ports.
func (p *Ports) Move(d *Data) error {
	return p.write(d, book{Ports: p.stored.Ports, Moving: p.numbers()})
}

// Store keeps the ports in ports.json. It is called once everything stored speaks of them.
func (p *Ports) Store(d *Data) error { return p.write(d, book{Ports: p.numbers()}) }

func (p *Ports) write(d *Data, b book) error {
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(d.Path("ports.json"), append(text, '\n'), 0o600)
}

func (p *Ports) numbers() map[string]int {
	numbers := map[string]int{}
	for name := range p.listeners {
		numbers[name] = p.Port(name)
	}
	return numbers
}

// Moved maps base URLs of the last start to those of this one; empty unless a port changed.
func (p *Ports) Moved() map[string]string { return p.moved }

// Port is a surface's port number.
func (p *Ports) Port(name string) int {
	addr, ok := p.listeners[name].Addr().(*net.TCPAddr)
	if !ok {
		return 0
	}
	return addr.Port
}

// Addr is a surface's host:port.
func (p *Ports) Addr(name string) string { return p.listeners[name].Addr().String() }

// URL is a surface's base URL.
func (p *Ports) URL(name string) string { return "http://" + p.Addr(name) }

// Close closes the listeners that are still open.
func (p *Ports) Close() error {
	var errs []error
	for _, l := range p.listeners {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
