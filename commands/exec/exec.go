// Package exec makes commands of programs: an executable platform-<verb> in a
// directory describes itself as JSON, is given each request as JSON, and
// answers in JSON lines. It runs in a process group of its own with an empty
// environment, bounded in time, size and count, and whatever it asks of other
// commands is decided about as if the person who asked it had written it.
//
// It knows nothing of any chat, nor of what programs do, and gives them no secret.
package exec

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// Prefix begins the file name of every program; the verb follows.
const Prefix = "platform-"

const (
	maxPrograms = 64
	atOnce      = 4 // programs that are asked to describe themselves
)

// Ledger remembers runs that must not happen twice. Implementations are durable:
// a method returns after its commit.
type Ledger interface {
	// BeginProgram records that the run under key begins. fresh is false when it began
	// before: answer is then what EndProgram was given, nil when it was not.
	BeginProgram(ctx context.Context, key string, at time.Time) (answer []byte, fresh bool, err error)
	// EndProgram records what the run under key answers; the first answer stays.
	EndProgram(ctx context.Context, key string, answer []byte, at time.Time) error
}

// Config is where programs are, and what they live among. Dir and Ledger are needed.
type Config struct {
	Dir    string // absolute; its owner is ours or root, and nobody else may write to it
	Ledger Ledger
	// Beside are the commands that there are already: whose bots programs may be
	// of, whose verbs are taken, and which programs may call. Nil: nothing is checked against them.
	Beside []commands.Command
	Path   string           // PATH of programs; empty: that of a plain system
	Grace  time.Duration    // how long a program may go on after it was asked to end; 0 is 2 s
	Now    func() time.Time // nil: time.Now
	Log    *slog.Logger     // nil: nothing is logged
}

// Programs are the commands of a directory.
type Programs struct {
	// Commands are those of the programs, by verb. One that is left out has a
	// command too, unless its verb is taken: it stands in help and says why.
	Commands []commands.Command
	LeftOut  []LeftOut // by file name
}

// LeftOut is a program that is not run, and why.
type LeftOut struct{ File, Why string }

// String is the sentence for people.
func (l LeftOut) String() string { return l.File + " is left out: " + l.Why }

// Open makes a command of each program of the directory. A program that others
// could change, or whose description is wrong, is left out by name; an error
// means that the directory itself is no place for programs.
func Open(ctx context.Context, cfg Config) (*Programs, error) {
	cfg = cfg.complete()
	if cfg.Ledger == nil {
		return nil, errors.New("programs: Ledger is needed")
	}
	dir, err := trustedDir(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("directory of commands %q: %w", cfg.Dir, err)
	}
	files, err := programsOf(dir)
	if err != nil {
		return nil, fmt.Errorf("directory of commands %q: %w", cfg.Dir, err)
	}
	cmds, whys := make([]commands.Command, len(files)), make([]error, len(files))
	var group sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i, file := range files {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			cmds[i], whys[i] = cfg.load(ctx, filepath.Join(dir, file))
		})
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all := &Programs{}
	for i, file := range files {
		if whys[i] != nil {
			out := LeftOut{File: file, Why: whys[i].Error()}
			all.LeftOut = append(all.LeftOut, out)
			cfg.Log.Warn("a program is left out", "file", file, "why", out.Why)
			if c, ok := cfg.absent(out); ok {
				all.Commands = append(all.Commands, c)
			}
			continue
		}
		all.Commands = append(all.Commands, cmds[i])
	}
	return all, nil
}

// Load makes the command of one program, as Open does.
func Load(ctx context.Context, cfg Config, path string) (commands.Command, error) {
	cfg = cfg.complete()
	if cfg.Ledger == nil {
		return commands.Command{}, errors.New("programs: Ledger is needed")
	}
	return cfg.load(ctx, path)
}

