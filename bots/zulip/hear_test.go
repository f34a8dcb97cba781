package zulip

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/commands"
)

// listening runs a transport and hands what it hears to the channel.
func listening(t *testing.T, tr *Transport, take func(bots.Heard) error) (heard chan bots.Heard, ended chan error) {
	t.Helper()
	heard, ended = make(chan bots.Heard, 100), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		ended <- tr.Run(ctx, func(_ context.Context, h bots.Heard) error {
			if take != nil {
				if err := take(h); err != nil {
					return err
				}
			}
			heard <- h
			return nil
		})
	}()
	t.Cleanup(func() { cancel(); <-gone })
	return heard, ended
}

// next is the next message heard.
func next(t *testing.T, heard chan bots.Heard) bots.Heard {
	t.Helper()
	select {
	case h := <-heard:
		return h
	case <-time.After(10 * time.Second):
		require.FailNow(t, "nothing is heard")
		return bots.Heard{}
	}
}

func TestAHeartbeatDropsNoneOfItsBatch(t *testing.T) {
	s := newScript(t).on("GET /events", events(
		said(0, message(31, 10, "@**platform** status shop", ""), `"mentioned"`),
		fmt.Sprintf(heartbeat, 1),
		`{"id":2,"type":"message","message":"odd"}`,
		said(5, message(32, 10, "@**platform|7**: promote shop", ""), `"mentioned"`)),
		answer{hold: true})
	store := botstest.NewStore()
	heard, _ := listening(t, s.transport(store), nil)

	first := next(t, heard)
	assert.Equal(t, "status shop", first.Text)
	assert.Equal(t, "zulip:platform:31", first.Key)
	assert.Equal(t, "zulip:10", first.ChatID)
	assert.Equal(t, commands.Place{Stream: "shop", Topic: "talk"}, first.Place)
	assert.Equal(t, s.url+"/#narrow/channel/3-shop/topic/talk/near/31", first.Link)
	assert.Equal(t, "promote shop", next(t, heard).Text)
	polls := s.await("GET /events", 2)
	assert.Equal(t, "-1", polls[0].Form.Get("last_event_id"))
	assert.Equal(t, "5", polls[1].Form.Get("last_event_id"), "ids are not consecutive")
	cursor, err := store.Cursor(t.Context(), "zulip:platform")
	require.NoError(t, err)
	assert.Equal(t, "32", cursor)
}

func TestWhoIsNotHeard(t *testing.T) {
	mentioned := `"mentioned"`
	s := newScript(t).on("GET /events", events(
		said(1, message(1, 7, "@**platform** status", ""), mentioned),           // itself
		said(2, message(2, 8, "@**platform** status", ""), mentioned),           // another bot
		said(3, message(3, 5, "@**platform** status", ""), mentioned),           // a bot of the server's own
		said(4, message(4, 10, "@**platform** status", ""), ``),                 // in code: the server did not flag it
		said(5, message(5, 10, "@*bots* status", ""), mentioned),                // through a group
		said(6, message(6, 10, "@_**platform** status @*bots*", ""), mentioned), // silent
		`{"id":7,"type":"update_message","message_id":8,"content":"@**platform** promote shop","flags":["mentioned"]}`,
		said(8, message(9, 10, "@**all** and @**platform** hello", ""), `"mentioned","stream_wildcard_mentioned"`)),
		answer{hold: true})
	heard, _ := listening(t, s.transport(botstest.NewStore()), nil)
	got := next(t, heard)
	assert.Equal(t, "9", got.ID, "the first that is heard")
	assert.Equal(t, "@**all** and hello", got.Text)
}

func TestDirectMessagesAreHeardWithoutAMention(t *testing.T) {
	direct := func(id int, content string, people ...int) string {
		var list []string
		for _, p := range people {
			list = append(list, fmt.Sprintf(`{"id":%d,"email":"u%d@x","full_name":"U","is_mirror_dummy":false}`, p, p))
		}
		return fmt.Sprintf(`{"id":%d,"type":"private","display_recipient":[%s],"subject":"","sender_id":10,"sender_full_name":"Dev Developer","content":%q,"timestamp":1594825416}`,
			id, strings.Join(list, ","), content)
	}
	s := newScript(t).on("GET /events", events(
		said(1, direct(21, " status shop ", 10, 7), ``),
		said(2, direct(22, "lunch?", 10, 11, 7), ``),
		said(3, direct(23, "@**platform** status", 10, 11, 7), `"mentioned"`)),
		answer{hold: true})
	heard, _ := listening(t, s.transport(botstest.NewStore()), nil)
	one := next(t, heard)
	assert.Equal(t, "status shop", one.Text)
	assert.Equal(t, commands.Place{Direct: "10"}, one.Place)
	assert.Equal(t, s.url+"/#narrow/dm/10-dm/near/21", one.Link)
	assert.Equal(t, time.Unix(1594825416, 0).UTC(), one.At)
	group := next(t, heard)
	assert.Equal(t, "23", group.ID, "among several people a bot answers to its name")
	assert.Equal(t, commands.Place{Direct: "10,11"}, group.Place)
}

