package server

import (
	"fmt"
	"slices"
	"strings"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/slack"
)

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
func (r *rooms) openSlack(p *Platform, name string, tokens slack.Tokens, people *bots.People) (bots.Transport, error) {
	people = people.In("slack")
	transport, err := slack.New(slack.Config{
		Tokens: tokens, Name: name, Threads: r.store,
		Invite:    func(string) []string { return people.UserIDs() },
		Reactions: p.cfg.Confirm.Reactions(),
		Now:       p.cfg.Now, Log: p.log.With("part", "bots"),
	})
	if err != nil {
		return nil, err
	}
	r.closing(transport.Close)
	return transport, nil
}
