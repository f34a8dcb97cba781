package zulip

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
)

// out is a message of one line to a stream.
func out(text string) bots.Outgoing {
	return bots.Outgoing{
		Key: "zulip:platform:31/answer", Place: commands.Place{Stream: "shop", Topic: "talk"},
		Message: markup.Message{Kind: "test", Title: markup.Spans(markup.T(text))},
	}
}

// long is a message of several parts.
func long() bots.Outgoing {
	o := out("log")
	var lines []string
	for i := range 400 {
		lines = append(lines, fmt.Sprintf("line %d %s", i, strings.Repeat("x", 50)))
	}
	o.Message.Blocks = []markup.Block{markup.Code("", lines...)}
	return o
}

func posted(id int) answer { return ok(fmt.Sprintf(`{"result":"success","msg":"","id":%d}`, id)) }

func TestAPostNamesPlaceAndQueue(t *testing.T) {
	s := newScript(t).on("POST /messages", posted(51))
	tr := s.transport(botstest.NewStore())
	listening(t, tr, nil)
	s.await("GET /events", 1)
	id, err := tr.Send(t.Context(), out("hello & goodbye + ä"))
	require.NoError(t, err)
	assert.Equal(t, "51", id)
	f := s.requests("POST /messages")[0].Form
	assert.Equal(t, "stream", f.Get("type"))
	assert.Equal(t, "shop", f.Get("to"))
	assert.Equal(t, "talk", f.Get("topic"))
	assert.Equal(t, "hello & goodbye + ä", f.Get("content"))
	assert.Equal(t, "q1", f.Get("queue_id"))
	assert.Len(t, f.Get("local_id"), 24)
}

func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		name  string
		place commands.Place
		want  map[string]string
		err   string
	}{
		{"a stream that reads as a number is quoted", commands.Place{Stream: "123", Topic: "t"}, map[string]string{"to": `"123"`}, ""},
		{"a long topic is cut where the server would", commands.Place{Stream: "s", Topic: strings.Repeat("ä", 70)}, map[string]string{"topic": strings.Repeat("ä", 59) + "…"}, ""},
		{"one person", commands.Place{Direct: "10"}, map[string]string{"type": "direct", "to": "[10]"}, ""},
		{"several people", commands.Place{Direct: "10,11"}, map[string]string{"to": "[10,11]"}, ""},
		{"nobody", commands.Place{}, nil, "a stream or a person"},
		{"no id", commands.Place{Direct: "dev"}, nil, `"dev" is no id`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t).on("POST /messages", posted(51))
			o := out("hello")
			o.Place = c.place
			_, err := s.transport(botstest.NewStore()).Send(t.Context(), o)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				require.Empty(t, s.requests("POST /messages"))
				return
			}
			require.NoError(t, err)
			for name, value := range c.want {
				assert.Equal(t, value, s.requests("POST /messages")[0].Form.Get(name), name)
			}
		})
	}
}

func TestAStreamThatDoesNotExistIsMadeWithItsPeople(t *testing.T) {
	s := newScript(t).
		on("POST /messages", fails(http.StatusBadRequest, "STREAM_DOES_NOT_EXIST", `,"stream":"shop"`), posted(51)).
		on("POST /users/me/subscriptions", ok(succeeded))
	id, err := s.transport(botstest.NewStore()).Send(t.Context(), out("hello"))
	require.NoError(t, err)
	assert.Equal(t, "51", id)
	f := s.requests("POST /users/me/subscriptions")[0].Form
	assert.JSONEq(t, `[{"name":"shop","description":"Made by the platform bot."}]`, f.Get("subscriptions"))
	assert.Equal(t, "[7,10,11]", f.Get("principals"), "the bot and those it is for")
	posts := s.requests("POST /messages")
	assert.Equal(t, posts[0].Form, posts[1].Form)
}

func TestPeopleWhoCannotBeSubscribedDoNotKeepTheBotFromPosting(t *testing.T) {
	s := newScript(t).
		on("POST /messages", fails(http.StatusBadRequest, "STREAM_DOES_NOT_EXIST", ""), posted(51)).
		on("POST /users/me/subscriptions", fails(http.StatusBadRequest, "BAD_REQUEST", ""), ok(succeeded))
	_, err := s.transport(botstest.NewStore()).Send(t.Context(), out("hello"))
	require.NoError(t, err)
	assert.Empty(t, s.requests("POST /users/me/subscriptions")[1].Form.Get("principals"))
}

