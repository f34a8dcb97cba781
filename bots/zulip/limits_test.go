package zulip

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/markup"
)

// limited is a registration of an organisation whose messages are as long as that.
func limited(n int) answer {
	return ok(strings.Replace(registered, `"max_message_length":10000`, fmt.Sprintf(`"max_message_length":%d`, n), 1))
}

// contents are what was posted, in order.
func (s *script) contents() (list []string) {
	for _, r := range s.requests("POST /messages") {
		list = append(list, r.Form.Get("content"))
	}
	return list
}

func TestLimitsAreAskedForOnceBeforeAnythingIsPostedOrLookedFor(t *testing.T) {
	for _, c := range []struct {
		name     string
		register answer
		limit    int
	}{
		{"fewer than Zulip's", limited(5000), 5000},
		{"more than Zulip's: what every client shows whole", limited(20_000), markup.ZulipLimit},
		{"not told: Zulip's", ok(strings.Replace(registered, `"max_message_length":10000,`, "", 1)), markup.ZulipLimit},
		{"fewer than a message can be divided into", limited(300), 4000},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t).on("POST /register", c.register).on("POST /messages", posted(51)).on("PATCH /messages/51", ok(succeeded))
			tr := s.transport(botstest.NewStore())
			o := long()
			_, err := tr.Send(t.Context(), o)
			require.NoError(t, err)
			assert.Equal(t, markup.ZulipWithin(o.Message, c.limit), s.contents())
			_, _, err = tr.Find(t.Context(), o)
			require.NoError(t, err)
			require.NoError(t, tr.Edit(t.Context(), "51", out("hello")))
			assert.Len(t, s.requests("POST /register"), 1)
			assert.Len(t, s.requests("DELETE /events"), 1, "the queue is given back")
			assert.JSONEq(t, `["realm"]`, s.requests("POST /register")[0].Form.Get("event_types"))
		})
	}
}

func TestWithoutItsLimitsNothingIsSentAndAMessageWaits(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer answer
		after  time.Duration
	}{
		{"a lost answer", answer{hangUp: true}, 0},
		{"a gateway's error", answer{status: http.StatusBadGateway, body: "<html>bad gateway</html>"}, 0},
		{"a page instead of an answer", ok("<html>sign in to this network</html>"), 0},
		{"a rate limit", fails(http.StatusTooManyRequests, "RATE_LIMIT_HIT", `,"retry-after":7.5`), 7500 * time.Millisecond},
		{"a wrong key", fails(http.StatusUnauthorized, "UNAUTHORIZED", ""), fatalPause},
		{"a refusal", fails(http.StatusBadRequest, "BAD_REQUEST", ""), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := func() (*script, *Transport) {
				s := newScript(t).on("POST /register", c.answer)
				return s, s.transport(botstest.NewStore())
			}
			for name, act := range map[string]func(*Transport) error{
				"send": func(tr *Transport) error { _, err := tr.Send(t.Context(), out("hello")); return err },
				"find": func(tr *Transport) error { _, _, err := tr.Find(t.Context(), out("hello")); return err },
				"edit": func(tr *Transport) error { return tr.Edit(t.Context(), "51", out("hello")) },
			} {
				s, one := tr()
				err := act(one)
				var again *bots.RetryError
				require.ErrorAs(t, err, &again, name)
				require.ErrorContains(t, err, "the organisation's limits")
				assert.False(t, again.Unknown, "%s: nothing was posted", name)
				assert.Equal(t, c.after, again.After, name)
				for _, route := range []string{"POST /messages", "GET /messages", "PATCH /messages/51"} {
					assert.Empty(t, s.requests(route), name)
				}
			}
		})
	}
}