// complete fills in what has a default.
func (cfg Config) complete() Config {
	if cfg.Path == "" {
		cfg.Path = "/usr/local/bin:/usr/bin:/bin"
	}
	if cfg.Grace <= 0 {
		cfg.Grace = 2 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return cfg
}

// programsOf are the names of the programs in a directory, sorted. What is no
// program by its name is none of ours.
func programsOf(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), Prefix) && !e.IsDir() {
			files = append(files, e.Name())
		}
	}
	if len(files) > maxPrograms {
		return nil, fmt.Errorf("it has %d programs; there may be %d", len(files), maxPrograms)
	}
	slices.Sort(files)
	return files, nil
}

// load checks one program, asks it to describe itself, and makes its command.
func (cfg Config) load(ctx context.Context, path string) (commands.Command, error) {
	if err := trustedFile(path); err != nil {
		return commands.Command{}, err
	}
	p := &program{Config: cfg, path: path}
	text, err := p.describe(ctx)
	if err != nil {
		return commands.Command{}, err
	}
	if p.about, err = ParseDescription(text); err != nil {
		return commands.Command{}, err
	}
	if verb := strings.TrimPrefix(filepath.Base(path), Prefix); p.about.Verb != verb {
		return commands.Command{}, fmt.Errorf("verb %q: the file's name says %q", p.about.Verb, verb)
	}
	if err := cfg.fits(p.about); err != nil {
		return commands.Command{}, err
	}
	c := p.command()
	_, err = commands.NewRegistry(c)
	var usage *commands.UsageError
	if errors.As(err, &usage) {
		err = fmt.Errorf("examples: %s", markup.Plain(markup.Message{Title: usage.Message.Title}))
	}
	return c, err
}

// fits checks a description against the commands that there are.
func (cfg Config) fits(d Description) error {
	if cfg.Beside == nil {
		return nil
	}
	beside := map[string]commands.Effect{}
	for _, c := range cfg.Beside {
		if c.Bot == d.Bot {
			beside[c.Verb] = c.Effect
		}
	}
	switch _, taken := beside[d.Verb]; {
	case len(beside) == 0:
		return fmt.Errorf("bot %q: there is no such bot", d.Bot)
	case taken:
		return fmt.Errorf("verb %q: the bot has it already", d.Verb)
	}
	for i, verb := range d.Calls {
		effect, known := beside[verb]
		switch {
		case !known:
			return fmt.Errorf("calls[%d] %q: the bot has no such command", i, verb)
		case effect == commands.Write && d.Effect != commands.Write:
			return fmt.Errorf("calls[%d] %q: it changes something, and this program says that it only reads", i, verb)
		}
	}
	return nil
}

// shownWhy is how much of a reason help shows, in code points.
const shownWhy = 200

// absent is the command that stands in for a program that is left out: of the
// first bot, since what the program says of itself does not count.
func (cfg Config) absent(out LeftOut) (commands.Command, bool) {
	verb := strings.TrimPrefix(out.File, Prefix)
	if len(cfg.Beside) == 0 {
		return commands.Command{}, false
	}
	bot := cfg.Beside[0].Bot
	why := strings.TrimRight(strings.Join(strings.Fields(cut(out.Why, shownWhy)), " "), ".")
	c := commands.Command{
		Bot: bot, Verb: verb, Effect: commands.Read, Examples: []string{verb},
		Summary: "left out: " + why,
		Run: func(context.Context, commands.Request, commands.Reply) error {
			return refusal(out.String() + ". Whoever runs this bot can mend that, and start it again.")
		},
	}
	if _, err := commands.NewRegistry(c); err != nil {
		return commands.Command{}, false
	}
	taken := slices.ContainsFunc(cfg.Beside, func(b commands.Command) bool { return b.Bot == bot && b.Verb == verb })
	return c, !taken
}

// refusal is a sentence that is an answer.
type refusal string

func (r refusal) Error() string { return string(r) }

// Refused is the sentence.
func (r refusal) Refused() string { return string(r) }

// cut is a text, cut where it is long, visibly.
func cut(text string, limit int) string {
	if r := []rune(text); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return text
}
