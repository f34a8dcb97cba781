package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"platform.dev/platform/fixtures"
	"platform.dev/platform/server"
)

// upCmd starts the platform.
type upCmd struct {
	Data        string `help:"Data directory; made when absent, removed by deleting it." default:".platform" type:"path"`
	PortBase    *int   `help:"First of eight ports in a row; 0 takes free ones. Without it, the documented ports." placeholder:"N"`
	Rebase      bool   `help:"Choose ports anew and rewrite what is stored with the old ones."`
	Walkthrough string `help:"Post '@walkthrough TEMPLATE' as a person would, and show what happens." placeholder:"TEMPLATE"`
	Once        bool   `help:"Exit after the walkthrough: 0 when every step held."`

	MaxReviewEnvs int           `help:"Review environments at one time; 0 for none." default:"2" placeholder:"N"`
	ReviewTTL     time.Duration `name:"review-ttl" help:"Remove a review environment after so long without activity on its pull request; 0: only when it is closed." default:"0s" placeholder:"DURATION"`
	OTLP          string        `name:"otlp" help:"Send traces to this receiver as well (OTLP over HTTP), such as http://127.0.0.1:4318." placeholder:"URL"`
}

// Help is shown by platform up --help.
func (upCmd) Help() string {
	return `Examples:
  platform up                              everything on loopback, ports as documented
  platform up --walkthrough static         and watch a delivery happen
  platform up --walkthrough static --once  then exit: 0 when every step held, else 1`
}

// Validate refuses combinations that mean nothing.
func (u *upCmd) Validate() error {
	if u.Once && u.Walkthrough == "" {
		return errors.New("--once needs --walkthrough: without one there is nothing to wait for")
	}
	if u.MaxReviewEnvs < 0 || u.MaxReviewEnvs > 100 {
		return fmt.Errorf("--max-review-envs %d: give a number from 0 to 100", u.MaxReviewEnvs)
	}
	if u.ReviewTTL < 0 {
		return fmt.Errorf("--review-ttl %s: give a duration that is not negative", u.ReviewTTL)
	}
	if u.PortBase != nil && *u.PortBase != 0 && (*u.PortBase < 1024 || *u.PortBase > 65000) {
		return fmt.Errorf("--port-base %d: give a port from 1024 to 65000, or 0 for free ones", *u.PortBase)
	}
	return nil
}

// Run serves until ctx ends or, with --once, until the walkthrough has.
func (u *upCmd) Run(ctx context.Context, t terminal, log *slog.Logger) error {
	begun := time.Now()
	reviews := u.MaxReviewEnvs
	if reviews == 0 {
		reviews = -1 // none; 0 would be the default
	}
	p, err := server.Open(ctx, server.Config{
		Data:      u.Data,
		Ports:     server.PortChoice{Base: u.PortBase, Rebase: u.Rebase},
		Templates: fixtures.Templates(),
		OTLP:      u.OTLP, MaxReviews: reviews, ReviewTTL: u.ReviewTTL,
		Now: time.Now,
		Log: log,
	})
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- errors.Join(p.Run(serving), p.Close()) }()
	select {
	case err := <-done:
		return err
	case <-p.Ready():
	}
	greet(t, p, time.Since(begun))

	var project string
	var failed error
	if u.Walkthrough != "" {
		project, failed = u.walk(ctx, t, p, done)
	}
	if u.Once {
		stop()
		return errors.Join(failed, <-done)
	}
	switch {
	case failed == nil:
		farewell(ctx, t, p, project)
	case !errors.Is(failed, errStopped):
		fmt.Fprintf(t.Err, "platform: %v\nStill serving; Ctrl-C stops.\n", failed)
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	fmt.Fprintln(t.Out, "\nstopping ... (Ctrl-C again ends it at once; the next start recovers)")
	err = <-done
	fmt.Fprintln(t.Out, "stopped")
	return err
}

// greet prints one line per surface.
func greet(t terminal, p *server.Platform, took time.Duration) {
	fmt.Fprintf(t.Out, "platform is up after %.1f s; data in %s\n\n", took.Seconds(), p.Path())
	for _, s := range p.Surfaces() {
		fmt.Fprintf(t.Out, "  %-9s %-24s %s\n", s.Name, s.URL, s.What)
	}
	for _, note := range p.Notes() {
		fmt.Fprintf(t.Out, "  note: %s\n", note)
	}
	fmt.Fprintln(t.Out)
}
