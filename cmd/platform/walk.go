package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"platform.dev/platform/bots"
	term "platform.dev/platform/bots/terminal"
	"platform.dev/platform/bots/zulip"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/server"
)

// errStopped says that the walkthrough's end was not awaited.
var errStopped = errors.New("stopped before the walkthrough had ended")

// walker is the bot that walks.
const walker = "walkthrough"

// walk posts the walkthrough's command as the developer would and shows what is
// said until the run has ended. It returns the project that the run has made,
// and a nil error when every step held; errStopped when ctx ended or the
// platform stopped meanwhile.
func (u *upCmd) walk(ctx context.Context, t terminal, p *server.Platform, down chan error) (project string, err error) {
	if !p.Answers(walker) {
		about := slices.DeleteFunc(slices.Clone(p.Notes()), func(note string) bool { return !strings.Contains(note, "bot "+walker+" ") })
		return "", fmt.Errorf("the walkthrough did not begin: %s", strings.Join(about, "; "))
	}
	client, err := signIn(p.Path("chat", "developer.zuliprc"))
	if err != nil {
		return "", fmt.Errorf("the walkthrough did not begin: it is asked for as the persona developer: %w", err)
	}
	defer client.Close()
	a, err := newAsker(ctx, client)
	if err != nil {
		return "", err
	}
	to := place{Stream: server.StreamWalkthroughs, Topic: u.Walkthrough}
	text := "@" + walker + " " + u.Walkthrough
	asked := make(chan int64, 1)
	heard := follow(ctx, client, func(ctx context.Context) error {
		id, err := a.post(ctx, to, text)
		asked <- id
		return err
	})
	defer heard.close()
	s := &walking{asker: a, t: t, spin: newSpinner(t.Out), seen: map[int64]string{}, marks: map[int64]string{}, noted: map[int64]bool{}, posted: time.Now()}
	defer s.spin.clear()
	s.place(to.Topic)
	fmt.Fprintf(t.Out, "Dev Developer: %s\n\n", text)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return "", errStopped
		case err := <-down:
			down <- err
			return "", errStopped
		case err := <-heard.failed:
			return "", err
		case s.asked = <-asked:
		case e := <-heard.events:
			s.hear(e, time.Now())
		case now := <-tick.C:
			s.spin.tick(now)
			if done, err := s.ended(ctx, p, now); done {
				return s.project, err
			}
		}
	}
}

// hearsWithin is how long the bot may take to react at all. It reacts within a second of a message.
const hearsWithin = 30 * time.Second

// walking is what was seen of a walkthrough so far.
type walking struct {
	asker  *asker
	t      terminal
	spin   *spinner
	asked  int64            // the message that asked for it
	topic  string           // where what was shown last stands
	seen   map[int64]string // messages of the stream and their topics
	marks  map[int64]string // outcomes that bots put on messages
	noted  map[int64]bool   // messages that somebody has reacted to
	posted time.Time        // when it was asked for
	heard  time.Time        // when the last event came
	asking time.Time        // when the run's state was last asked for

	project string // what the run has made, once it has ended
}

// hear shows what was posted, and what became of it: a message that says that
// work is under way is a line of progress until it is edited into its final form.
func (s *walking) hear(e zulip.Event, now time.Time) {
	s.heard = now
	switch {
	case e.Type == "message" && e.Message != nil && e.Message.Stream() == server.StreamWalkthroughs && e.Message.SenderName == walker:
		s.seen[e.Message.ID] = e.Message.Topic
		s.message(e.Message.Topic, e.Message.Content, now)
	case e.Type == "update_message" && s.seen[e.MessageID] != "" && e.Content != "":
		s.message(s.seen[e.MessageID], e.Content, now)
	case e.Type == "reaction" && e.Op == "add":
		s.noted[e.MessageID] = true
		if bots.Final(e.Emoji) {
			s.marks[e.MessageID] = e.Emoji
		}
	}
}

func (s *walking) message(topic, content string, now time.Time) {
	if working(content) {
		s.spin.set(firstLine(content), now)
		return
	}
	s.spin.clear()
	s.spin.what = ""
	s.place(topic)
	fmt.Fprint(s.t.Out, s.asker.show(content, s.t))
}

// place says in which topic the messages that follow stand, where that changes.
func (s *walking) place(topic string) {
	if topic == s.topic {
		return
	}
	s.topic = topic
	fmt.Fprintf(s.t.Out, "%s\n\n", headline("#"+server.StreamWalkthroughs+" > "+topic, s.t.Out))
}

// firstLine is a message's title without its mark.
func firstLine(content string) string {
	line, _, _ := strings.Cut(content, "\n")
	return oneLine(strings.TrimSpace(term.Render(strings.TrimPrefix(line, "⏳"), plainWidth, false)))
}

// quietAfter is how long nothing must have come before the last message is taken to be shown.
const quietAfter = 300 * time.Millisecond

// ended tells whether the bot has finished and everything it said was shown;
// err says why the walkthrough did not hold.
func (s *walking) ended(ctx context.Context, p *server.Platform, now time.Time) (done bool, err error) {
	if !s.noted[s.asked] && now.Sub(s.posted) > hearsWithin {
		return true, fmt.Errorf("the walkthrough did not begin: expected the bot %s to react within %s; saw no reaction", walker, hearsWithin)
	}
	outcome := s.marks[s.asked]
	if outcome == "" || now.Sub(s.heard) < quietAfter || now.Sub(s.asking) < quietAfter {
		return false, nil
	}
	s.asking = now
	if owed, err := p.Owed(ctx); err != nil || owed > 0 {
		return err != nil, err
	}
	if outcome == bots.ReactionRefused {
		return true, errors.New("the walkthrough was refused; the answer above says why")
	}
	runs, err := p.Flow().Walkthroughs(ctx)
	if err != nil {
		return true, err
	}
	return true, s.verdict(runs)
}

// verdict finds the run that the message asked for.
func (s *walking) verdict(runs []flowclient.Walkthrough) error {
	for _, r := range runs {
		if !strings.HasSuffix(r.Key, ":"+strconv.FormatInt(s.asked, 10)) {
			continue
		}
		s.project = r.Project
		if r.Result == "passed" {
			return nil
		}
		return fmt.Errorf("the walkthrough %s at step %q: %s", r.Result, r.Step, r.Message)
	}
	return errors.New("the walkthrough did not begin; the answer above says why")
}
