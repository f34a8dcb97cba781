package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"platform.dev/platform/announcer"
	"platform.dev/platform/bots"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/bots/slack"
	"platform.dev/platform/bots/zulip"
	"platform.dev/platform/commands"
	"platform.dev/platform/server/web"
)

// botNames are the bots, each with an account and a credentials file of its own.
var botNames = []string{"platform", "walkthrough"}

// announcing is the bot that announces.
const announcing = "platform"

// grants say which groups may do what; "*" is everything. Who is in none of
// these groups may read. Denied unless granted: developers promote, and take
// back; who runs production closes it (locks, freezes) and goes back; what lifts
// a gate (component:force, component:skip-soak) is for who owns the platform.
var grants = bots.Grants{
	"admins":             {"*"},
	"platform-engineers": {"component:*", "lock:*", "project:freeze", "walkthrough:*"},
	"developers":         {"component:promote", "component:rollback", "component:undo", "lock:*", "walkthrough:*"},
	"sres":               {"component:rollback", "component:undo", "lock:*", "project:freeze"},
}

// Grants are who may ask what of the bots.
func Grants() bots.Grants { return maps.Clone(grants) }

// bot is one bot at work.
type bot struct {
	name      string
	runtime   *bots.Runtime
	elsewhere bool // it is signed in to another chat than the embedded one
}

// openBots makes a runtime for each bot that has credentials, and the announcer.
func (r *rooms) openBots(ctx context.Context, p *Platform) error {
	registry, err := r.openCommands(ctx, p)
	if err != nil {
		return err
	}
	if r.people, err = r.openPeople(p); err != nil {
		return err
	}
	tokens, err := slackTokens(p.cfg.Slack)
	if err != nil {
		return err
	}
	for _, name := range botNames {
		transport, err := r.openTransport(p, name, tokens)
		if err != nil {
			return err
		}
		if transport == nil {
			continue
		}
		b, err := r.newBot(p, name, transport, registry)
		if err != nil {
			return err
		}
		r.bots = append(r.bots, b)
	}
	return r.openAnnouncer(p)
}

// openTransport signs a bot in: to Slack when there are tokens for it, else to
// the embedded chat with its credentials file; nil when that is not there.
func (r *rooms) openTransport(p *Platform, name string, tokens map[string]slack.Tokens) (bots.Transport, error) {
	if t, ok := tokens[name]; ok {
		return r.openSlack(p, name, t)
	}
	rc, err := readRC(p.data.Path("chat", name+".zuliprc"))
	if errors.Is(err, fs.ErrNotExist) {
		r.notes = append(r.notes, fmt.Sprintf("bot %s has no credentials file %s: it does not answer", name, p.data.Path("chat", name+".zuliprc")))
		return nil, nil //nolint:nilnil // a bot without credentials is left out
	}
	if err != nil {
		return nil, err
	}
	transport, err := zulip.New(zulip.Config{
		Site: rc.Site, Email: rc.Email, Key: rc.Key, Transport: web.Propagate(p.transport("chat")), Name: name, Cursor: r.store,
		Principals: func(string) []int64 { return humans(r.accounts) },
		Describe:   describe, Reactions: p.cfg.reactions(),
		Now: p.cfg.Now, Log: p.log.With("part", "bots"),
	})
	if err != nil {
		return nil, err
	}
	r.closing(transport.Close)
	return transport, nil
}

func (r *rooms) newBot(p *Platform, name string, transport bots.Transport, known bots.Commands) (bot, error) {
	_, elsewhere := transport.(*slack.Transport)
	var marks time.Duration // at once: in the embedded chat a mark costs nothing
	if elsewhere {
		marks = slackMarks
	}
	runtime, err := bots.New(bots.Config{
		Bot: name, Transport: transport, Commands: tracedCommands{known, r.telemetry.provider("bots").Tracer("commands")}, Inbox: r.store, Outbox: r.store,
		Directory: r.people, Policy: grants, Project: projectOfStream,
		Confirm: p.cfg.Confirm, Questions: r.store, Auditor: Decisions(r.store), Rate: p.cfg.rate(), Observe: r.telemetry.commands.observe,
		Marks: marks,
		Now:   p.cfg.Now, Log: p.log.With("part", "bots"),
	})
	if err != nil {
		return bot{}, err
	}
	if err := r.telemetry.commands.watch(r.telemetry.registry, name, runtime); err != nil {
		return bot{}, err
	}
	return bot{name: name, runtime: runtime, elsewhere: elsewhere}, nil
}

// describe is the description of a stream that a bot makes: a project's.
func describe(stream string) string {
	return "Builds, promotions and pull requests of " + stream
}

