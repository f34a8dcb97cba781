package slack_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/bots/slack"
)

// What a call's failure becomes.
const (
	arrives    = "it is there"
	plainer    = "it is there, in plainer form"
	later      = "to be tried again"
	unknown    = "to be looked for, then tried again"
	final      = "given up"
	tooOld     = "to be posted anew"
	nothing    = time.Duration(0)
	whenMended = time.Minute
)

// outcome names what an error means to the runtime.
func outcome(err error) (string, time.Duration) {
	var again *bots.RetryError
	switch {
	case err == nil:
		return arrives, 0
	case errors.Is(err, bots.ErrTooOld):
		return tooOld, 0
	case errors.As(err, &again) && again.Unknown:
		return unknown, again.After
	case errors.As(err, &again):
		return later, again.After
	default:
		return final, 0
	}
}

// Each of Slack's ways to fail, of posting and of editing.
func TestWhatACallThatFailsMeansForAMessage(t *testing.T) {
	refuse := func(code string) botstest.SlackFault {
		return botstest.SlackFault{Kind: botstest.SlackRefused, Code: code}
	}
	for _, c := range []struct {
		name       string
		fault      botstest.SlackFault
		post, edit string
		after      time.Duration
	}{
		{"nothing", botstest.SlackFault{}, arrives, arrives, nothing},
		{"a rate limit", botstest.SlackFault{Kind: botstest.SlackLimited, After: 3 * time.Second}, later, later, 3 * time.Second},
		{"a rate limit of a fraction", botstest.SlackFault{Kind: botstest.SlackLimited, After: 1500 * time.Millisecond}, later, later, 1500 * time.Millisecond},
		{"a rate limit without a time", refuse("ratelimited"), later, later, time.Second},
		{"an answer that was lost", botstest.SlackFault{Kind: botstest.SlackLost}, unknown, unknown, nothing},
		{"a call that was lost", botstest.SlackFault{Kind: botstest.SlackVanished}, unknown, unknown, nothing},
		{"a call that is never answered", botstest.SlackFault{Kind: botstest.SlackSilent}, unknown, unknown, nothing},
		{"503 from something in front of Slack", botstest.SlackFault{Kind: botstest.SlackBroken}, unknown, unknown, nothing},
		{"a page from something in front of Slack", botstest.SlackFault{Kind: botstest.SlackPage}, unknown, unknown, nothing},
		{"JSON of something else", botstest.SlackFault{Kind: botstest.SlackEmpty}, unknown, unknown, nothing},
		{"Slack broke, perhaps afterwards", refuse("internal_error"), unknown, unknown, nothing},
		{"Slack breaks for good", refuse("fatal_error"), unknown, unknown, nothing},
		{"a token that was revoked", refuse("token_revoked"), later, later, whenMended},
		{"a token that is none", refuse("invalid_auth"), later, later, whenMended},
		{"a permission that is lacking", refuse("missing_scope"), later, later, whenMended},
		{"blocks that are refused", refuse("invalid_blocks"), plainer, plainer, nothing},
		{"blocks that are no blocks", refuse("invalid_blocks_format"), plainer, plainer, nothing},
		{"blocks that are too long", refuse("msg_blocks_too_long"), plainer, plainer, nothing},
		{"a text that is too long", refuse("msg_too_long"), plainer, tooOld, nothing},
		{"a time in which it may be edited that is over", refuse("edit_window_closed"), final, tooOld, nothing},
		{"a message that may not be edited", refuse("cant_update_message"), final, tooOld, nothing},
		{"a message that is gone", refuse("message_not_found"), final, tooOld, nothing},
		{"an archived channel", refuse("is_archived"), final, tooOld, nothing},
		{"a channel that is not there", refuse("channel_not_found"), final, tooOld, nothing},
		{"a public channel that the bot is not in", refuse("not_in_channel"), arrives, tooOld, nothing},
		{"a refusal that is none of these", refuse("restricted_action_thread_locked"), final, final, nothing},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newPipedWorkspace(t, botstest.SlackConfig{})
				tr := w.connect()
				mine, err := tr.Send(t.Context(), out("before"))
				require.NoError(t, err)
				before := len(w.Said(w.channel, w.root))

				c.fault.Method = "chat.postMessage"
				w.Fail(c.fault)
				o := out("after")
				o.Key = "another"
				_, err = tr.Send(t.Context(), o)
				got, after := outcome(err)
				want := c.post
				if want == plainer {
					want = arrives
					assert.Equal(t, 3, w.Calls("chat.postMessage"), "it is tried once more")
				}
				assert.Equal(t, want, got, "a post: %v", err)
				assert.Equal(t, c.after, after)
				there := want == arrives || c.fault.Kind == botstest.SlackLost || c.fault.Kind == botstest.SlackSilent
				assert.Equal(t, there, len(w.Said(w.channel, w.root)) == before+1)

				c.fault.Method = "chat.update"
				w.Fail(c.fault)
				err = tr.Edit(t.Context(), mine, out("edited"))
				got, after = outcome(err)
				if want = c.edit; want == plainer {
					want = arrives
				}
				assert.Equal(t, want, got, "an edit: %v", err)
				assert.Equal(t, c.after, after)
				if want == arrives {
					assert.Contains(t, w.Said(w.channel, w.root)[0].Text, "edited")
				}
			})
		})
	}
}

