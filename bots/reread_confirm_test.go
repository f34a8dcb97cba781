package bots_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/commands"
)

const (
	twoPeople = "confirm:\n  - {environment: production, command: platform raze, by: reply, four-eyes: true}\n"
	noPeople  = "confirm: []\n"
)

func TestAPolicyIsReadAnewWhenItChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "confirm.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	now := time.Now()
	var log bytes.Buffer
	_, err := bots.OpenConfirmations(path, nil, nil)
	require.ErrorContains(t, err, path, "a file that is not there is not opened")
	write(twoPeople)
	f, err := bots.OpenConfirmations(path, func() time.Time { return now }, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	raze := commands.Call{Command: commands.Command{Bot: "platform", Effect: commands.Write}, Args: &razeArgs{Project: "shop"}, Verb: "raze"}
	later := func() bots.Need { now = now.Add(time.Second); return f.Need(raze, "") }

	asks := bots.Need{Way: bots.WayReply, FourEyes: true}
	assert.Equal(t, asks, later())
	write(noPeople)
	assert.Equal(t, asks, f.Need(raze, ""), "the file is looked at once a second, and no more often")
	assert.Equal(t, bots.Need{Way: bots.WayNone}, later())
	require.NoError(t, f.Health())

	write(twoPeople)
	assert.Equal(t, asks, later())
	for _, wrong := range []string{"", "confirm: [{by: shout}]\n", "confirmations: []\n", twoPeople + strings.Repeat("#", 2<<20)} {
		log.Reset()
		write(wrong)
		for range 3 {
			assert.Equal(t, asks, later(), "the last good one holds")
			require.ErrorContains(t, f.Health(), path+" does not hold as it stands, and what it said before does: ")
		}
		assert.Equal(t, 1, strings.Count(log.String(), "confirmations cannot be read anew"), log.String())
	}
	write(noPeople)
	assert.Equal(t, bots.Need{Way: bots.WayNone}, later(), "mended, it holds")
	require.NoError(t, f.Health())
}

// What is asked is asked by the policy of then; who has been asked already is not asked less, nor more.
func TestAQuestionKeepsItsTermsWhenThePolicyChanges(t *testing.T) {
	for _, c := range []struct {
		name, before, after, kinds string // of what the bot has said once who asked has confirmed
		four                       bool   // another has to
	}{
		{"relaxed", twoPeople, noPeople, "bots.confirm bots.foureyes", true},
		{"tightened", strings.ReplaceAll(twoPeople, "true", "false"), twoPeople, "bots.confirmed raze.done", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "confirm.yaml")
				require.NoError(t, os.WriteFile(path, []byte(c.before), 0o600))
				policy, err := bots.OpenConfirmations(path, nil, nil)
				require.NoError(t, err)
				w, done, standing := asking(t, nil)
				config := w.config
				w.config = func(cfg *bots.Config) { config(cfg); cfg.Confirm = policy }
				stop := w.start(nil)
				defer stop()
				a := ask(t, w, done, standing, "raze shop")
				require.NoError(t, os.WriteFile(path, []byte(c.after), 0o600))
				<-time.After(2 * time.Second)

				w.chat.Say("10", shop, "confirm "+a.code)
				<-time.After(time.Second)
				until(t, "settled", w.settled)
				assert.Equal(t, c.kinds, strings.Join(w.kinds(shop), " "))
				if c.four {
					assert.Empty(t, done.list())
					w.chat.Say("13", shop, "confirm "+a.code)
					<-time.After(time.Second)
					until(t, "settled", w.settled)
				}
				assert.Equal(t, []string{"test:platform:1 of admin confirmed shopstone"}, done.list())

				w.chat.Say("10", other, "raze shop")
				<-time.After(time.Second)
				until(t, "settled", w.settled)
				now := map[bool]string{true: "raze.done", false: "bots.confirm"}[c.four]
				assert.Equal(t, []string{now}, w.kinds(other), "what is asked now is asked by what the policy says now")
			})
		})
	}
}

// The process dies at each write after which the question is there, or is not
// yet; the next one starts with a policy that asks for nothing.
func TestAQuestionKeepsItsTermsOverARestartWithAnotherPolicy(t *testing.T) {
	for n, more := 1, true; more && !t.Failed(); n++ {
		synctest.Test(t, func(t *testing.T) {
			w, done, _ := asking(t, by(bots.WayReply, true))
			w.chat.Say("10", shop, "raze shop")
			life := botstest.NewMortal(w.store, n)
			stop := w.start(life)
			until(t, "death or the end", func() bool { return isClosed(life.Died()) || w.settled() })
			stop()
			more = isClosed(life.Died())

			config := w.config
			w.config = func(cfg *bots.Config) { config(cfg); cfg.Confirm = nil }
			stop = w.start(nil)
			defer stop()
			until(t, "settled", w.settled)
			after := fmt.Sprintf("after dying at write %d: %v", n, life.Writes())
			if !slices.Contains(life.Writes(), "ask") {
				assert.Len(t, done.list(), 1, after)
				return
			}
			require.Equal(t, []string{"bots.confirm"}, w.kinds(shop), after)
			assert.Empty(t, done.list(), after)
			w.chat.Say("13", shop, "confirm "+botstest.Code(w.chat.Bots(shop)[0].Message))
			<-time.After(time.Second)
			until(t, "settled", w.settled)
			assert.Equal(t, []string{"test:platform:1 of admin confirmed shopstone"}, done.list(), after)
		})
	}
}
