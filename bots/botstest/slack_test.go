package botstest_test

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots/botstest"
)

// slackWorld is a Slack with an app that talks to it by the library that bots use.
type slackWorld struct {
	*botstest.Slack
	app     botstest.SlackApp
	person  string
	channel string
	api     *slack.Client
}

func newSlackWorld(t *testing.T) *slackWorld {
	w := &slackWorld{Slack: botstest.NewSlack(botstest.SlackConfig{})}
	w.app, w.person = w.App("platform"), w.Person("Dev Developer")
	w.channel = w.Channel("shop", w.person, w.app.User)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	w.api = slack.New(w.app.BotToken, slack.OptionAppLevelToken(w.app.AppToken), slack.OptionAPIURL(w.Start(t)), slack.OptionHTTPClient(client))
	return w
}

func text(of string, length int) *slack.TextBlockObject {
	return slack.NewTextBlockObject(of, strings.Repeat("x", length), false, false)
}

func table(rows, columns int) slack.Block {
	b := slack.NewTableBlock("")
	for range rows {
		b.AddRow(slices.Repeat([]slack.TableCell{slack.NewTableRawTextCell("x")}, columns)...)
	}
	return b
}

func container(n int, inner slack.Block) slack.Block {
	b := slack.NewContainerBlock().WithTitle(text("plain_text", 10))
	for range n {
		b.AddChildBlock(inner)
	}
	return b
}

func TestWhatSlackRefusesOfAMessageTheDoubleRefuses(t *testing.T) {
	w := newSlackWorld(t)
	archived, elsewhere := w.Channel("attic", w.app.User), w.Channel("elsewhere", w.person)
	w.Archive(archived)
	many := make([]slack.Block, 51)
	for i := range many {
		many[i] = slack.NewDividerBlock()
	}
	buttons := func(n, label int, style slack.Style) slack.Block {
		var all []slack.BlockElement
		for range n {
			b := slack.NewButtonBlockElement("", "v", text("plain_text", label))
			b.Style = style
			all = append(all, b)
		}
		return slack.NewActionBlock("", all...)
	}
	blocks := func(b ...slack.Block) []slack.MsgOption {
		return []slack.MsgOption{slack.MsgOptionText("x", false), slack.MsgOptionBlocks(b...)}
	}
	for _, c := range []struct {
		name, channel string
		options       []slack.MsgOption
		code          string
	}{
		{"a text", w.channel, []slack.MsgOption{slack.MsgOptionText("x", false)}, ""},
		{"nothing", w.channel, nil, "no_text"},
		{"a text that is too long", w.channel, []slack.MsgOption{slack.MsgOptionText(strings.Repeat("x", 40_001), false)}, "msg_too_long"},
		{"a channel that is not there", "C0NOWHERE", []slack.MsgOption{slack.MsgOptionText("x", false)}, "channel_not_found"},
		{"a channel without the bot", elsewhere, []slack.MsgOption{slack.MsgOptionText("x", false)}, "not_in_channel"},
		{"an archived channel", archived, []slack.MsgOption{slack.MsgOptionText("x", false)}, "is_archived"},
		{"a thread that is not there", w.channel, []slack.MsgOption{slack.MsgOptionText("x", false), slack.MsgOptionTS("1700000000.000100")}, "cannot_reply_to_message"},
		{"a section of 3,000", w.channel, blocks(slack.NewSectionBlock(text("mrkdwn", 3000), nil, nil)), ""},
		{"a section of more", w.channel, blocks(slack.NewSectionBlock(text("mrkdwn", 3001), nil, nil)), "invalid_blocks"},
		{"a header of 150", w.channel, blocks(slack.NewHeaderBlock(text("plain_text", 150))), ""},
		{"a header of more", w.channel, blocks(slack.NewHeaderBlock(text("plain_text", 151))), "invalid_blocks"},
		{"a header that formats", w.channel, blocks(slack.NewHeaderBlock(text("mrkdwn", 10))), "invalid_blocks"},
		{"51 blocks", w.channel, blocks(many...), "invalid_blocks"},
		{"buttons", w.channel, blocks(buttons(25, 75, slack.StyleDanger)), ""},
		{"too many buttons", w.channel, blocks(buttons(26, 5, "")), "invalid_blocks"},
		{"a button with a long label", w.channel, blocks(buttons(1, 76, "")), "invalid_blocks"},
		{"a button of an unknown style", w.channel, blocks(buttons(1, 5, "bold")), "invalid_blocks"},
		{"a table of many rows", w.channel, blocks(table(100, 2)), ""},
		{"a table of many columns", w.channel, blocks(table(2, 20)), ""},
		{"a table of too many rows", w.channel, blocks(table(101, 1)), "invalid_blocks"},
		{"a table of too many columns", w.channel, blocks(table(1, 21)), "invalid_blocks"},
		{"two tables", w.channel, blocks(table(1, 1), table(1, 1)), "invalid_blocks"},
		{"a container", w.channel, blocks(container(10, slack.NewDividerBlock())), ""},
		{"a container of too many", w.channel, blocks(container(11, slack.NewDividerBlock())), "invalid_blocks"},
		{"a container in a container", w.channel, blocks(container(1, container(1, slack.NewDividerBlock()))), "invalid_blocks"},
		{"blocks that are long together", w.channel, blocks(slices.Repeat([]slack.Block{slack.NewSectionBlock(text("mrkdwn", 2900), nil, nil)}, 5)...), "msg_blocks_too_long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := w.api.PostMessageContext(t.Context(), c.channel, c.options...)
			if c.code == "" {
				require.NoError(t, err)
				return
			}
			var answer slack.SlackErrorResponse
			require.ErrorAs(t, err, &answer)
			assert.Equal(t, c.code, answer.Err)
		})
	}
	_, ts, err := w.api.PostMessageContext(t.Context(), w.channel, slack.MsgOptionText("x", false))
	require.NoError(t, err)
	_, _, _, err = w.api.UpdateMessageContext(t.Context(), w.channel, ts, slack.MsgOptionText(strings.Repeat("ä", 2001), false))
	require.EqualError(t, err, "msg_too_long", "of an edit it is bytes")
	theirs := w.Say(w.person, w.channel, "", "mine")
	_, _, _, err = w.api.UpdateMessageContext(t.Context(), w.channel, theirs, slack.MsgOptionText("yours", false))
	require.EqualError(t, err, "cant_update_message")
}

