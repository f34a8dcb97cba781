package server

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
	"platform.dev/platform/bots/markup"
	"platform.dev/platform/commands"
	"platform.dev/platform/server/chat"
)

// smallLimit is fewer code points than Zulip's own limit.
const smallLimit = 4200

func small(c *chat.Config) { c.MaxContent = smallLimit }

func TestTheZulipTransportKeepsItsContractWhereMessagesAreShort(t *testing.T) {
	botstest.Transport(t, func(t *testing.T) *botstest.Peer { return newPeer(t, small).peer() })
}

// ledger is a message of three parts where messages are short, and of one elsewhere.
func ledger() bots.Outgoing {
	var lines []string
	for i := range 150 {
		lines = append(lines, fmt.Sprintf("entry %03d %s", i, strings.Repeat("ä", 50)))
	}
	return bots.Outgoing{Key: "ledger", Place: commands.Place{Stream: "shop", Topic: "release"},
		Message: markup.Message{Kind: "test", Title: markup.Spans(markup.T("ledger")), Blocks: []markup.Block{markup.Code("", lines...)}}}
}

func TestNoPartIsCutWhereMessagesAreShort(t *testing.T) {
	p := newPeer(t, small)
	tr := p.peer().Connect()
	id, err := tr.Send(t.Context(), ledger()) // the first thing that it does: nothing was registered before
	require.NoError(t, err)
	said := p.said(ledger().Place)
	require.Len(t, said, 3)
	assert.Equal(t, 2, strings.Count(id, ","), id)
	text := ""
	for _, s := range said {
		assert.LessOrEqual(t, utf8.RuneCountInString(s.Text), smallLimit)
		assert.NotContains(t, s.Text, "[message truncated]")
		text += s.Text + "\n"
	}
	for i := range 150 {
		assert.Equal(t, 1, strings.Count(text, fmt.Sprintf("entry %03d", i)))
	}
}

// A part's answer is lost at each place in turn; another process completes the message.
func TestEachPartIsPostedOnceWhicheverAnswerIsLost(t *testing.T) {
	for lost := range 3 {
		t.Run(fmt.Sprintf("part %d", lost+1), func(t *testing.T) {
			p := newPeer(t, small)
			p.lose.Store(int32(lost + 1))
			out := ledger()
			began := time.Now()
			_, err := p.peer().Connect().Send(t.Context(), out)
			var again *bots.RetryError
			require.ErrorAs(t, err, &again)
			require.True(t, again.Unknown)

			out.Since = began
			other := p.peer().Connect()
			finder, ok := other.(bots.Finder)
			require.True(t, ok)
			id, found, err := finder.Find(t.Context(), out)
			require.NoError(t, err)
			assert.Equal(t, lost == 2, found, "only a whole message is found")
			if !found {
				id, err = other.Send(t.Context(), out)
				require.NoError(t, err)
			}
			said := p.said(out.Place)
			require.Len(t, said, 3, "each part once")
			assert.Equal(t, said[0].ID+","+said[1].ID+","+said[2].ID, id)
		})
	}
}
