package zulip

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// reacted is the event of a reaction.
func reacted(event int, op string, user, message int, emoji string) string {
	return fmt.Sprintf(`{"id":%d,"type":"reaction","op":%q,"user_id":%d,"message_id":%d,"emoji_name":%q,"emoji_code":"2705","reaction_type":"unicode_emoji"}`,
		event, op, user, message, emoji)
}

// one is the answer of GET /messages/{id}.
func one(message string) answer { return ok(`{"result":"success","msg":"","message":` + message + `}`) }

func TestAPersonsReactionToAMessageOfTheBotsOwnIsAPress(t *testing.T) {
	s := newScript(t).
		on("GET /messages/51", one(message(51, 7, "Go on?", ""))).
		on("GET /messages/52", one(message(52, 11, "@**platform** status", ""))).
		on("GET /messages/53", fails(http.StatusBadRequest, "BAD_REQUEST", "")).
		on("GET /events", events(
			reacted(1, "add", 7, 51, "eyes"),      // the bot's own
			reacted(2, "add", 8, 51, "check"),     // another bot's
			reacted(3, "remove", 10, 51, "check"), // taken off
			reacted(4, "add", 10, 52, "check"),    // to somebody else's message
			reacted(5, "add", 10, 53, "check"),    // to one that cannot be read
			reacted(6, "add", 10, 51, "check"),
			reacted(7, "add", 11, 51, "cross_mark"),
			reacted(8, "add", 10, 52, "tada"),
			said(9, message(60, 10, "@**platform** that is all", ""), `"mentioned"`)),
			answer{hold: true})
	heard, _ := listening(t, s.transport(botstest.NewStore(), func(c *Config) {
		c.Reactions, c.Now = true, func() time.Time { return time.Unix(1000, 0) }
	}), nil)
	assert.Equal(t, bots.Heard{
		Key: "zulip:platform:reaction:51:10:check", ID: "51", UserID: "10", ChatID: "zulip:10", Name: "Dev Developer",
		Place: commands.Place{Stream: "shop", Topic: "talk"}, Link: s.url + "/#narrow/channel/3-shop/topic/talk/near/51",
		At: time.Unix(1000, 0), Press: &bots.Press{On: "51", Emoji: "check"},
	}, next(t, heard))
	assert.Equal(t, "zulip:platform:reaction:51:11:cross_mark", next(t, heard).Key)
	assert.Equal(t, "that is all", next(t, heard).Text, "nothing holds up what follows")
	assert.Len(t, s.requests("GET /messages/51"), 1, "a message is asked for once")
	assert.Len(t, s.requests("GET /messages/52"), 1)
	assert.JSONEq(t, `["message","realm_user","realm","reaction"]`, s.requests("POST /register")[0].Form.Get("event_types"))
}

func TestAMessageIsNotEditedOnceTheOrganisationForbidsIt(t *testing.T) {
	for _, c := range []struct {
		name, limits string
		after        time.Duration
		asked        int // edits that the server sees
	}{
		{"within the limit", `"realm_message_content_edit_limit_seconds":600,`, 600 * time.Second, 1},
		{"after it", `"realm_message_content_edit_limit_seconds":600,`, 601 * time.Second, 0},
		{"without a limit", `"realm_message_content_edit_limit_seconds":null,`, 24 * time.Hour, 1},
		{"where nothing is edited", `"realm_message_content_edit_limit_seconds":600,"realm_allow_message_editing":false,`, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var passed atomic.Int64
			s := newScript(t).
				on("POST /register", ok(strings.Replace(registered, `"queue_id"`, c.limits+`"queue_id"`, 1))).
				on("POST /messages", ok(`{"result":"success","msg":"","id":51}`)).
				on("PATCH /messages/51", ok(succeeded))
			began := time.Now()
			tr := s.transport(botstest.NewStore(), func(cfg *Config) {
				cfg.Now = func() time.Time { return began.Add(time.Duration(passed.Load())) }
			})
			listening(t, tr, nil)
			s.await("GET /events", 1)
			out := bots.Outgoing{Key: "k", Place: commands.Place{Stream: "shop", Topic: "talk"}, Message: markup.Message{Kind: "test", Title: markup.Spans(markup.T("one"))}}
			id, err := tr.Send(t.Context(), out)
			require.NoError(t, err)
			passed.Store(int64(c.after))
			err = tr.Edit(t.Context(), id, out)
			if c.asked == 0 {
				require.ErrorIs(t, err, bots.ErrTooOld)
			} else {
				require.NoError(t, err)
			}
			assert.Len(t, s.requests("PATCH /messages/51"), c.asked)
		})
	}
}

func TestATransportTellsHowItIsConnected(t *testing.T) {
	var passed atomic.Int64
	s := newScript(t).on("GET /events",
		answer{status: http.StatusBadGateway, body: "<html>"},
		events(said(1, message(31, 10, "@**platform** status", ""), `"mentioned"`)), answer{hold: true})
	began := time.Now()
	tr := s.transport(botstest.NewStore(), func(cfg *Config) {
		cfg.Now = func() time.Time { return began.Add(time.Duration(passed.Load())) }
	})
	assert.False(t, tr.Connected(), "it has not begun")
	heard, _ := listening(t, tr, nil)
	next(t, heard)
	assert.True(t, tr.Connected())
	assert.Equal(t, int64(1), tr.Reconnects(), "one poll was lost")
	passed.Store(int64(61 * time.Second))
	assert.False(t, tr.Connected(), "not even a heartbeat came")
}

func TestAMessageHasAnAddressByItsIdAlone(t *testing.T) {
	tr := newScript(t).transport(botstest.NewStore())
	assert.Equal(t, tr.Client().Site()+"/#narrow/near/31", tr.Link(commands.Place{}, "31,32"))
	assert.Empty(t, tr.Link(commands.Place{}, "odd"))
}

func TestABotSubscribesWhereItIsToHearReactions(t *testing.T) {
	for _, hears := range []bool{true, false} {
		s := newScript(t).on("POST /messages", ok(`{"result":"success","msg":"","id":51}`)).
			on("POST /users/me/subscriptions", fails(http.StatusBadRequest, "BAD_REQUEST", ""))
		tr := s.transport(botstest.NewStore(), func(c *Config) { c.Reactions = hears })
		for range 2 {
			_, err := tr.Send(t.Context(), bots.Outgoing{Key: "k", Place: commands.Place{Stream: "shop", Topic: "talk"}, Message: markup.Message{Kind: "test", Title: markup.Spans(markup.T("one"))}})
			require.NoError(t, err, "a channel that cannot be subscribed to is posted to")
		}
		asked := s.requests("POST /users/me/subscriptions")
		if hears {
			require.Len(t, asked, 1)
			assert.JSONEq(t, `[{"name":"shop"}]`, asked[0].Form.Get("subscriptions"))
		} else {
			assert.Empty(t, asked)
		}
	}
}
