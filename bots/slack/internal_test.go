package slack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

func TestEventsOfAChannelAreTakenInOrderAndBeyondTheBacklogNone(t *testing.T) {
	l := newLanes()
	hold := make(chan struct{})
	var did []int
	acked := make(chan bool, 2*backlog)
	put := func(n int) bool {
		return l.put(t.Context(), task{
			lane: "C1", do: func(context.Context) error { <-hold; did = append(did, n); return nil }, done: func(ok bool) { acked <- ok },
		})
	}
	taken := 0
	for put(taken) {
		taken++
	}
	assert.InDelta(t, backlog, taken, 1, "one may be under way beside those that wait")
	close(hold)
	l.wait()
	require.Len(t, did, taken)
	assert.True(t, slices.IsSorted(did))
	assert.Len(t, acked, taken)
	assert.True(t, put(taken), "there is room again")
	l.wait()
}

func TestAChannelThatIsHeldUpHoldsUpNoOther(t *testing.T) {
	l := newLanes()
	hold := make(chan struct{})
	const channels = 500
	var others sync.WaitGroup
	others.Add(channels)
	for i := range channels {
		slow := task{lane: fmt.Sprint("slow ", i), do: func(context.Context) error { <-hold; return nil }, done: func(bool) {}}
		quick := task{lane: fmt.Sprint("quick ", i), do: func(context.Context) error { return nil }, done: func(bool) { others.Done() }}
		require.True(t, l.put(t.Context(), slow) && l.put(t.Context(), quick))
	}
	others.Wait()
	close(hold)
	l.wait()
}

func TestWhatIsNotDoneIsNotAcknowledged(t *testing.T) {
	l := newLanes()
	var done []bool
	note := func(ok bool) { done = append(done, ok) }
	l.put(t.Context(), task{do: func(context.Context) error { return errors.New("Run is ending") }, done: note}) //nolint:revive,staticcheck // a name
	l.wait()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	l.put(ended, task{do: func(context.Context) error { t.Error("it was done"); return nil }, done: note})
	l.wait()
	assert.Equal(t, []bool{false, false}, done)
}

// A turn is over when everything that was put in it is done, and in those before.
func TestATurnIsOverWhenAllOfItIsDone(t *testing.T) {
	l := newLanes()
	holds := []chan struct{}{make(chan struct{}), make(chan struct{})}
	ended := make(chan bool, 1)
	for i, hold := range holds {
		l.put(t.Context(), task{lane: fmt.Sprint(i), do: func(context.Context) error { <-hold; return nil }, done: func(ok bool) { ended <- ok }})
		now, oldest := l.pass()
		assert.Equal(t, i+1, now)
		assert.Zero(t, oldest)
	}
	close(holds[1])
	<-ended
	_, oldest := l.pass()
	assert.Zero(t, oldest, "the first is still under way")
	close(holds[0])
	l.wait()
	now, oldest := l.pass()
	assert.Equal(t, now, oldest)
	l.put(t.Context(), task{do: func(context.Context) error { return errors.New("it failed") }, done: func(bool) {}})
	l.wait()
	_, oldest = l.pass()
	assert.Equal(t, now, oldest, "what failed is never done with")
}

func TestIDsOfMessagesAreReadAsTheyAreWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		channel := rapid.StringMatching(`[CGD][A-Z0-9]{2,12}`).Draw(t, "channel")
		parts := rapid.SliceOfN(rapid.StringMatching(`[0-9]{9,12}\.[0-9]{6}`), 1, 4).Draw(t, "parts")
		gotChannel, got, err := splitID(joinID(channel, parts...))
		if err != nil || gotChannel != channel || !slices.Equal(got, parts) {
			t.Fatalf("%s %v: read as %s %v, %v", channel, parts, gotChannel, got, err)
		}
	})
	for _, id := range []string{"", "31", "C1", "C012/", "C012/31", "C012/p17", "C012/p1700000000000100,", "C0/12/p1700000000000100", "c012/p1700000000000100", "C012/p1700000000000100/x"} {
		_, _, err := splitID(id)
		assert.ErrorIs(t, err, errID, "%q", id)
	}
}

func TestTimestampsAreInstants(t *testing.T) {
	at := time.Date(2026, 3, 2, 10, 0, 0, 123_000, time.UTC)
	assert.Equal(t, "1772445600.000123", stamp(at))
	assert.Equal(t, at, instant(stamp(at)))
	assert.Zero(t, instant("yesterday"))
}

func TestNamesOfChannels(t *testing.T) {
	for stream, want := range map[string]string{
		"shop": "shop", "#shop": "shop", "Shop Two!": "shop-two", "  a_b-c ": "a_b-c", "größe": "größe", "!!": "", "": "",
		strings.Repeat("x", 100): strings.Repeat("x", 80),
	} {
		assert.Equal(t, want, channelName(stream), "%q", stream)
	}
}

// What people type never makes a mention of the bot where they wrote none, nor
// leaves one that Slack would obey if it were said again unescaped.
func FuzzAddress(f *testing.F) {
	for _, text := range []string{"<@U012> status", "<<@U012>>", "<@U012", "&lt;@U012&gt; x", "<!here|x> <#C1|y> <mailto:a@b|c>", "<|> <> <@>", "\n<@U012>:\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rest, ok := address(text, "U012", func(id string) string { return id })
		if ok && !strings.Contains(text, "<@U012>") && !strings.Contains(text, "<@U012|") || !ok && strings.Contains(text, "<@U012>") {
			t.Fatalf("%q is taken for a mention", text)
		}
		if strings.TrimSpace(rest) != rest {
			t.Fatalf("%q leaves %q", text, rest)
		}
	})
}

// The manifest is what an operator makes the app with: what the transport
// listens to must be in it.
func TestTheManifestOfTheAppAsksForWhatTheTransportUses(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "slack", "manifest.yaml"))
	require.NoError(t, err)
	var manifest struct {
		OAuth struct {
			Scopes struct {
				Bot []string `yaml:"bot"`
			} `yaml:"scopes"`
		} `yaml:"oauth_config"`
		Settings struct {
			Events struct {
				Bot []string `yaml:"bot_events"`
			} `yaml:"event_subscriptions"`
			Interactivity struct {
				On bool `yaml:"is_enabled"`
			} `yaml:"interactivity"`
			Socket bool `yaml:"socket_mode_enabled"`
		} `yaml:"settings"`
	}
	require.NoError(t, yaml.Unmarshal(text, &manifest))
	assert.True(t, manifest.Settings.Socket)
	assert.True(t, manifest.Settings.Interactivity.On)
	assert.ElementsMatch(t, []string{
		"app_mention", "message.channels", "message.groups", "message.im", "message.mpim", "reaction_added",
		"channel_rename", "group_rename", "member_joined_channel", "user_change", "team_join",
	}, manifest.Settings.Events.Bot)
	assert.ElementsMatch(t, []string{
		"app_mentions:read", "channels:history", "groups:history", "im:history", "mpim:history", "channels:read", "groups:read", "im:read", "mpim:read",
		"channels:join", "channels:manage", "chat:write", "im:write", "reactions:read", "reactions:write", "users:read",
	}, manifest.OAuth.Scopes.Bot)
}
