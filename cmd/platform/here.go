package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"platform.dev/platform/bots"
	chat "platform.dev/platform/bots/terminal"
	"platform.dev/platform/commands"
	"platform.dev/platform/commands/platform"
	"platform.dev/platform/flowclient/remote"
	"platform.dev/platform/flowclient/store"
	"platform.dev/platform/server"
)

// desk is the bot platform at a terminal of its own: the runtime that answers
// in chats, over a conversation that is a file. What was asked is durable: after
// a crash the next start answers what this one still owed.
type desk struct {
	transcript *chat.Transcript
	screen     *chat.Screen
	store      *store.Store
	runtime    *bots.Runtime
	who        chat.Person
	at         commands.Place
	wait       time.Duration // for the answers that are owed when nothing more is typed
}

// here speaks with the bot in this terminal.
func (c *chatCmd) here(ctx context.Context, t terminal) (err error) {
	d, err := c.openDesk(ctx, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.store.Close(), d.transcript.Close()) }()
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- d.runtime.Run(running) }()
	defer func() {
		stop()
		err = errors.Join(err, <-ended)
	}()
	if c.Text != "" {
		if who := otherBot(c.Text); who != "" {
			return fmt.Errorf("%q is for nobody: %s", oneLine(c.Text), absent(who))
		}
		if _, err := d.transcript.Say(d.who, d.at, d.addressed(c.Text)); err != nil {
			return err
		}
		return d.settle(ctx)
	}
	return d.talk(ctx, t)
}

// openDesk puts the parts together: commands over the controller, people from
// their file, and a directory of its own for what is remembered.
func (c *chatCmd) openDesk(ctx context.Context, t terminal) (*desk, error) {
	controller := remoteFlags{Data: c.Data, FlowURL: c.FlowURL, TokenFile: c.TokenFile, Actor: filepath.Base(c.As)}
	client, err := controller.client()
	if err != nil {
		return nil, err
	}
	d := &desk{wait: c.Wait, at: commands.Place{Direct: c.As}}
	known, err := deskCommands(client, d)
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(t.Err, &slog.HandlerOptions{Level: slog.LevelError}))
	people, err := bots.OpenPeople(cmp.Or(c.People, filepath.Join(c.Data, "people.yaml")), time.Now, log)
	if err != nil {
		return nil, fmt.Errorf("people: %w; name the file with --people", err)
	}
	person, ok := people.People().Persona(c.As)
	if !ok {
		return nil, fmt.Errorf("--as %s: people.yaml lists nobody of that name; there are %s", oneLine(c.As), strings.Join(people.People().Personas(), ", "))
	}
	policy, err := (&upCmd{ConfirmPolicy: c.ConfirmPolicy}).confirmations(log)
	if err != nil {
		return nil, err
	}
	d.who = chat.Person{ID: c.As, Name: cmp.Or(person.Name, c.As)}
	if stream := strings.TrimPrefix(c.Stream, "#"); stream != "" {
		d.at = commands.Place{Stream: stream, Topic: cmp.Or(c.Topic, "chat")}
	}
	d.screen = newScreen(t)
	d.screen.Go(d.at)
	return d, d.open(ctx, filepath.Join(c.Data, "here"), bots.Config{
		Bot: platform.Bot, Commands: known, Directory: atDesk{people}, Policy: server.Grants(), Confirm: policy, Project: projectOf,
		Log: log,
	})
}

// deskCommands are the bot's commands, over a controller at its address, with
// the trail of the desk beside the controller's.
func deskCommands(client *remote.Client, d *desk) (*commands.Registry, error) {
	all, err := platform.New(platform.Deps{
		Reader: client, Promoter: client, Locker: client, Freezer: client, Witness: client, Reviewer: client, Differ: client, Measurer: client, Auditor: trails{client, d}, Now: time.Now,
	})
	if err != nil {
		return nil, err
	}
	return commands.NewRegistry(all...)
}

