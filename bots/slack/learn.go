package slack

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/slack-go/slack"
)

// How much is read of a workspace beforehand. What is beyond is looked up when it is met.
const (
	peoplePage = 200
	memberPage = 200
	memberMost = 1000 // conversations
)

// learn reads what the bot's conversations are called, which it returns, and
// beside that who the people are, so that hearing them needs no call. Events keep
// it current from then on; whoever or whatever is met and not known is looked up
// then. It runs beside hearing.
func (l *listener) learn(ctx context.Context) []channel {
	if l.learning.CompareAndSwap(false, true) {
		l.group.Go(func() {
			defer l.learning.Store(false)
			if err := l.learnPeople(ctx); err != nil && ctx.Err() == nil {
				l.cfg.Log.Warn("Slack does not tell who is in the workspace", "why", err)
			}
		})
	}
	all, err := l.conversations(ctx)
	if err != nil && ctx.Err() == nil {
		l.cfg.Log.Warn("Slack does not tell which conversations the bot is in", "why", err)
	}
	for _, c := range all {
		l.saw(c)
	}
	return all
}

// patiently makes a call until it is answered, Slack says that it never will be, or
// ctx ends. Of a rate limit it waits for the end.
func (l *listener) patiently(ctx context.Context, method string, form url.Values, answer interface{ outcome() error }) error {
	for tries := 0; ; tries++ {
		err := l.call(ctx, method, form, answer)
		var refused slack.SlackErrorResponse
		switch {
		case err == nil, ctx.Err() != nil:
			return err
		case errors.As(err, &refused) && !is(err, codesLost...) && !is(err, codesLimited...):
			return err
		}
		pause := backoff(tries, err)
		l.cfg.Log.Info("Slack is asked again", "method", method, "why", err, "pause", pause)
		sleep(ctx, pause)
	}
}

// learnPeople reads the accounts of the workspace, as many as are remembered.
func (l *listener) learnPeople(ctx context.Context) error {
	cursor := ""
	for range remembered / peoplePage {
		var page struct {
			result
			Members []member `json:"members"`
		}
		form, asked := url.Values{"limit": {strconv.Itoa(peoplePage)}}, l.cfg.Now()
		if err := l.patiently(ctx, "users.list", with(form, cursor), &page); err != nil {
			return err
		}
		for _, m := range page.Members {
			if !m.Deleted { // who was switched off says nothing
				l.met(l.me, m, asked)
			}
		}
		if cursor = page.Metadata.Cursor; cursor == "" {
			break
		}
	}
	return nil
}

// conversations are those that the bot is a member of, direct ones included.
func (l *listener) conversations(ctx context.Context) ([]channel, error) {
	var found []channel
	cursor, asked := "", l.cfg.Now()
	for len(found) < memberMost {
		var page struct {
			result
			Channels []conversation `json:"channels"`
		}
		form := url.Values{
			"types": {"public_channel,private_channel,mpim,im"}, "exclude_archived": {"true"}, "limit": {strconv.Itoa(memberPage)},
		}
		if err := l.patiently(ctx, "users.conversations", with(form, cursor), &page); err != nil {
			return nil, err
		}
		for _, c := range page.Channels {
			if conversing.MatchString(c.ID) {
				found = append(found, channel{id: c.ID, name: c.Name, kind: c.kind(), asked: asked})
			}
		}
		if cursor = page.Metadata.Cursor; cursor == "" {
			return found, nil
		}
	}
	l.cfg.Log.Warn("the bot is in more conversations than are read beforehand", "read", len(found))
	return found, nil
}

// with is a form with the cursor of the next page.
func with(form url.Values, cursor string) url.Values {
	if cursor = strings.TrimSpace(cursor); cursor != "" {
		form.Set("cursor", cursor)
	}
	return form
}