func TestTheLibraryReadsWhatTheDoubleAnswers(t *testing.T) {
	w := newSlackWorld(t)
	ctx := t.Context()
	me, err := w.api.AuthTestContext(ctx)
	require.NoError(t, err)
	assert.Equal(t, w.app.User, me.UserID)
	users, err := w.api.GetUsersContext(ctx)
	require.NoError(t, err)
	assert.Len(t, users, 2)
	_, ts, err := w.api.PostMessageContext(ctx, w.channel, slack.MsgOptionText("one", false), slack.MsgOptionMetadata(slack.SlackMetadata{
		EventType: "a", EventPayload: map[string]any{"key": "k"},
	}))
	require.NoError(t, err)
	link, err := w.api.GetPermalinkContext(ctx, &slack.PermalinkParameters{Channel: w.channel, Ts: ts})
	require.NoError(t, err)
	assert.Equal(t, "https://shop.slack.test/archives/"+w.channel+"/p"+strings.Replace(ts, ".", "", 1), link)
	for range 3 {
		_, _, err = w.api.PostMessageContext(ctx, w.channel, slack.MsgOptionText("reply", false), slack.MsgOptionTS(ts))
		require.NoError(t, err)
	}
	history, err := w.api.GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{ChannelID: w.channel, IncludeAllMetadata: true})
	require.NoError(t, err)
	require.Len(t, history.Messages, 1, "replies are not in it")
	assert.Equal(t, "k", history.Messages[0].Metadata.EventPayload["key"])
	replies, more, next, err := w.api.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{ChannelID: w.channel, Timestamp: ts, Limit: 2})
	require.NoError(t, err)
	assert.Len(t, replies, 2)
	assert.True(t, more)
	replies, more, _, err = w.api.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{ChannelID: w.channel, Timestamp: ts, Limit: 2, Cursor: next})
	require.NoError(t, err)
	assert.Len(t, replies, 2)
	assert.False(t, more)
	require.NoError(t, w.api.AddReactionContext(ctx, "eyes", slack.NewRefToMessage(w.channel, ts)))
	require.EqualError(t, w.api.AddReactionContext(ctx, "eyes", slack.NewRefToMessage(w.channel, ts)), "already_reacted")
	require.NoError(t, w.api.RemoveReactionContext(ctx, "eyes", slack.NewRefToMessage(w.channel, ts)))
	require.EqualError(t, w.api.RemoveReactionContext(ctx, "eyes", slack.NewRefToMessage(w.channel, ts)), "no_reaction")
	_, err = w.api.CreateConversationContext(ctx, slack.CreateConversationParams{ChannelName: "shop"})
	require.EqualError(t, err, "name_taken")
	_, err = w.api.CreateConversationContext(ctx, slack.CreateConversationParams{ChannelName: "Shop Two"})
	require.EqualError(t, err, "invalid_name_specials")
	_, _, err = w.api.DeleteMessageContext(ctx, w.channel, ts)
	require.NoError(t, err)

	w.Fail(botstest.SlackFault{Kind: botstest.SlackLimited, After: 3 * time.Second})
	_, err = w.api.AuthTestContext(ctx)
	var limited *slack.RateLimitedError
	require.ErrorAs(t, err, &limited)
	assert.Equal(t, 3*time.Second, limited.RetryAfter)
	stranger := slack.New("xoxb-nobody", slack.OptionAPIURL("http://127.0.0.1:1/api/"))
	_, err = stranger.AuthTestContext(ctx)
	var refused *net.OpError
	require.ErrorAs(t, err, &refused)
}