// open opens what is remembered, and makes the bot.
func (d *desk) open(ctx context.Context, dir string, cfg bots.Config) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if d.transcript, err = chat.OpenTranscript(filepath.Join(dir, "said.jsonl"), nil); err != nil {
		return err
	}
	if d.store, err = store.Open(ctx, filepath.Join(dir, "bot.db"), nil); err != nil {
		return errors.Join(err, d.transcript.Close())
	}
	cfg.Inbox, cfg.Outbox, cfg.Questions, cfg.Auditor = d.store, d.store, d.store, server.Decisions(d.store)
	if cfg.Transport, err = chat.New(chat.Config{Name: cfg.Bot, Transcript: d.transcript, Screen: d.screen}); err == nil {
		d.runtime, err = bots.New(cfg)
	}
	if err == nil { // at each start, since no conversation lasts for long
		err = d.store.Compact(ctx, time.Now(), store.Keep{Messages: keptHere, History: decidedHere}, func(string, int64) {})
	}
	if err != nil {
		return errors.Join(err, d.store.Close(), d.transcript.Close())
	}
	return nil
}

// keptHere is how long what was answered is remembered, to be known when it is told again.
const keptHere = 30 * 24 * time.Hour

// decidedHere is how long what was decided is kept, as long as a platform keeps it.
const decidedHere = 500 * 24 * time.Hour

// newScreen is where a conversation is shown.
func newScreen(t terminal) *chat.Screen {
	_, live := screen(t.Out)
	return chat.NewScreen(t.Out, chat.Look{Live: live, Colour: colourful(live), Size: func() chat.Size {
		columns, _ := screen(t.Out)
		size := chat.Size{Columns: columns}
		if f, ok := t.Out.(*os.File); ok && live {
			if _, rows, err := term.GetSize(int(f.Fd())); err == nil {
				size.Rows = rows
			}
		}
		return size
	}})
}

// projectOf is the project whose stream it is.
func projectOf(stream string) (string, bool) {
	return stream, stream != "" && stream != server.StreamWalkthroughs && stream != server.StreamSandbox
}

// atDesk is who types at a terminal, as people.yaml knows the persona.
type atDesk struct{ *bots.PeopleFile }

// Person is the persona behind "terminal:".
func (a atDesk) Person(_ context.Context, chatID string) (commands.Person, bool) {
	persona, ok := strings.CutPrefix(chatID, "terminal:")
	if !ok {
		return commands.Person{}, false
	}
	return a.People().Persona(persona)
}

// talk reads what is typed until there is no more, and then waits for what is owed.
func (d *desk) talk(ctx context.Context, t terminal) error {
	d.screen.Note(fmt.Sprintf("You are %s, %s. %s", d.who.Name, d.where(), deskHelp()))
	in, isFile := t.In.(*os.File)
	live := isFile && term.IsTerminal(int(in.Fd()))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := typedLines(ctx, t.In)
	for {
		select {
		case <-ctx.Done():
			return nil
		case l, ok := <-lines:
			if !ok || d.typed(l) {
				return d.settle(ctx)
			}
			err := d.screen.Err()
			if err == nil && !live { // what a script says is answered line by line
				err = d.settle(ctx)
			}
			if err != nil {
				return err
			}
		}
	}
}

// typed does what a typed line asks for; true asks for the end. What cannot be
// done is told, and the conversation goes on.
func (d *desk) typed(l line) (quit bool) {
	d.screen.Typed()
	typed, err := chat.ReadTyped(l.text)
	if l.err != nil {
		err = l.err
	}
	if err != nil {
		d.screen.Note(err.Error())
		return false
	}
	switch typed.Verb {
	case chat.Help:
		d.screen.Note(deskHelp())
	case chat.Quit:
		return true
	case chat.Streams:
		d.screen.Note("here are no streams but those that you name; say /to STREAM TOPIC, and what you ask is asked in the project of that name")
	case chat.Say:
		d.say(d.at, typed.Text)
	case chat.Direct:
		d.alone(typed)
	case chat.GoTo, chat.Stream, chat.Topic:
		if typed.Stream == "" && d.at.Stream == "" {
			d.screen.Note("you are in no stream here; say /to STREAM TOPIC")
			return false
		}
		d.move(commands.Place{Stream: cmp.Or(typed.Stream, d.at.Stream), Topic: cmp.Or(typed.Topic, d.at.Topic, "chat")})
	}
	return false
}

