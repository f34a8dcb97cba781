package slack_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/slack"
)

func TestWhatNothingMendsEndsTheRun(t *testing.T) {
	for _, c := range []struct {
		name   string
		fault  botstest.SlackFault
		change func(*slack.Config)
		want   string
	}{
		{"a bot token that is refused", botstest.SlackFault{}, func(c *slack.Config) { c.Tokens.Bot = "xoxb-wrong" }, "put the right ones into the bot's file of tokens"},
		{"an app token that is refused", botstest.SlackFault{}, func(c *slack.Config) { c.Tokens.App = "xapp-wrong" }, "put the right ones into the bot's file of tokens"},
		{"an account that was switched off", botstest.SlackFault{Method: "apps.connections.open", Kind: botstest.SlackRefused, Code: "account_inactive"}, nil, "account_inactive"},
		{"a scope that is lacking", botstest.SlackFault{Method: "apps.connections.open", Kind: botstest.SlackRefused, Code: "missing_scope"}, nil, "add it on the app's page"},
		{"an address that is none", botstest.SlackFault{}, func(c *slack.Config) { c.Tokens.API += "v2/" }, "mend the address"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorkspace(t, botstest.SlackConfig{})
			w.Fail(c.fault)
			change := c.change
			if change == nil {
				change = func(*slack.Config) {}
			}
			err := w.connect(change).Run(t.Context(), nil)
			require.ErrorContains(t, err, c.want)
			assert.NotContains(t, err.Error(), "xoxb-")
			assert.NotContains(t, err.Error(), "xapp-")
		})
	}
}

func TestAnOutageAtTheStartIsWaitedFor(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	w.Fail(
		botstest.SlackFault{Method: "auth.test", Kind: botstest.SlackBroken},
		botstest.SlackFault{Method: "apps.connections.open", Kind: botstest.SlackRefused, Code: "internal_error"},
	)
	heard := w.hearing(w.connect())
	w.Say(w.person, w.channel, w.root, w.mention("status"))
	assert.Equal(t, "status", w.next(heard).Text)
}

func TestTokensReachNoLog(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	var log bytes.Buffer
	tr := w.connect(func(c *slack.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	w.Fail(botstest.SlackFault{Method: "apps.connections.open", Kind: botstest.SlackVanished}, botstest.SlackFault{Method: "auth.test", Kind: botstest.SlackVanished})
	heard := make(chan struct{})
	stop := w.run(tr, nil)
	w.AwaitStreams(t, 2)
	w.Tell(w.app, map[string]any{"type": "moon_phase_changed"})
	w.AwaitQuiet(t)
	close(heard)
	require.NoError(t, stop())
	require.Contains(t, log.String(), "trying again")
	assert.NotContains(t, log.String(), "xoxb-")
	assert.NotContains(t, log.String(), "xapp-")
	assert.NotContains(t, log.String(), "ticket")
}

func TestFilesOfTokens(t *testing.T) {
	const good = "[platform]\nbot_token = xoxb-1\napp_token = xapp-1\n\n[walkthrough]\nbot_token=xoxb-2\napp_token=xapp-2\napi=http://127.0.0.1:8080/api/\n"
	for _, c := range []struct {
		name, text string
		mode       os.FileMode
		want       string // of the error
	}{
		{"two bots", good, 0o600, ""},
		{"one that others may read", good, 0o640, "chmod 600"},
		{"an empty one", "", 0o600, "there are no tokens"},
		{"a key that is unknown", "[platform]\nbot_token=xoxb-1\napp_token=xapp-1\nsecret=x", 0o600, `section [platform]: key "secret" is unknown`},
		{"a token of another kind", "[platform]\nbot_token=xoxp-1\napp_token=xapp-1", 0o600, `begins with "xoxb-"`},
		{"one token alone", "[platform]\nbot_token=xoxb-1", 0o600, `begins with "xapp-"`},
		{"an address that is none", "[platform]\nbot_token=xoxb-1\napp_token=xapp-1\napi=slack.com", 0o600, "https://slack.com/api/"},
		{"tokens of no bot", "bot_token=xoxb-1\napp_token=xapp-1\n[platform", 0o600, "it cannot be read"},
		{"something else", strings.Repeat("x", 70_000), 0o600, "larger than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "slack")
			require.NoError(t, os.WriteFile(path, []byte(c.text), c.mode))
			tokens, err := slack.OpenTokens(path)
			if c.want != "" {
				require.ErrorContains(t, err, c.want)
				assert.NotContains(t, err.Error(), "xoxb-1")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, map[string]slack.Tokens{
				"platform":    {Bot: "xoxb-1", App: "xapp-1"},
				"walkthrough": {Bot: "xoxb-2", App: "xapp-2", API: "http://127.0.0.1:8080/api/"},
			}, tokens)
		})
	}
}