func (r *rooms) openAnnouncer(p *Platform) (err error) {
	i := slices.IndexFunc(r.bots, func(b bot) bool { return b.name == announcing })
	r.announcing = i >= 0
	if !r.announcing {
		r.notes = append(r.notes, "announcements are skipped: there is no credentials file "+p.data.Path("chat", announcing+".zuliprc"))
	}
	elsewhere := r.announcing && r.bots[i].elsewhere
	var words announcer.Templates
	if dir := p.cfg.Announcements; dir != "" {
		if words, err = announcer.ReadTemplates(os.DirFS(dir)); err != nil {
			return fmt.Errorf("announcements in %s: %w", dir, err)
		}
	}
	r.announcer, err = announcer.New(announcer.Config{
		Templates: words,
		Enabled:   r.announcing, Events: r.store, Outbox: outbox{r}, Cursor: r.store,
		Bot: announcing, Sandbox: StreamSandbox,
		Person: func(author string) (string, bool) {
			people := r.people.People()
			if elsewhere {
				people = people.In("slack") // who is mentioned is mentioned by their account there
			}
			person, known := people.Named(author)
			return person.UserID, known
		},
		Now: p.cfg.Now, Log: p.log.With("part", "announcer"),
	})
	return err
}

// outbox is the announcer's way to the bot that posts for it: said through the
// bot, a message that is just being delivered is edited and never posted twice.
type outbox struct{ *rooms }

// Put records a message as the bot's own; at is the bot's own clock.
func (o outbox) Put(ctx context.Context, key, name string, place, payload []byte, _ time.Time) error {
	var to commands.Place
	var m markup.Message
	if err := errors.Join(json.Unmarshal(place, &to), json.Unmarshal(payload, &m)); err != nil {
		return fmt.Errorf("announcement %s: %w", key, err)
	}
	for _, b := range o.bots {
		if b.name == name {
			return b.runtime.Say(ctx, key, to, m)
		}
	}
	return fmt.Errorf("announcement %s: there is no bot %s", key, name)
}

// noted is told that events were recorded.
func (r *rooms) noted() {
	if r.announcer != nil {
		r.announcer.Wake()
	}
	if r.recorder != nil {
		r.recorder.changed("")
	}
}

// startBots is the last layer: from here on people are heard.
//
//nolint:contextcheck // layers end by stop, in their order, and not with ctx
func (r *rooms) startBots(_ context.Context, l *layers) error {
	parts := []part{{"announcer", r.announcer.Run}}
	for _, b := range r.bots {
		parts = append(parts, part{"bot " + b.name, b.runtime.Run})
	}
	l.next("bots", parts...)
	return nil
}

// Owed counts what is still to be said: messages in the outbox, those heard and
// not finished, events not announced.
func (p *Platform) Owed(ctx context.Context) (int, error) {
	owed := 0
	s := p.rooms.store
	// Rows that are put off are owed as well: every one is due in a year.
	due := p.cfg.Now().AddDate(1, 0, 0)
	for _, b := range p.rooms.bots {
		err := s.Owed(ctx, b.name, due, func(int64, string, []byte, []byte, int64, string, time.Time) error { owed++; return nil })
		if err != nil {
			return 0, err
		}
	}
	if err := s.Unfinished(ctx, func(string, time.Time, []byte) error { owed++; return nil }); err != nil {
		return 0, err
	}
	behind, err := p.behind(ctx)
	return owed + behind, err
}

// behind counts the events that were not announced, a thousand at most.
func (p *Platform) behind(ctx context.Context) (int, error) {
	if !p.rooms.announcing {
		return 0, nil
	}
	value, err := p.rooms.store.Cursor(ctx, announcer.CursorName)
	if err != nil {
		return 0, err
	}
	after, _ := strconv.ParseInt(value, 10, 64) // empty before the first announcement
	events, err := p.rooms.store.Events(ctx, after, 1000)
	return len(events), err
}

// Answers tells whether a bot listens in the embedded chat; one without a
// credentials file does not, nor does one that is signed in to another chat.
func (p *Platform) Answers(name string) bool {
	return slices.ContainsFunc(p.rooms.bots, func(b bot) bool { return b.name == name && !b.elsewhere })
}

// Notes are sentences about what this start leaves out, for whoever started it.
func (p *Platform) Notes() []string { return p.rooms.notes }

// pageLimit bounds the pages that a walkthrough reads.
const pageLimit = 4 << 20

// fetch GETs an application's page, as a person's browser would.
func fetch(ctx context.Context, url string) (status int, body []byte, err error) {
	client := visitor(10 * time.Second)
	defer client.CloseIdleConnections()
	resp, err := visit(ctx, client, url)
	if err != nil {
		return 0, nil, fmt.Errorf("fetch %s: %w", url, err)
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(io.LimitReader(resp.Body, pageLimit)); err != nil {
		return 0, nil, fmt.Errorf("fetch %s: %w", url, err)
	}
	return resp.StatusCode, body, nil
}

func readRC(path string) (zulip.RC, error) {
	f, err := os.Open(path)
	if err != nil {
		return zulip.RC{}, err
	}
	defer f.Close()
	rc, err := zulip.ParseRC(f)
	if err != nil {
		return zulip.RC{}, fmt.Errorf("%s: %w", path, err)
	}
	return rc, nil
}