// alone goes back to the bot alone, or says something there.
func (d *desk) alone(typed chat.Typed) {
	to := commands.Place{Direct: d.who.ID}
	switch {
	case !strings.EqualFold(typed.Who, platform.Bot):
		d.screen.Note(absent(typed.Who))
	case typed.Text != "":
		d.say(to, typed.Text)
	default:
		d.move(to)
	}
}

func (d *desk) move(to commands.Place) {
	d.at = to
	d.screen.Go(to)
	d.screen.Note(d.where())
}

// where is where the person is.
func (d *desk) where() string {
	if d.at.Direct != "" {
		return "alone with the bot " + platform.Bot
	}
	return "in " + chat.PlaceName(d.at)
}

// deskHelp is what /help shows.
func deskHelp() string {
	return "Type what you ask of the bot; it answers to \"help\".\n" + strings.TrimRight(chat.VerbHelp(chat.Streams), "\n")
}

// say says something to the bot.
func (d *desk) say(to commands.Place, text string) {
	if text == "" {
		return
	}
	if who := otherBot(text); who != "" {
		d.screen.Note(absent(who))
		return
	}
	if to.Direct == "" {
		text = d.addressed(text)
	}
	if _, err := d.transcript.Say(d.who, to, text); err != nil {
		d.screen.Note(err.Error())
	}
}

// otherBot is who a text is for, "" when that is the bot which is here.
func otherBot(text string) string {
	to := atName.FindStringSubmatchIndex(text)
	if to == nil || to[0] != 0 {
		return ""
	}
	who := strings.TrimRight(text[to[4]:to[5]], ".-")
	if strings.EqualFold(who, platform.Bot) {
		return ""
	}
	return who
}

// absent says that somebody is not here, and of the bot walkthrough where it is.
func absent(who string) string {
	says := "there is nobody here but the bot " + platform.Bot
	if strings.EqualFold(who, walker) {
		says += "; " + walker + " visits applications through the gateway, which no flow controller does for it: ask it in the chat, or with platform up --walkthrough static"
	}
	return says
}

// addressed is a text as it is said in a stream: there is nobody else here whom
// it could be for than the bot.
func (d *desk) addressed(text string) string {
	if strings.HasPrefix(text, "@") {
		return text
	}
	return "@" + platform.Bot + " " + text
}

// lookAgain is how often it is looked whether everything was answered.
const lookAgain = 20 * time.Millisecond

// settle waits until everything that was said is answered and shown.
func (d *desk) settle(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, d.wait)
	defer cancel()
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		owed, err := d.owed(waiting)
		switch {
		case ctx.Err() != nil:
			return nil
		case waiting.Err() != nil:
			return fmt.Errorf("no answer within %s; it is given at the next platform chat --here", d.wait)
		case err != nil || !owed:
			return errors.Join(err, d.screen.Err())
		}
		select {
		case <-waiting.Done():
		case <-look.C:
		}
	}
}

// errOwed ends a visit: there is something.
var errOwed = errors.New("something is owed")

// owed tells whether something was said and not heard, heard and not answered, or answered and not shown.
func (d *desk) owed(ctx context.Context) (bool, error) {
	if d.transcript.Waits(platform.Bot) {
		return true, nil
	}
	err := d.store.Unfinished(ctx, func(string, time.Time, []byte) error { return errOwed })
	if err == nil {
		err = d.store.Owed(ctx, platform.Bot, time.Now().AddDate(1, 0, 0),
			func(int64, string, []byte, []byte, int64, string, time.Time) error { return errOwed })
	}
	if errors.Is(err, errOwed) {
		return true, nil
	}
	return false, err
}
