package server

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/botstest"
)

// TestABotInSlackAnswersThereWithTheSameRightsForItsPeople starts the whole
// platform with one bot in Slack and the other in the embedded chat.
func TestABotInSlackAnswersThereWithTheSameRightsForItsPeople(t *testing.T) {
	s := botstest.NewSlack(botstest.SlackConfig{})
	app, developer, nobody := s.App("platform"), s.Person("Dev Developer"), s.Person("Mallory")
	channel := s.Channel("shop", developer, nobody, app.User)
	api := s.Start(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "people.yaml"), fmt.Appendf(nil,
		"people:\n  - {chat: %q, persona: developer, name: Dev Developer, groups: [developers]}\n", "slack:"+developer), 0o600))
	cfg := config(t, dir)
	cfg.Slack = filepath.Join(t.TempDir(), "slack.tokens")
	require.NoError(t, os.WriteFile(cfg.Slack, fmt.Appendf(nil, "[platform]\nbot_token=%s\napp_token=%s\napi=%s\n", app.BotToken, app.AppToken, api), 0o600))
	p := start(t, cfg)
	assert.False(t, p.Answers("platform"), "it does not listen in the embedded chat")
	assert.True(t, p.Answers("walkthrough"))
	s.AwaitStreams(t, 2)

	for i, c := range []struct{ user, text, want string }{
		{developer, "locks", "is locked"},
		{developer, "freeze shop --until 2h --reason x", "project:freeze"},
		{nobody, "locks", "do not know"},
	} {
		ts := s.Say(c.user, channel, "", "<@"+app.User+"> "+c.text)
		s.AwaitPosts(t, channel, i+1, botstest.Patience)
		said := s.Said(channel, ts)
		require.Len(t, said, 1)
		assert.Contains(t, said[0].Text, c.want)
	}
}

func TestTokensOfABotThatThereIsNotAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slack.tokens")
	require.NoError(t, os.WriteFile(path, []byte("[hal]\nbot_token=xoxb-1\napp_token=xapp-1\n"), 0o600))
	cfg := config(t, t.TempDir())
	cfg.Slack = path
	_, err := Open(t.Context(), cfg)
	require.ErrorContains(t, err, "there is no bot hal; the bots are platform and walkthrough")
}
