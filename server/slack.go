package server

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/slack"
)

// slackMarks is how long a message in Slack may go unanswered before it is marked
// as heard: each mark is a call, of which Slack allows a number a minute.
const slackMarks = 500 * time.Millisecond

// slackTokens reads the tokens of the bots that speak in Slack, none without a file.
func slackTokens(path string) (map[string]slack.Tokens, error) {
	if path == "" {
		return nil, nil
	}
	tokens, err := slack.OpenTokens(path)
	if err != nil {
		return nil, fmt.Errorf("tokens of Slack: %w", err)
	}
	for name := range tokens {
		if !slices.Contains(botNames, name) {
			return nil, fmt.Errorf("tokens of Slack: %s: there is no bot %s; the bots are %s", path, name, strings.Join(botNames, " and "))
		}
	}
	return tokens, nil
}

// openSlack signs a bot in to Slack; who is in a channel that it makes are all
// whom people.yaml knows by an account there. Rows that it owes from before stay owed,
// and places keep their names: a stream is the channel of that name.
func (r *rooms) openSlack(p *Platform, name string, tokens slack.Tokens) (bots.Transport, error) {
	transport, err := slack.New(slack.Config{
		Tokens: tokens, Name: name, Threads: r.store, Cursor: r.store,
		Invite:    func(string) []string { return r.people.People().In("slack").UserIDs() },
		Reactions: p.cfg.reactions(),
		Now:       p.cfg.Now, Log: p.log.With("part", "bots"),
	})
	if err != nil {
		return nil, err
	}
	r.closing(transport.Close)
	return transport, nil
}
