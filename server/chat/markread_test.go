package chat_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMarkingAsReadTellsTheReaderAlone(t *testing.T) {
	w := fresh(t)
	ann, bob := w.person("Ann"), w.person("Bob")
	w.stream("general", ann, bob)
	w.stream("other", ann, bob)
	unread := func() int {
		t.Helper()
		return len(bob.messages(form{"narrow": [][]string{{"is", "unread"}}}))
	}
	queue := bob.register(form{"event_types": []string{"update_message_flags"}})
	for _, place := range [][2]string{{"general", "a"}, {"general", "a"}, {"general", "B"}, {"other", "a"}} {
		ann.post(place[0], place[1], "x")
	}
	require.Equal(t, 4, unread())
	bob.ok("POST", "/mark_topic_as_read", form{"stream_id": 1, "topic_name": "b"})
	assert.Equal(t, 3, unread(), "a topic's case does not matter")
	bob.ok("POST", "/mark_stream_as_read", form{"stream_id": 1})
	assert.Equal(t, 1, unread())
	bob.ok("POST", "/mark_all_as_read", nil)
	bob.ok("POST", "/mark_all_as_read", nil)
	assert.Zero(t, unread())
	assert.Len(t, bob.events(queue, -1), 3, "what was read already is no event")
	assert.Len(t, ann.messages(form{"narrow": [][]string{{"is", "unread"}}}), 4)
	assert.Equal(t, []any{float64(bob.ID)}, ann.ok("GET", "/messages/1/read_receipts", nil)["user_ids"])
	bob.fails(400, "BAD_REQUEST", "POST", "/mark_stream_as_read", form{"stream_id": 9})
	bob.fails(400, "REQUEST_VARIABLE_MISSING", "POST", "/mark_topic_as_read", form{"stream_id": 1})
}
