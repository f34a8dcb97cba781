package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// layers runs parts in an order and stops them in the reverse one: what hears
// people stops before what it calls, and listeners stop before the stores they
// write to. Every goroutine belongs to a layer, which waits for it.
type layers struct {
	base   context.Context // ends only by stop, so that the order is kept
	stack  []*layer
	failed chan error
}

type layer struct {
	name   string
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func newLayers(ctx context.Context) *layers {
	return &layers{base: context.WithoutCancel(ctx), failed: make(chan error, 1)}
}

// next opens a layer above those there are and starts its parts.
func (l *layers) next(name string, parts ...part) {
	ctx, cancel := context.WithCancel(l.base)
	opened := &layer{name: name, cancel: cancel}
	l.stack = append(l.stack, opened)
	for _, p := range parts {
		opened.wg.Go(func() {
			if err := p.run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				l.fail(fmt.Errorf("%s: %w", p.name, err))
			}
		})
	}
}

// part is something that runs until its context ends.
type part struct {
	name string
	run  func(context.Context) error
}

// fail keeps the first failure: one broken part ends the platform.
func (l *layers) fail(err error) {
	select {
	case l.failed <- err:
	default:
	}
}

// wait returns when ctx ends (nil) or a part fails.
func (l *layers) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-l.failed:
		return err
	}
}

// stop ends the layers, the newest first, waiting for each.
func (l *layers) stop() {
	for i := len(l.stack) - 1; i >= 0; i-- {
		l.stack[i].cancel()
		l.stack[i].wg.Wait()
	}
	l.stack = nil
}
