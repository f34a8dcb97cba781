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
	"platform.dev/platform/bots/zulip"
	"platform.dev/platform/flowclient"
	"platform.dev/platform/server"
)

// errStopped says that the walkthrough's end was not awaited.
var errStopped = errors.New("stopped")

// walk posts the walkthrough's command as the developer would and shows what is
// said until the run has ended. It returns nil when every step held; errStopped
// when ctx ended or the platform stopped meanwhile.
func (u *upCmd) walk(ctx context.Context, t terminal, p *server.Platform, down chan error) error {
	client, err := signIn(p.Path("chat", "developer.zuliprc"))
	if err != nil {
		return err
	}
	defer client.Close()
	a, err := newAsker(ctx, client)
	if err != nil {
		return err
	}
	to := place{Stream: server.StreamWalkthroughs, Topic: u.Walkthrough}
	text := "@walkthrough " + u.Walkthrough
	asked := make(chan int64, 1)
	heard := follow(ctx, client, func(ctx context.Context) error {
		id, err := a.post(ctx, to, text)
		asked <- id
		return err
	})
	defer heard.close()
	fmt.Fprintf(t.Out, "#%s > %s\nDev Developer: %s\n\n", to.Stream, to.Topic, text)

	s := &walking{asker: a, t: t, spin: newSpinner(t.Out), seen: map[int64]bool{}, marks: map[int64]string{}}
	defer s.spin.clear()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return errStopped
		case err := <-down:
			down <- err
			return errStopped
		case err := <-heard.failed:
			return err
		case s.asked = <-asked:
		case e := <-heard.events:
			s.hear(e, time.Now())
		case now := <-tick.C:
			s.spin.tick(now)
			if done, err := s.ended(ctx, p, now); done {
				return err
			}
		}
	}
}

// outcomes are the reactions that a bot puts on a message when it has finished with it.
var outcomes = []string{bots.ReactionDone, bots.ReactionRefused, bots.ReactionFailed}

// walking is what was seen of a walkthrough so far.
type walking struct {
	asker  *asker
	t      terminal
	spin   *spinner
	asked  int64            // the message that asked for it
	seen   map[int64]bool   // messages of the stream
	marks  map[int64]string // outcomes that bots put on messages
	heard  time.Time        // when the last event came
	asking time.Time        // when the run's state was last asked for
}

// hear shows what was posted, and what became of it: a message that says that
// work is under way is a line of progress until it is edited into its final form.
func (s *walking) hear(e zulip.Event, now time.Time) {
	s.heard = now
	switch {
	case e.Type == "message" && e.Message != nil && e.Message.Stream() == server.StreamWalkthroughs && e.Message.SenderName == "walkthrough":
		s.seen[e.Message.ID] = true
		s.message(e.Message.Content, now)
	case e.Type == "update_message" && s.seen[e.MessageID] && e.Content != "":
		s.message(e.Content, now)
	case e.Type == "reaction" && e.Op == "add" && slices.Contains(outcomes, e.Emoji):
		s.marks[e.MessageID] = e.Emoji
	}
}

func (s *walking) message(content string, now time.Time) {
	if working(content) {
		s.spin.set(firstLine(content), now)
		return
	}
	s.spin.clear()
	s.spin.what = ""
	fmt.Fprint(s.t.Out, s.asker.show(content, s.t))
}

// firstLine is a message's title without its mark.
func firstLine(content string) string {
	line, _, _ := strings.Cut(content, "\n")
	return oneLine(strings.TrimSpace(strings.TrimPrefix(line, "⏳")))
}

// quietAfter is how long nothing must have come before the last message is taken to be shown.
const quietAfter = 300 * time.Millisecond

// ended tells whether the bot has finished and everything it said was shown;
// err says why the walkthrough did not hold.
func (s *walking) ended(ctx context.Context, p *server.Platform, now time.Time) (done bool, err error) {
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
		if r.Result == "passed" {
			return nil
		}
		return fmt.Errorf("the walkthrough %s at step %q: %s", r.Result, r.Step, r.Message)
	}
	return errors.New("the walkthrough did not begin; the answer above says why")
}
