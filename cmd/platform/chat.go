package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"platform.dev/platform/bots/zulip"
)

// chatCmd posts one message and waits for the bot's answer, or reads and types.
type chatCmd struct {
	Data   string        `help:"Data directory of the platform, where the personas' credentials are." default:".platform" type:"path"`
	As     string        `help:"Who speaks: admin, platform-engineer, developer or sre." default:"developer" placeholder:"PERSONA"`
	RC     string        `name:"zuliprc" help:"Credentials of your own account in a real Zulip, instead of a persona's." type:"path" placeholder:"FILE"`
	Stream string        `help:"Stream to post to." placeholder:"S"`
	Topic  string        `help:"Topic to post to." placeholder:"T"`
	Direct string        `help:"Whom to write to alone, a bot or a person, instead of a stream: by name or email address." placeholder:"WHO"`
	Wait   time.Duration `help:"How long to wait for the answer." default:"2m"`
	Web    bool          `help:"Print an address that signs a browser in as the persona, once, and end."`

	Here          bool   `help:"Speak with the bot platform in this terminal alone, without any chat: it runs here, and asks the flow controller."`
	FlowURL       string `name:"flow-url" help:"With --here: flow controller elsewhere; needs --token-file." placeholder:"URL"`
	TokenFile     string `help:"With --here: file with that controller's token." type:"path" placeholder:"FILE"`
	People        string `help:"With --here: file (YAML) that says who may do what, people.yaml of the data directory by default." type:"path" placeholder:"FILE"`
	ConfirmPolicy string `help:"With --here: file (YAML) that says what people are asked to confirm, as of platform up." type:"path" placeholder:"FILE"`

	Text string `arg:"" optional:"" help:"What to say, such as '@platform status shop'."`
}

// Help is shown by platform chat --help.
func (chatCmd) Help() string {
	return `Examples:
  platform chat --stream walkthroughs --topic hello '@walkthrough static'
  platform chat --stream shop --topic release --as admin '@platform promote shop'
  platform chat                     read and type in the terminal; also from a pipe
  platform chat --web --as admin    the same in a browser
  platform chat --direct platform 'status shop'     to the bot alone
  platform chat --here 'status shop'                without a chat; also from a pipe
  platform chat --here --stream shop                read and type, as in #shop

With --here you speak with the bot platform alone. The bot walkthrough is not
there: besides a flow controller it needs the gateway, through which it visits
applications as people do. Ask it in the chat.

Exit code 0: an answer came and was printed; 1: none came in time.`
}

// Validate refuses combinations that mean nothing.
func (c *chatCmd) Validate() error {
	switch {
	case c.Direct != "" && c.Stream+c.Topic != "":
		return errors.New("--direct is instead of --stream and --topic")
	case c.Here && (c.Web || c.RC != "" || c.Direct != ""):
		return errors.New("--here is without any chat: leave --web, --zuliprc and --direct out")
	case c.Wait <= 0:
		return fmt.Errorf("--wait %s: give a duration above 0", c.Wait)
	}
	if !c.Here { // what is for it may stand in the environment, for other commands
		return nil
	}
	return remoteFlags{FlowURL: c.FlowURL, TokenFile: c.TokenFile}.Validate()
}

// Run speaks as the persona, or lets a browser do so.
func (c *chatCmd) Run(ctx context.Context, t terminal) error {
	if c.Here {
		return c.here(ctx, t)
	}
	if c.Web {
		err := openBrowser(ctx, c.credentials(), t)
		if errors.Is(err, fs.ErrNotExist) {
			err = c.stranger(err)
		}
		return c.unreachable(err)
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	defer client.Close()
	return c.unreachable(c.speak(ctx, client, t))
}

// speak posts the one message, or reads and types.
func (c *chatCmd) speak(ctx context.Context, client *zulip.Client, t terminal) error {
	a, err := newAsker(ctx, client)
	if err != nil {
		return err
	}
	to := place{Stream: strings.TrimPrefix(c.Stream, "#"), Topic: c.Topic}
	if c.Direct != "" {
		if to.With, err = whoNamed(a.users, c.Direct); err != nil {
			return fmt.Errorf("--direct: %w", err)
		}
	}
	switch {
	case c.Text == "":
		return talk(ctx, a, t, to, c.Wait)
	case !to.direct() && (to.Stream == "" || to.Topic == ""):
		return errors.New("a message needs a place: give --stream and --topic, or --direct WHO for one person or bot alone")
	}
	return a.ask(ctx, t, to, c.Text, c.Wait)
}

// credentials is the path of the persona's credentials file, or of the one given.
func (c *chatCmd) credentials() string {
	if c.RC != "" {
		return c.RC
	}
	return filepath.Join(c.Data, "chat", filepath.Base(c.As)+".zuliprc")
}

// client signs in with the persona's credentials file, or the one given.
func (c *chatCmd) client() (*zulip.Client, error) {
	client, err := signIn(c.credentials())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, c.stranger(err)
	}
	return client, err
}

// stranger says why there are no credentials, and what to do.
func (c *chatCmd) stranger(err error) error {
	known, _ := filepath.Glob(filepath.Join(c.Data, "chat", "*.zuliprc"))
	if c.RC != "" || len(known) == 0 {
		return fmt.Errorf("no credentials of %q: %w; start the platform first (platform up), and name its data directory with --data", c.As, err)
	}
	for i, path := range known {
		known[i] = strings.TrimSuffix(filepath.Base(path), ".zuliprc")
	}
	return fmt.Errorf("no credentials of %q: --as takes one of %s", c.As, strings.Join(known, ", "))
}

// unreachable says what to do when nobody listens where the credentials lead.
func (c *chatCmd) unreachable(err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("the chat does not answer: %w; is the platform up (platform up), and is --data its directory?", err)
	}
	return err
}

// signIn makes a client from a .zuliprc.
func signIn(path string) (*zulip.Client, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rc, err := zulip.ParseRC(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return zulip.NewClient(zulip.ClientConfig{Site: rc.Site, Email: rc.Email, Key: rc.Key})
}
