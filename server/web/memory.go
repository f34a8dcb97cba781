package web

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// Memory is a listener without a network: Dial hands one end of a pipe to
// Accept. A real http.Server and http.Transport speak over it, so that a
// client in process and one elsewhere take the same path through the code.
type Memory struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// NewMemory makes a listener that accepts until it is closed.
func NewMemory() *Memory {
	return &Memory{conns: make(chan net.Conn), done: make(chan struct{})}
}

// Accept waits for the next Dial; net.ErrClosed after Close.
func (m *Memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.done:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and Dial.
func (m *Memory) Close() error {
	m.once.Do(func() { close(m.done) })
	return nil
}

// Addr is a name for logs.
func (m *Memory) Addr() net.Addr { return memoryAddr{} }

// Dial connects to whoever accepts.
func (m *Memory) Dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case m.conns <- server:
		return client, nil
	case <-m.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Transport sends every request, whatever its host, to this listener.
func (m *Memory) Transport() *http.Transport {
	return &http.Transport{
		DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return m.Dial(ctx) },
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     time.Minute,
	}
}

type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "memory" }
