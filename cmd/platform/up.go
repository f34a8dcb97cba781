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
	PortBase    *int   `help:"First of seven ports in a row; 0 takes free ones. Without it, the documented ports." placeholder:"N"`
	Rebase      bool   `help:"Choose ports anew and rewrite what is stored with the old ones."`
	Walkthrough string `help:"Post '@walkthrough TEMPLATE' as a person would, and show what happens." placeholder:"TEMPLATE"`
	Once        bool   `help:"Exit after the walkthrough: 0 when every step held."`
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
	if u.PortBase != nil && (*u.PortBase < 0 || *u.PortBase > 65000) {
		return fmt.Errorf("--port-base %d: give a port from 1024 to 65000, or 0 for free ones", *u.PortBase)
	}
	return nil
}

// Run serves until ctx ends or, with --once, until the walkthrough has.
func (u *upCmd) Run(ctx context.Context, t terminal, log *slog.Logger) error {
	begun := time.Now()
	p, err := server.Open(ctx, server.Config{
		Data:      u.Data,
		Ports:     server.PortChoice{Base: u.PortBase, Rebase: u.Rebase},
		Templates: fixtures.Templates(),
		Now:       time.Now,
		Log:       log,
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

	var failed error
	if u.Walkthrough != "" {
		failed = u.walk(ctx, t, p, done)
	}
	if !u.Once && failed == nil {
		farewell(t, u.Data)
	}
	if u.Once || errors.Is(failed, errStopped) {
		stop()
		return errors.Join(ended(failed), <-done)
	}
	if failed != nil {
		fmt.Fprintf(t.Err, "platform: %v\nStill serving; Ctrl-C stops.\n", failed)
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	fmt.Fprintln(t.Out, "\nstopping ...")
	err = <-done
	fmt.Fprintln(t.Out, "stopped")
	return err
}

// ended leaves out the error that only says that the person, or a failing part, has ended the run.
func ended(err error) error {
	if errors.Is(err, errStopped) {
		return nil
	}
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

// farewell says where to look next.
func farewell(t terminal, data string) {
	flag := ""
	if data != ".platform" {
		flag = " --data " + data
	}
	fmt.Fprintf(t.Out, `Serving until Ctrl-C. In another terminal:
  bin/platform chat%[1]s                   read along and type
  bin/platform chat%[1]s --stream walkthroughs --topic hello '@platform help'
  bin/platform chat%[1]s --stream walkthroughs --topic hello '@walkthrough teardown'
`, flag)
}