func TestARenamedBotKnowsItsOldAndNewName(t *testing.T) {
	s := newScript(t).on("GET /events", events(
		`{"id":1,"type":"realm_user","op":"update","person":{"user_id":7,"full_name":"delivery"}}`,
		said(2, message(1, 10, "@**delivery** status", ""), `"mentioned"`),
		said(3, message(2, 10, "@**platform** where shop", ""), `"mentioned"`),
		said(4, message(3, 10, "ask @**Sam SRE**, @**platform|7** builds", ""), `"mentioned"`)),
		answer{hold: true})
	tr := s.transport(botstest.NewStore())
	heard, _ := listening(t, tr, nil)
	assert.Equal(t, "status", next(t, heard).Text)
	assert.Equal(t, "where shop", next(t, heard).Text, "nobody else bears the name")
	assert.Equal(t, "ask @**Sam SRE**, builds", next(t, heard).Text)
	assert.Equal(t, bots.User{ID: "7", Name: "delivery"}, tr.Self())
}

func TestAQueueThatIsGoneIsMadeAnewAndTheGapIsFilled(t *testing.T) {
	for _, c := range []struct {
		name string
		end  answer
	}{
		{"the server forgot it", fails(http.StatusBadRequest, "BAD_EVENT_QUEUE_ID", `,"queue_id":"q1"`)},
		{"its events were pruned, or renumbered", fails(http.StatusBadRequest, "BAD_REQUEST", "")},
	} {
		t.Run(c.name, func(t *testing.T) {
			missed := message(33, 10, "@**platform** promote shop", `,"flags":["mentioned"]`)
			s := newScript(t).
				on("POST /register", ok(registered), ok(strings.Replace(registered, `"q1"`, `"q2"`, 1))).
				on("GET /messages", ok(nothing), ok(nothing),
					page(true, message(32, 10, "@**platform** status shop", `,"flags":["mentioned"]`), missed), page(true)).
				on("GET /events",
					events(said(7, message(32, 10, "@**platform** status shop", ""), `"mentioned"`)),
					c.end,
					events(said(0, missed, `"mentioned"`), said(1, message(34, 10, "@**platform** where x", ""), `"mentioned"`)),
					answer{hold: true})
			heard, _ := listening(t, s.transport(botstest.NewStore()), nil)
			assert.Equal(t, "status shop", next(t, heard).Text)
			assert.Equal(t, "promote shop", next(t, heard).Text, "from the history")
			assert.Equal(t, "where x", next(t, heard).Text, "each message once")
			polls := s.await("GET /events", 3)
			assert.Equal(t, "q2", polls[2].Form.Get("queue_id"))
			assert.Equal(t, "-1", polls[2].Form.Get("last_event_id"), "event ids are a queue's own")
			assert.Equal(t, "32", s.requests("GET /messages")[2].Form.Get("anchor"))
		})
	}
}

func TestALostPollGoesOnWithTheSameQueue(t *testing.T) {
	s := newScript(t).on("GET /events",
		answer{hangUp: true},
		answer{status: http.StatusBadGateway, body: "<html>"},
		answer{status: http.StatusTooManyRequests, body: `{"result":"error","msg":"","code":"RATE_LIMIT_HIT","retry-after":0.05}`},
		events(said(1, message(31, 10, "@**platform** status", ""), `"mentioned"`)), answer{hold: true})
	heard, _ := listening(t, s.transport(botstest.NewStore()), nil)
	assert.Equal(t, "status", next(t, heard).Text)
	assert.Len(t, s.requests("POST /register"), 1)
}

func TestAWrongKeyEndsItWithAPlainError(t *testing.T) {
	for _, route := range []string{"POST /register", "GET /events", "GET /users/me", "GET /messages"} {
		t.Run(route, func(t *testing.T) {
			s := newScript(t).on(route, fails(http.StatusUnauthorized, "UNAUTHORIZED", ""))
			_, ended := listening(t, s.transport(botstest.NewStore()), nil)
			err := <-ended
			require.ErrorContains(t, err, "does not accept the API key of platform-bot@x; put the right key into the bot's zuliprc")
			assert.NotContains(t, err.Error(), "secret-key")
			assert.Len(t, s.requests(route), 1, "it is not asked again")
		})
	}
}

