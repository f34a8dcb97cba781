package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/flowclient/remote"
	"platform.dev/platform/flowclient/wire"
)

// The exit codes of the commands that ask the flow controller; 1 is everything else.
const (
	exitRefused = 2 // a decision, told word for word: nothing was written, or not all that was asked for
	exitRetry   = 3 // something waits for what lifts by itself: ask again
)

// remoteFlags say which flow controller is asked, and as whom: the one of a
// data directory, or one elsewhere.
type remoteFlags struct {
	Data      string `help:"Data directory of the platform, where its address and token are." default:".platform" type:"path"`
	FlowURL   string `name:"flow-url" help:"Flow controller elsewhere; needs --token-file." placeholder:"URL"`
	TokenFile string `help:"File with that controller's token." type:"path" placeholder:"FILE"`
	Actor     string `help:"Who asks, for the record; by default your user name." env:"PLATFORM_ACTOR,USER" default:"cli" placeholder:"NAME"`
	JSON      bool   `name:"json" help:"Print the answer as JSON instead of a table."`
}

// writeFlags are those of commands that change something.
type writeFlags struct {
	remoteFlags
	Key string `env:"-" help:"Origin of this request: sent again with the same key, it has no second effect. Random by default." placeholder:"KEY"`
}

// Validate refuses half an address.
func (f remoteFlags) Validate() error {
	if (f.FlowURL == "") != (f.TokenFile == "") {
		return errors.New("--flow-url and --token-file go together: the one says where the controller is, the other lets you in")
	}
	return nil
}

// origin is where this request comes from.
func (f writeFlags) origin() flowclient.Origin {
	o := flowclient.Origin{Key: f.Key, Who: f.Actor}
	if o.Key == "" {
		o.Key = "cli:" + rand.Text()
	}
	return o
}

// client reaches the controller.
func (f remoteFlags) client() (*remote.Client, error) {
	address, file := f.FlowURL, f.TokenFile
	if address == "" {
		file = filepath.Join(f.Data, "secrets", "flow.token")
		surfaces, err := os.ReadFile(filepath.Join(f.Data, "surfaces.json"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("no platform in %s: start it first (platform up), name its directory with --data, or a controller elsewhere with --flow-url", f.Data)
		}
		urls := map[string]string{}
		if err == nil {
			err = json.Unmarshal(surfaces, &urls)
		}
		if err != nil {
			return nil, fmt.Errorf("address of the platform: %w", err)
		}
		address = urls["flow"]
	}
	token, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	c, err := remote.New(remote.Config{BaseURL: address, Token: strings.TrimSpace(string(token)), Actor: f.Actor})
	if err != nil {
		return nil, f.named(err, file)
	}
	return c, nil
}

// named says a mistake in the client's configuration as the person gave it: by flag or file.
func (f remoteFlags) named(err error, tokenFile string) error {
	var invalid *flowclient.Invalid
	switch {
	case !errors.As(err, &invalid):
		return fmt.Errorf("flow controller: %w", err)
	case invalid.Field == "Token":
		return fmt.Errorf("the token in %s %s", tokenFile, invalid.Why)
	case f.FlowURL == "":
		return fmt.Errorf("the address %q in %s %s", invalid.Value, filepath.Join(f.Data, "surfaces.json"), invalid.Why)
	default:
		return &flowclient.Invalid{Field: "--flow-url", Value: invalid.Value, Why: invalid.Why}
	}
}

// asking is one command's exchange with the controller: what it asks, and how
// the answer reads. print writes it for people; code is the exit code of an
// answer that is there, 0 where it is nil.
type asking[A any] struct {
	ask   func(context.Context, *remote.Client) (A, error)
	print func(w io.Writer, answer A, now time.Time)
	code  func(answer A) int
}

// run asks and tells.
func (a asking[A]) run(ctx context.Context, f remoteFlags, t terminal) error {
	c, err := f.client()
	if err != nil {
		return err
	}
	answer, err := a.ask(ctx, c)
	if err != nil {
		return f.unreachable(f.failed(t, err))
	}
	if f.JSON {
		err = printJSON(t.Out, answer)
	} else {
		a.print(t.Out, answer, time.Now())
	}
	if err == nil && a.code != nil {
		if code := a.code(answer); code != 0 {
			return exitCode(code)
		}
	}
	return err
}

// failed tells a refusal word for word, with what else is against it; every
// other error is returned. With --json it is the answer as well, as the
// endpoint says it, so that a script always has an object to read.
func (f remoteFlags) failed(t terminal, err error) error {
	if _, body, fault := wire.Status(err, ""); f.JSON && !fault {
		if err := printJSON(t.Out, body); err != nil {
			return err
		}
	}
	var refusal *flowclient.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	fmt.Fprintln(t.Err, oneLine(refusal.Sentence))
	for _, g := range refusal.Gates {
		if !g.Pass && g.Sentence != "" && g.Sentence != refusal.Sentence {
			fmt.Fprintf(t.Err, "also against it, %s: %s\n", g.Gate, oneLine(g.Sentence))
		}
	}
	return exitCode(exitRefused)
}

// unreachable says what to do when nobody listens where the data directory says.
func (f remoteFlags) unreachable(err error) error {
	if f.FlowURL == "" && errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w; is the platform up (platform up), and is --data its directory?", err)
	}
	return err
}

func printJSON(w io.Writer, answer any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(answer)
}