func TestLimitsFollowTheOrganisation(t *testing.T) {
	s := newScript(t).on("GET /events", events(
		`{"id":1,"type":"realm","op":"update","property":"max_message_length","value":4500}`,
		`{"id":2,"type":"realm","op":"update_dict","property":"default","data":{"max_topic_length":20,"message_content_edit_limit_seconds":60,"allow_edit_history":true}}`,
		`{"id":3,"type":"realm","op":"update","property":"name","value":"New Name"}`,
		`{"id":4,"type":"realm","op":"update","property":"max_topic_length","value":"long"}`,
		`{"id":5,"type":"realm","op":"deactivated","realm_id":2}`,
		said(6, message(60, 10, "@**platform** now", ""), `"mentioned"`)),
		answer{hold: true}).on("POST /messages", posted(51))
	tr := s.transport(botstest.NewStore())
	heard, _ := listening(t, tr, nil)
	assert.Equal(t, "now", next(t, heard).Text, "an event that cannot be read holds up nothing")
	o := long()
	o.Place.Topic = strings.Repeat("t", 30)
	_, err := tr.Send(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, markup.ZulipWithin(o.Message, 4500), s.contents())
	assert.Equal(t, strings.Repeat("t", 19)+"…", s.requests("POST /messages")[0].Form.Get("topic"))
	assert.Len(t, s.requests("POST /register"), 1, "the queue's own registration told")
}

func TestWhatAChangeLeavesOfTheEditLimit(t *testing.T) {
	const minute = time.Minute
	for _, c := range []struct {
		name, data string
		from, want time.Duration
	}{
		{"another time", `{"message_content_edit_limit_seconds":120}`, minute, 2 * minute},
		{"for ever", `{"message_content_edit_limit_seconds":null}`, minute, 0},
		{"switched off", `{"allow_message_editing":false}`, minute, -1},
		{"switched off with a time", `{"allow_message_editing":false,"message_content_edit_limit_seconds":120}`, minute, -1},
		{"a time while it is off", `{"message_content_edit_limit_seconds":120}`, -1, -1},
		{"switched on", `{"allow_message_editing":true}`, -1, 0},
		{"switched on with a time", `{"allow_message_editing":true,"message_content_edit_limit_seconds":120}`, -1, 2 * minute},
		{"below nothing", `{"message_content_edit_limit_seconds":-5}`, minute, 0},
		{"something else", `{"description":"x"}`, minute, minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			var change limitsChange
			require.NoError(t, json.Unmarshal([]byte(c.data), &change))
			l := Limits{Message: 1, Topic: 2, Stream: 3, Edit: c.from}
			change.apply(&l)
			assert.Equal(t, Limits{Message: 1, Topic: 2, Stream: 3, Edit: c.want}, l)
		})
	}
}

// The organisation changed its limit between two attempts at one message.
func TestAMessageBegunByAnotherLimitIsNotPostedTwice(t *testing.T) {
	o := long()
	before, after := markup.ZulipWithin(o.Message, 10_000), markup.ZulipWithin(o.Message, 5000)
	require.Len(t, before, 3)
	require.Len(t, after, 5)
	mine := func(parts ...string) answer {
		var list []string
		for i, p := range parts {
			list = append(list, message(51+i, 7, p, ""))
		}
		return page(true, list...)
	}
	for _, c := range []struct {
		name         string
		limit        int
		there, sends []string
		id           string
	}{
		{"it is there whole", 5000, before, nil, "51,52,53"},
		{"a part of it fits no more: it is posted anew, uncut", 5000, before[:1], after, ""},
		{"what is missing still fits", 9000, before[:2], before[2:], ""},
		{"it was begun by the limit that holds", 5000, after[:2], after[2:], ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t).on("POST /register", limited(c.limit)).on("GET /messages", mine(c.there...)).on("POST /messages", posted(90))
			tr := s.transport(botstest.NewStore())
			again := o
			again.Since = time.Now()
			id, found, err := tr.Find(t.Context(), again)
			require.NoError(t, err)
			assert.Equal(t, c.id != "", found)
			assert.Equal(t, c.id, id)
			if found {
				return
			}
			_, err = tr.Send(t.Context(), again)
			require.NoError(t, err)
			assert.Equal(t, c.sends, s.contents())
		})
	}
}

func TestWhatTheServerCutIsFoundToo(t *testing.T) {
	for _, c := range []struct {
		name, kept, sent string
		want             bool
	}{
		{"cut", "abc\n[message truncated]", "abcdef", true},
		{"cut after leading lines", "abc\n[message truncated]", "\n\nabcdef", true},
		{"another's", "abx\n[message truncated]", "abcdef", false},
		{"nothing but the mark", "\n[message truncated]", "abcdef", false},
		{"words that end so", "abc\n[message truncated]", "abc\n[message truncated]", true},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, same(c.kept, c.sent)) })
	}
}