func TestWhatAFailedPostMeans(t *testing.T) {
	for _, c := range []struct {
		name    string
		answer  answer
		final   bool
		unknown bool
		after   time.Duration
	}{
		{"a rate limit in float seconds", fails(http.StatusTooManyRequests, "RATE_LIMIT_HIT", `,"retry-after":28.706`), false, false, 28706 * time.Millisecond},
		{"a rate limit in the header", answer{status: http.StatusTooManyRequests, body: `{"result":"error","msg":"","code":"RATE_LIMIT_HIT"}`, header: http.Header{"Retry-After": {"3.5"}}}, false, false, 3500 * time.Millisecond},
		{"a lost answer", answer{hangUp: true}, false, true, 0},
		{"a gateway's error", answer{status: http.StatusBadGateway, body: "<html>bad gateway</html>"}, false, true, 0},
		{"an error of the server", fails(http.StatusInternalServerError, "INTERNAL", ""), false, true, 0},
		{"a wrong key: the message waits until it is mended", fails(http.StatusUnauthorized, "UNAUTHORIZED", ""), false, false, time.Minute},
		{"something else than Zulip", answer{status: http.StatusNotFound, body: "no such page"}, false, false, 0},
		{"a refusal", fails(http.StatusBadRequest, "BAD_REQUEST", ""), true, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t).on("POST /messages", c.answer)
			_, err := s.transport(botstest.NewStore()).Send(t.Context(), out("hello"))
			require.Error(t, err)
			assert.Len(t, s.requests("POST /messages"), 1, "a post is never repeated by itself")
			var again *bots.RetryError
			require.Equal(t, !c.final, errors.As(err, &again), "%v", err)
			if !c.final {
				assert.Equal(t, c.unknown, again.Unknown, "%v", err)
				assert.Equal(t, c.after, again.After)
			}
		})
	}
	t.Run("no connection: nothing was sent", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, l.Close())
		tr := newScript(t).transport(botstest.NewStore(), func(c *Config) { c.Site = "http://" + l.Addr().String() })
		_, err = tr.Send(t.Context(), out("hello"))
		var again *bots.RetryError
		require.ErrorAs(t, err, &again)
		assert.False(t, again.Unknown)
	})
}

func TestARateLimitKeepsTheWholeAccountQuiet(t *testing.T) {
	s := newScript(t).on("POST /messages", fails(http.StatusTooManyRequests, "RATE_LIMIT_HIT", `,"retry-after":60.0`))
	tr := s.transport(botstest.NewStore())
	for range 3 {
		_, err := tr.Send(t.Context(), out("hello"))
		var again *bots.RetryError
		require.ErrorAs(t, err, &again)
		assert.InDelta(t, 60, again.After.Seconds(), 5)
	}
	assert.Len(t, s.requests("POST /messages"), 1)
}

func TestALostPostIsFoundInTheQueue(t *testing.T) {
	s := newScript(t).on("POST /messages", answer{hangUp: true})
	tr := s.transport(botstest.NewStore())
	heard, _ := listening(t, tr, nil)
	s.await("GET /events", 1)
	_, err := tr.Send(t.Context(), out("hello"))
	require.Error(t, err)
	local := s.requests("POST /messages")[0].Form.Get("local_id")
	own := fmt.Sprintf(`{"id":1,"type":"message","flags":[],"local_message_id":%q,"message":%s}`, local, message(51, 7, "hello", ""))

	// The held poll is given up with its run; the next run's queue tells.
	s.on("GET /events", events(own, said(2, message(52, 10, "@**platform** status", ""), `"mentioned"`)), answer{hold: true})
	second := s.transport(botstest.NewStore())
	secondHeard, _ := listening(t, second, nil)
	assert.Equal(t, "52", next(t, secondHeard).ID)
	o := out("hello")
	o.Since = time.Now()
	id, found, err := second.Find(t.Context(), o)
	require.NoError(t, err)
	assert.True(t, found)
	assert.Equal(t, "51", id)
	assert.Empty(t, heard)
}

func TestALostPostIsFoundInItsPlace(t *testing.T) {
	since := time.Now()
	at := func(id, sender int, content string, when time.Time) string {
		return fmt.Sprintf(`{"id":%d,"type":"stream","stream_id":3,"display_recipient":"shop","subject":"talk","sender_id":%d,"content":%q,"timestamp":%d}`, id, sender, content, when.Unix())
	}
	for _, c := range []struct {
		name     string
		messages []string
		id       string
	}{
		{"nothing was said", nil, ""},
		{"the same words", []string{at(51, 7, "hello", since)}, "51"},
		{"what the server strips is no difference", []string{at(51, 7, "hello\n ", since)}, "51"},
		{"other words", []string{at(51, 7, "hello there", since)}, ""},
		{"somebody else's", []string{at(51, 10, "hello", since)}, ""},
		{"before the attempt", []string{at(51, 7, "hello", since.Add(-time.Minute))}, ""},
		{"a clock a second behind", []string{at(51, 7, "hello", since.Add(-time.Second))}, "51"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t).on("GET /messages", page(true, c.messages...))
			o := out("hello")
			o.Since = since
			id, found, err := s.transport(botstest.NewStore()).Find(t.Context(), o)
			require.NoError(t, err)
			assert.Equal(t, c.id != "", found)
			assert.Equal(t, c.id, id)
			assert.JSONEq(t, `[{"operator":"channel","operand":"shop"},{"operator":"topic","operand":"talk"}]`, s.requests("GET /messages")[0].Form.Get("narrow"))
		})
	}
}

