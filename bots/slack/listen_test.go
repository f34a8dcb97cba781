package slack_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
)

func TestAStreamIsReplacedBeforeItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPipedWorkspace(t, botstest.SlackConfig{})
		tr := w.connect()
		heard := w.hearing(tr)
		synctest.Wait()
		w.Warn()
		time.Sleep(10 * time.Second)
		w.Say(w.person, w.channel, w.root, w.mention("status"))
		assert.Equal(t, "status", w.next(heard).Text)
		assert.Equal(t, 2, w.Fewest(), "at no time were there fewer")
		assert.Equal(t, 2, w.Streams(), "and the old ones are closed")
		assert.EqualValues(t, 2, tr.Reconnects())
		assert.True(t, tr.Connected())
	})
}

// Slack closes a stream when it has reached its age; two that were opened together would end together.
func TestStreamsAreRenewedBeforeSlackEndsThemAndNeverBothAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPipedWorkspace(t, botstest.SlackConfig{Lifetime: time.Hour})
		tr := w.connect()
		heard := w.hearing(tr)
		time.Sleep(24 * time.Hour)
		assert.Equal(t, 2, w.Fewest())
		assert.InDelta(t, 52, tr.Reconnects(), 3, "each about every 54 minutes")
		w.Say(w.person, w.channel, w.root, w.mention("status"))
		assert.Equal(t, "status", w.next(heard).Text)
	})
}

// A network that swallows everything closes nothing: only silence tells.
func TestAStreamThatSaysNothingIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPipedWorkspace(t, botstest.SlackConfig{})
		tr := w.connect()
		heard := w.hearing(tr)
		synctest.Wait() // both have greeted
		w.Freeze()
		w.Say(w.person, w.channel, w.root, w.mention("status"))
		began := time.Now()
		assert.Equal(t, "status", (<-heard).Text)
		assert.LessOrEqual(t, time.Since(began), 70*time.Second, "as soon as there is another stream and Slack's next try")
		w.AwaitQuiet(t)
		assert.EqualValues(t, 2, tr.Reconnects())
		time.Sleep(10 * time.Minute)
		assert.EqualValues(t, 2, tr.Reconnects(), "a quiet stream on which pings are answered lasts")
	})
}

func TestAppsWithoutSocketModeEndTheRunWithWhatToDo(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	tr, ended := w.connect(), make(chan error, 1)
	go func() { ended <- tr.Run(t.Context(), nil) }()
	w.AwaitStreams(t, 2)
	w.Unlink()
	require.ErrorContains(t, <-ended, "switch it on")
	w.AwaitStreams(t, 0)
}

// Whatever comes over a stream: what has an id is acknowledged, the rest let be, and hearing goes on.
func TestFramesThatAreNotUnderstoodDoNoHarm(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	tr := w.connect()
	heard := w.hearing(tr)
	for i, frame := range []string{
		`{`, ``, `null`, `7`, `[]`, `"hello"`, `{"type":"hello","debug_info":7}`,
		`{"type":"slash_commands","envelope_id":"a","payload":{"command":"/deploy","text":"shop"}}`,
		`{"type":"events_api","envelope_id":"b","payload":{"event":{"type":"app_mention","text":7,"user":{"id":3},"channel":[]}}}`,
		`{"type":"events_api","payload":"none","envelope_id":"c"}`,
		`{"type":"events_api","payload":{"event":{"type":"user_change","user":null}},"envelope_id":"d"}`,
		`{"type":"interactive","envelope_id":"e","payload":{"type":"view_submission"}}`,
		`{"type":"interactive","envelope_id":"f","payload":{"type":"block_actions","actions":[{"type":"button","value":"x"}]}}`,
		`{"type":"of_next_year","envelope_id":"g \" \\ ü"}`,
		`{"type":"events_api","envelope_id":"h","payload":{"event":{"type":"message","text":"` + strings.Repeat("x", 2<<20) + `"}}}`,
	} {
		w.Frame(w.app, frame)
		text := fmt.Sprint("status ", i)
		w.Say(w.person, w.channel, w.root, w.mention(text))
		assert.Equal(t, text, w.next(heard).Text)
	}
	w.AwaitQuiet(t)
	require.Eventually(t, func() bool { return len(w.Strays()) == 7 }, botstest.Patience, time.Millisecond)
	assert.Equal(t, []string{"a", "b", "c", "d", "e", "f", `g " \ ü`}, w.Strays(), "what Slack waits for is acknowledged, by frames of their own")
	assert.Zero(t, tr.Reconnects())
}