// newest is a message with everything that an old workspace does not know.
func newest() markup.Message {
	m := line("deployed")
	for range 8 {
		m.Blocks = append(m.Blocks,
			markup.Table([]string{"component", "commit"}, [][]markup.Span{markup.Spans(markup.C("api")), markup.Spans(markup.F("4f2a91c"))}),
			markup.Code("", strings.Repeat("x", 2000)), markup.Spoiler(markup.Spans(markup.T("the log")), markup.Code("", "all is well")),
		)
	}
	return m
}

func TestAWorkspaceThatDoesNotKnowTheNewerBlocksIsSaidEverythingAllTheSame(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{Old: true})
	var log bytes.Buffer
	tr := w.connect(func(c *slack.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	o := out("")
	o.Message = newest()
	began := time.Now()
	mine, err := tr.Send(t.Context(), o)
	require.NoError(t, err)
	parts := len(markup.SlackBasic(o.Message))
	require.Greater(t, parts, 1)
	said := w.Said(w.channel, w.root)
	require.Equal(t, parts, len(said))
	assert.Contains(t, said[0].Text, "api")
	assert.Contains(t, said[len(said)-1].Text, "all is well")
	assert.Contains(t, log.String(), "unsupported type: table", "whoever runs the bot is told what Slack said")

	o.Since = began
	got, found, err := w.connect().Find(t.Context(), o)
	require.NoError(t, err)
	assert.True(t, found)
	assert.Equal(t, mine, got)

	o.Message = newest()
	o.Message.Blocks = append(o.Message.Blocks[:1], markup.Text(markup.T("it was rolled back")))
	require.NoError(t, tr.Edit(t.Context(), mine, o))
	said = w.Said(w.channel, w.root)
	require.Equal(t, parts, len(said))
	assert.Contains(t, said[0].Text, "it was rolled back")
	assert.Contains(t, said[len(said)-1].Text, "no longer needed")
}

// Whatever Slack has against the blocks, and wherever in the message: the words arrive, once.
func TestAMessageOfWhichAnyBlocksAreRefusedIsSaidInWords(t *testing.T) {
	refused := botstest.SlackFault{Method: "chat.postMessage", Kind: botstest.SlackRefused, Code: "invalid_blocks", Why: []string{"[ERROR] because"}}
	fine := botstest.SlackFault{Method: "chat.postMessage"}
	for _, c := range []struct {
		name   string
		faults []botstest.SlackFault
	}{
		{"all of them", []botstest.SlackFault{refused, refused}},
		{"those of the second part", []botstest.SlackFault{fine, refused, refused}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorkspace(t, botstest.SlackConfig{})
			w.Fail(c.faults...)
			o := out("")
			o.Message = newest()
			began := time.Now()
			mine, err := w.connect().Send(t.Context(), o)
			require.NoError(t, err)
			said := w.Said(w.channel, w.root)
			require.Equal(t, len(markup.SlackText(o.Message)), len(said), "and what was begun in another form is gone")
			assert.Equal(t, 8, strings.Count(texts(said), "all is well"))
			o.Since = began
			got, found, err := w.connect().Find(t.Context(), o)
			require.NoError(t, err)
			assert.True(t, found)
			assert.Equal(t, mine, got)
		})
	}
}

func TestAnEditThatNoFormOfIsTakenIsPostedAnew(t *testing.T) {
	w := newWorkspace(t, botstest.SlackConfig{})
	tr := w.connect()
	mine, err := tr.Send(t.Context(), out("working"))
	require.NoError(t, err)
	refused := botstest.SlackFault{Method: "chat.update", Kind: botstest.SlackRefused, Code: "invalid_blocks"}
	w.Fail(refused, refused, refused)
	require.ErrorIs(t, tr.Edit(t.Context(), mine, out("done")), bots.ErrTooOld)
	assert.Equal(t, 3, w.Calls("chat.update"))
	w.Fail(refused, refused)
	require.NoError(t, tr.Edit(t.Context(), mine, out("done")), "words alone")
	assert.Equal(t, "done", w.Said(w.channel, w.root)[0].Text, "and no block is left of what was there")
}

// texts are the texts of messages.
func texts(said []botstest.SlackSaid) string {
	var all []string
	for _, m := range said {
		all = append(all, m.Text)
	}
	return strings.Join(all, "\n")
}