func TestTheSameWordsOfAnotherMessageAreNotTakenForThisOne(t *testing.T) {
	s := newScript(t).on("POST /messages", posted(51), answer{hangUp: true}).
		on("GET /messages", page(true, message(51, 7, "hello", "")))
	tr := s.transport(botstest.NewStore())
	_, err := tr.Send(t.Context(), out("hello"))
	require.NoError(t, err)
	second := out("hello")
	second.Key = "zulip:platform:32/answer"
	_, err = tr.Send(t.Context(), second)
	require.Error(t, err)
	second.Since = time.Now()
	_, found, err := tr.Find(t.Context(), second)
	require.NoError(t, err)
	assert.False(t, found)
}

func TestAMessageOfSeveralPartsIsCompletedNotRepeated(t *testing.T) {
	o := long()
	parts := markup.Zulip(o.Message)
	require.GreaterOrEqual(t, len(parts), 3)
	s := newScript(t).on("POST /messages", posted(51), answer{hangUp: true}, posted(53))
	_, err := s.transport(botstest.NewStore()).Send(t.Context(), o)
	require.Error(t, err)

	// Another process: the second part had arrived.
	s.on("GET /messages", page(true, message(51, 7, parts[0], ""), message(52, 7, parts[1], "")))
	after := s.transport(botstest.NewStore())
	o.Since = time.Now()
	_, found, err := after.Find(t.Context(), o)
	require.NoError(t, err)
	assert.False(t, found, "a part is missing")
	id, err := after.Send(t.Context(), o)
	require.NoError(t, err)
	var want []string
	for i := range parts[2:] {
		want = append(want, parts[2+i])
	}
	assert.True(t, strings.HasPrefix(id, "51,52,53"), id)
	var sent []string
	for _, r := range s.requests("POST /messages")[2:] {
		sent = append(sent, r.Form.Get("content"))
	}
	assert.Equal(t, want, sent)
}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		name   string
		id     string
		out    bots.Outgoing
		answer answer
		tooOld bool
		want   []string // contents, by part
	}{
		{"in place", "51", out("hello"), ok(succeeded), false, []string{"hello"}},
		{"too late", "51", out("hello"), fails(http.StatusBadRequest, "BAD_REQUEST", ""), true, []string{"hello"}},
		{"gone", "51", out("hello"), fails(http.StatusNotFound, "BAD_REQUEST", ""), true, []string{"hello"}},
		{"shorter than before", "51,52", out("hello"), ok(succeeded), false, []string{"hello", emptied}},
		{"longer than before", "51", long(), ok(succeeded), true, []string{continued}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t).on("PATCH /messages/51", c.answer).on("PATCH /messages/52", c.answer)
			err := s.transport(botstest.NewStore()).Edit(t.Context(), c.id, c.out)
			if c.tooOld {
				require.ErrorIs(t, err, bots.ErrTooOld)
			} else {
				require.NoError(t, err)
			}
			for i, content := range c.want {
				r := s.requests(fmt.Sprintf("PATCH /messages/%d", 51+i))
				require.Len(t, r, 1)
				assert.Equal(t, content, r[0].Form.Get("content"))
			}
		})
	}
	t.Run("an outage is no age", func(t *testing.T) {
		s := newScript(t).on("PATCH /messages/51", answer{status: http.StatusBadGateway, body: "<html>"})
		err := s.transport(botstest.NewStore()).Edit(t.Context(), "51", out("hello"))
		require.NotErrorIs(t, err, bots.ErrTooOld)
		var again *bots.RetryError
		require.ErrorAs(t, err, &again)
	})
}

func TestReactingTwiceIsNoError(t *testing.T) {
	s := newScript(t).
		on("POST /messages/51/reactions", ok(succeeded), fails(http.StatusBadRequest, "REACTION_ALREADY_EXISTS", "")).
		on("DELETE /messages/51/reactions", ok(succeeded), fails(http.StatusBadRequest, "REACTION_DOES_NOT_EXIST", ""))
	tr := s.transport(botstest.NewStore())
	for _, on := range []bool{true, true, false, false} {
		require.NoError(t, tr.React(t.Context(), "51,52", bots.ReactionHeard, on))
	}
	assert.Equal(t, "eyes", s.requests("DELETE /messages/51/reactions")[0].Form.Get("emoji_name"))
}
