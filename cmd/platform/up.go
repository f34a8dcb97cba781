package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"platform.dev/platform/fixtures"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/store"
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

	DefaultSoak    time.Duration `help:"How long a release is to be Ready in staging first, in projects that do not say; 0 for no time." default:"0s" placeholder:"DURATION"`
	AllowSkipSoak  bool          `help:"Let people skip the soak and the URL check of a promotion, with a reason that is recorded."`
	CapacityMargin string        `help:"Memory that a promotion has to leave free in its cell, such as 307Mi; 0 for none." default:"307Mi" placeholder:"QUANTITY"`

	KeepMessages time.Duration `help:"How long messages that were heard and said are kept once nothing needs them: 30 days without it; 48h or more, 0 for ever." default:"720h" placeholder:"DURATION"`
	KeepHistory  time.Duration `help:"How long decisions, intents and events are kept: 500 days without it; 10920h or more, 0 for ever." default:"12000h" placeholder:"DURATION"`

	ConfirmPolicy string `help:"File (YAML) that says what people are asked to confirm before it is run, and is read again when it changes; without it, only what is forced." type:"path" placeholder:"FILE"`
	CommandRate   int    `help:"How many messages a minute the bots answer to one person; 0 for any number." default:"20" placeholder:"N"`
	CommandBurst  int    `help:"How many of them at once." default:"10" placeholder:"N"`

	Slack string `help:"File with the tokens of the bots that speak and listen in Slack, and not in the embedded chat; its mode must be 0600." type:"path" placeholder:"FILE"`

	Commands string `name:"commands-dir" help:"Directory of programs that are commands of the bots: executables platform-<verb> that nobody else may write to." type:"path" placeholder:"DIR"`
	Words    string `name:"announcements-dir" help:"Directory of your own words for announcements: files <kind>.yaml with title, body or skip." type:"path" placeholder:"DIR"`

	KubernetesURL       string `name:"kubernetes-url" help:"Read the quotas of cells from this Kubernetes API server, such as https://127.0.0.1:6550, and not from the embedded runtime." placeholder:"URL"`
	KubernetesTokenFile string `name:"kubernetes-token-file" help:"File with the bearer token for it." type:"path" placeholder:"FILE"`
	KubernetesCAFile    string `name:"kubernetes-ca-file" help:"File with the certificates (PEM) that its own is signed by; without it, the machine's." type:"path" placeholder:"FILE"`
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
	if u.KubernetesURL == "" && u.KubernetesTokenFile+u.KubernetesCAFile != "" {
		return errors.New("--kubernetes-token-file and --kubernetes-ca-file need --kubernetes-url: without it there is nobody to show them to")
	}
	if u.ReviewTTL < 0 {
		return fmt.Errorf("--review-ttl %s: give a duration that is not negative", u.ReviewTTL)
	}
	if u.CommandRate < 0 || u.CommandRate > 6000 {
		return fmt.Errorf("--command-rate %d: give a number from 0 to 6000", u.CommandRate)
	}
	if u.CommandBurst < 1 || u.CommandBurst > 1000 {
		return fmt.Errorf("--command-burst %d: give a number from 1 to 1000", u.CommandBurst)
	}
	if u.DefaultSoak < 0 {
		return fmt.Errorf("--default-soak %s: give a duration that is not negative", u.DefaultSoak)
	}
	if _, err := u.margin(); err != nil {
		return err
	}
	if u.KeepMessages != 0 && u.KeepMessages < store.MessagesNeeded {
		return fmt.Errorf("--keep-messages %s: give %s or more, since a chat may tell of a message again within that time, or 0 to keep them for ever", u.KeepMessages, store.MessagesNeeded)
	}
	if u.KeepHistory != 0 && u.KeepHistory < flowclient.HistoryNeeded {
		return fmt.Errorf("--keep-history %s: give %s or more, which the measures of a year look back on, or 0 to keep it for ever", u.KeepHistory, flowclient.HistoryNeeded)
	}
	if u.PortBase != nil && *u.PortBase != 0 && (*u.PortBase < 1024 || *u.PortBase > 65000) {
		return fmt.Errorf("--port-base %d: give a port from 1024 to 65000, or 0 for free ones", *u.PortBase)
	}
	return nil
}

// margin is the capacity margin as server.Config has it: below 0 for none.
func (u *upCmd) margin() (int64, error) {
	n, err := flowclient.ParseQuantity(flowclient.Memory, u.CapacityMargin)
	if err != nil {
		return 0, fmt.Errorf("--capacity-margin %q %w", u.CapacityMargin, err)
	}
	if n == 0 {
		n = -1 // 0 would be the default
	}
	return n, nil
}

// forEver is a time to keep something as server.Config has it: below 0 where it is never over.
func forEver(d time.Duration) time.Duration {
	if d == 0 {
		return -1 // 0 would be the default
	}
	return d
}

// Run serves until ctx ends or, with --once, until the walkthrough has.
func (u *upCmd) Run(ctx context.Context, t terminal, log *slog.Logger) error {
	begun := time.Now()
	reviews := u.MaxReviewEnvs
	if reviews == 0 {
		reviews = -1 // none; 0 would be the default
	}
	margin, err := u.margin()
	if err != nil {
		return err
	}
	policy, err := u.confirmations(log.With("part", "bots"))
	if err != nil {
		return err
	}
	p, err := server.Open(ctx, server.Config{
		Data:      u.Data,
		Ports:     server.PortChoice{Base: u.PortBase, Rebase: u.Rebase},
		Templates: fixtures.Templates(),
		OTLP:      u.OTLP, MaxReviews: reviews, ReviewTTL: u.ReviewTTL, Slack: u.Slack, Commands: u.Commands, Announcements: u.Words,
		DefaultSoak: u.DefaultSoak, AllowSkipSoak: u.AllowSkipSoak, CapacityMargin: margin,
		KeepMessages: forEver(u.KeepMessages), KeepHistory: forEver(u.KeepHistory),
		Kubernetes: server.Kubernetes{URL: u.KubernetesURL, TokenFile: u.KubernetesTokenFile, CAFile: u.KubernetesCAFile},
		Confirm:    policy, Rate: u.rate(),
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