func TestWhatTheDoubleTellsOfConversationsAndThreads(t *testing.T) {
	w := newSlackWorld(t)
	ctx, direct := t.Context(), w.Direct(w.person, w.app.User)
	w.Channel("elsewhere", w.person)
	root := w.Say(w.person, w.channel, "", "shall we?")
	w.Say(w.person, w.channel, root, "yes")
	_, last, err := w.api.PostMessageContext(ctx, w.channel, slack.MsgOptionText("done", false), slack.MsgOptionTS(root))
	require.NoError(t, err)
	history, err := w.api.GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{ChannelID: w.channel})
	require.NoError(t, err)
	require.Len(t, history.Messages, 1)
	got := history.Messages[0]
	assert.Equal(t, []any{root, 2, last, []string{w.person, w.app.User}}, []any{got.ThreadTimestamp, got.ReplyCount, got.LatestReply, got.ReplyUsers})
	late, err := w.api.GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{ChannelID: w.channel, Oldest: root})
	require.NoError(t, err)
	assert.Empty(t, late.Messages, "what is as old as the oldest is left out")
	for types, want := range map[string][]string{"": {w.channel}, "im": {direct}, "public_channel,im": {w.channel, direct}} {
		of, _, err := w.api.GetConversationsForUserContext(ctx, &slack.GetConversationsForUserParameters{Types: strings.Split(types, ",")})
		require.NoError(t, err)
		var ids []string
		for _, c := range of {
			ids = append(ids, c.ID)
		}
		assert.Equal(t, want, ids)
	}
	_, ts, err := w.api.PostMessageContext(ctx, w.channel, slack.MsgOptionText("x", false), slack.MsgOptionBlocks(slack.NewSectionBlock(text("mrkdwn", 5), nil, nil)))
	require.NoError(t, err)
	_, _, _, err = w.api.UpdateMessageContext(ctx, w.channel, ts, slack.MsgOptionText("y", false))
	require.NoError(t, err)
	assert.Equal(t, "xxxxx", w.Said(w.channel, "")[1].Text, "an edit that says nothing of blocks leaves them")
}

// Slack waits three seconds for an acknowledgement, and sends an event again at
// once, after a minute and after five.
func TestAnEventThatNobodyAcknowledgesComesFourTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := botstest.NewSlack(botstest.SlackConfig{})
		app, person := s.App("platform"), s.Person("Dev Developer")
		channel := s.Channel("shop", person, app.User)
		api, dial := s.StartPipes(t)
		conn, frames := stream(t, api, app, dial)
		began := time.Now()
		s.Tell(app, map[string]any{"type": "moon_phase_changed"})
		envelopes, events := map[string]bool{}, map[string]bool{}
		for attempt, at := range []time.Duration{0, 3 * time.Second, 66 * time.Second, 369 * time.Second} {
			e := <-frames
			assert.Equal(t, at, time.Since(began))
			assert.Equal(t, attempt, e.Attempt)
			envelopes[e.ID], events[e.Payload.EventID] = true, true
		}
		assert.Len(t, envelopes, 4, "each sending has an id of its own")
		assert.Len(t, events, 1, "the event is the same")
		time.Sleep(time.Hour)
		assert.Len(t, s.Unacknowledged(), 1)

		s.Say(person, channel, "", "hello")
		e := <-frames
		require.NoError(t, conn.WriteJSON(map[string]string{"envelope_id": e.ID}))
		s.AwaitQuiet(t)
		s.Disconnect()
		assert.Equal(t, "refresh_requested", (<-frames).Reason)
		_, open := <-frames
		assert.False(t, open, "and the stream ends")
	})
}

// sent is an envelope.
type sent struct {
	ID      string `json:"envelope_id"`
	Type    string
	Reason  string
	Attempt int `json:"retry_attempt"`
	Payload struct {
		EventID string `json:"event_id"`
	}
}

// stream opens an event stream and reads its frames until it ends. A stream that is not read is closed.
func stream(t *testing.T, api string, app botstest.SlackApp, dial func(context.Context, string, string) (net.Conn, error)) (*websocket.Conn, <-chan sent) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: dial}}
	t.Cleanup(client.CloseIdleConnections)
	_, url, err := slack.New("", slack.OptionAppLevelToken(app.AppToken), slack.OptionAPIURL(api), slack.OptionHTTPClient(client)).StartSocketModeContext(t.Context())
	require.NoError(t, err)
	dialer := websocket.Dialer{NetDialContext: dial}
	conn, resp, err := dialer.DialContext(t.Context(), url, nil)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	frames := make(chan sent, 100)
	go func() {
		defer close(frames)
		for {
			var e sent
			if conn.ReadJSON(&e) != nil {
				return
			}
			frames <- e
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		for range frames { // until the reader has ended
		}
	})
	require.Equal(t, "hello", (<-frames).Type)
	return conn, frames
}