func TestAStreamOfNothingButNonsenseIsGivenUp(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	tr := w.connect()
	heard := w.hearing(tr)
	for range 20 {
		w.Frame(w.app, "nonsense")
	}
	require.Eventually(t, func() bool { return tr.Reconnects() >= 1 && w.Streams() == 2 }, botstest.Patience, time.Millisecond)
	w.Say(w.person, w.channel, w.root, w.mention("status"))
	assert.Equal(t, "status", w.next(heard).Text)
}

// A Slack that opens streams and closes them at once is not asked for more without pause.
func TestStreamsThatEndAtOnceAreOpenedMoreAndMoreRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPipedWorkspace(t, botstest.SlackConfig{Lifetime: time.Millisecond})
		tr := w.connect()
		w.run(tr, nil)
		time.Sleep(time.Hour)
		calls := w.Calls("apps.connections.open")
		assert.Less(t, calls, 400, "in an hour; each stream at most every half minute in the end")
		assert.Greater(t, calls, 200)
	})
}

func TestATicketThatIsRefusedIsAskedForAgain(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	w.Refuse(3, http.StatusServiceUnavailable)
	heard := w.hearing(w.connect())
	w.Say(w.person, w.channel, w.root, w.mention("status"))
	assert.Equal(t, "status", w.next(heard).Text)
}

// What is known of people and channels beforehand is not asked for when they
// speak, so that an event is acknowledged at once however slow Slack's answers are.
func TestEventsAreAcknowledgedAtOnceHoweverSlowSlackAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPipedWorkspace(t, botstest.SlackConfig{})
		channels := []string{w.channel}
		for i := range 15 {
			channels = append(channels, w.Channel(fmt.Sprint("room-", i), w.person, w.app.User))
		}
		heard := w.hearing(w.connect())
		synctest.Wait() // what is read beforehand is read
		joined := w.Channel("joined", w.person)
		w.Join(joined, w.app.User)
		fresh := w.Person("Sam SRE")
		synctest.Wait() // and what was told since
		assert.Zero(t, w.Calls("users.info"))
		assert.Equal(t, 1, w.Calls("conversations.info"), "the channel that it joined")
		w.Slow(time.Hour) // whoever asks now waits
		w.Acked()
		for i := range 400 {
			who, where := w.person, channels[i%len(channels)]
			switch i % 10 {
			case 0:
				who = fresh
			case 1:
				where = joined
			case 2:
				where = w.Direct(w.person, w.app.User)
			}
			w.Say(who, where, "", w.mention("status"))
			<-heard
		}
		w.AwaitQuiet(t)
		assert.Less(t, slices.Max(w.Acked()), 10*time.Millisecond)
	})
}

// Somebody unknown is looked up before anything is heard from them; nobody else waits for that.
func TestWhoeverIsNotKnownHoldsUpNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPipedWorkspace(t, botstest.SlackConfig{})
		elsewhere := w.Channel("elsewhere", w.person, w.app.User)
		heard := w.hearing(w.connect())
		synctest.Wait() // what is read beforehand is read
		guest := w.Unannounced("Guest")
		w.Slow(20 * time.Second)
		w.Say(guest, w.channel, w.root, w.mention("from a guest"))
		w.Say(w.person, w.channel, w.root, w.mention("behind the guest"))
		w.Say(w.person, elsewhere, "", w.mention("elsewhere"))
		began := time.Now()
		assert.Equal(t, "elsewhere", w.next(heard).Text)
		assert.Zero(t, time.Since(began))
		assert.Equal(t, "from a guest", (<-heard).Text)
		assert.Equal(t, "behind the guest", (<-heard).Text)
		assert.Equal(t, 20*time.Second, time.Since(began))
	})
}