func TestAMessageThatCannotBeRecordedIsNotAcknowledged(t *testing.T) {
	s := newScript(t).on("GET /events", events(said(4, message(31, 10, "@**platform** status", ""), `"mentioned"`)), answer{hold: true})
	store := botstest.NewStore()
	failures := 2
	heard, _ := listening(t, s.transport(store), func(bots.Heard) error {
		if failures > 0 {
			failures--
			assert.Len(t, s.requests("GET /events"), 1, "asking on would acknowledge it")
			cursor, err := store.Cursor(t.Context(), "zulip:platform")
			assert.NoError(t, err)
			assert.NotEqual(t, "31", cursor)
			return errors.New("disk full")
		}
		return nil
	})
	assert.Equal(t, "31", next(t, heard).ID)
}

func TestTheHistoryIsReadInPagesInOrder(t *testing.T) {
	mention := func(id int) string {
		return message(id, 10, fmt.Sprintf("@**platform** m%d", id), `,"flags":["mentioned"]`)
	}
	direct := func(id int) string {
		return fmt.Sprintf(`{"id":%d,"type":"private","display_recipient":[{"id":7},{"id":10}],"subject":"","sender_id":10,"sender_full_name":"D","content":"d%d","timestamp":1}`, id, id)
	}
	s := newScript(t).on("GET /messages",
		page(false, mention(41), mention(43)), page(true, direct(42), direct(46)), // mentions are known up to 43
		page(true, mention(45)), page(true, direct(46)))
	store := botstest.NewStore()
	require.NoError(t, store.SetCursor(t.Context(), "zulip:platform", "40"))
	heard, _ := listening(t, s.transport(store), nil)
	var texts []string
	for range 5 {
		texts = append(texts, next(t, heard).Text)
	}
	assert.Equal(t, []string{"m41", "d42", "m43", "m45", "d46"}, texts)
	s.await("GET /events", 1)
	cursor, err := store.Cursor(t.Context(), "zulip:platform")
	require.NoError(t, err)
	assert.Equal(t, "46", cursor)
	anchors := s.requests("GET /messages")
	assert.Equal(t, "40", anchors[0].Form.Get("anchor"))
	assert.Equal(t, "43", anchors[2].Form.Get("anchor"))
}

func TestAnEditMakesNoCommandInTheHistoryEither(t *testing.T) {
	s := newScript(t).on("GET /messages", page(true,
		message(41, 10, "@**platform** promote shop", `,"flags":["mentioned"],"last_edit_timestamp":9,"edit_history":[{"timestamp":9,"user_id":10,"prev_content":"good morning"}]`),
		message(42, 10, "@**platform** promote shop", `,"flags":["mentioned"],"last_edit_timestamp":9`),
		message(43, 10, "@**platform** promote all", `,"flags":["mentioned"],"last_edit_timestamp":9,"edit_history":[{"timestamp":9,"prev_content":"@**platform** promote two"},{"timestamp":8,"prev_content":"@**platform** promote one"}]`),
		message(44, 10, "@**platform** status", `,"flags":["mentioned"],"last_edit_timestamp":9,"edit_history":[{"timestamp":9,"prev_topic":"x"}]`),
	), ok(nothing))
	store := botstest.NewStore()
	require.NoError(t, store.SetCursor(t.Context(), "zulip:platform", "40"))
	heard, _ := listening(t, s.transport(store), nil)
	assert.Equal(t, "promote one", next(t, heard).Text, "what was first asked")
	assert.Equal(t, "status", next(t, heard).Text, "moved, not edited")
}

func TestTheFirstStartHearsWhatIsRecentAndNothingOlder(t *testing.T) {
	old := strings.Replace(message(12, 10, "@**platform** old", `,"flags":["mentioned"]`), fmt.Sprintf(`"timestamp":%d`, time.Now().Unix()), `"timestamp":1000`, 1)
	s := newScript(t).on("GET /messages", page(true, old, message(15, 10, "@**platform** new", `,"flags":["mentioned"]`)), ok(nothing))
	store := botstest.NewStore()
	heard, _ := listening(t, s.transport(store), nil)
	assert.Equal(t, "new", next(t, heard).Text)
	assert.Equal(t, "newest", s.requests("GET /messages")[0].Form.Get("anchor"))
	s.await("GET /events", 1)
	cursor, err := store.Cursor(t.Context(), "zulip:platform")
	require.NoError(t, err)
	assert.Equal(t, "15", cursor)
}