func TestWhatSlackTellsOfPeopleIsBelievedAtOnce(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	heard := w.hearing(w.connect())
	w.Say(w.person, w.channel, w.root, w.mention("status"))
	assert.Equal(t, "Dev Developer", w.next(heard).Name)
	w.Rename(w.person, "Dev Operator")
	w.AwaitQuiet(t)
	w.Say(w.person, w.channel, w.root, w.mention("status"))
	assert.Equal(t, "Dev Operator", w.next(heard).Name)
	other := w.Person("Sam SRE")
	w.Deactivate(w.person)
	w.AwaitQuiet(t)
	w.Say(w.person, w.channel, w.root, w.mention("promote shop"))
	w.Say(other, w.channel, w.root, w.mention("status"))
	assert.Equal(t, "Sam SRE", w.next(heard).Name, "who was switched off is not heard")
}

// Events may have been missed: an account is looked at again each hour, beside hearing.
func TestWhatIsKnownOfPeopleIsLookedAtAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPipedWorkspace(t, botstest.SlackConfig{})
		heard := w.hearing(w.connect())
		synctest.Wait()
		say := func() string {
			w.Say(w.person, w.channel, w.root, w.mention("status"))
			name := w.next(heard).Name
			synctest.Wait()
			return name
		}
		assert.Equal(t, "Dev Developer", say())
		w.RenameUnseen(w.person, "Dev Operator")
		assert.Equal(t, "Dev Developer", say())
		time.Sleep(2 * time.Hour)
		assert.Equal(t, "Dev Developer", say(), "what is known is used")
		assert.Equal(t, "Dev Operator", say(), "and was looked at meanwhile")
		w.RenameUnseen(w.person, "Dev Manager")
		time.Sleep(48 * time.Hour)
		assert.Equal(t, "Dev Manager", say(), "what is older than a day is not")
		assert.Equal(t, 2, w.Calls("users.info"))
	})
}

func TestAWorkspaceOfAnySizeIsReadInPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPipedWorkspace(t, botstest.SlackConfig{})
		for i := range 450 {
			w.Person(fmt.Sprint("Person ", i))
		}
		last := w.Person("Last")
		w.Fail(botstest.SlackFault{Method: "users.list"}, botstest.SlackFault{Method: "users.list", Kind: botstest.SlackLimited, After: 30 * time.Second})
		heard := w.hearing(w.connect())
		time.Sleep(time.Minute)
		assert.Equal(t, 4, w.Calls("users.list"), "three pages, and one that was refused")
		w.Say(last, w.channel, w.root, w.mention("status"))
		assert.Equal(t, "Last", w.next(heard).Name)
		assert.Zero(t, w.Calls("users.info"))
	})
}

// What was learnt and heard saves the calls that an answer would need to find its place.
func TestAnAnswerTakesOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPipedWorkspace(t, botstest.SlackConfig{})
		tr := w.connect()
		heard := w.hearing(tr)
		synctest.Wait()
		for _, where := range []string{w.channel, w.Direct(w.person, w.app.User)} {
			w.Say(w.person, where, "", w.mention("status"))
			before := w.AllCalls()
			_, err := tr.Send(t.Context(), bots.Outgoing{Key: where, Place: (<-heard).Place, Message: line("done")})
			require.NoError(t, err)
			assert.Equal(t, before+1, w.AllCalls())
		}
	})
}
