package chat_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/server/chat"
)

func TestDeletingAMessageTakesItAwayEverywhere(t *testing.T) {
	at := newClock()
	w := open(t, t.TempDir()+"/chat.db", func(c *chat.Config) { c.Now = at.now })
	ann, bob, admin := w.person("Ann"), w.person("Bob"), w.account("Ada", false, chat.RoleAdmin)
	w.stream("general", ann, bob)
	queue := bob.register(form{"event_types": []string{"delete_message"}})
	sent := ann.post("general", "t", "a slip")
	ann.ok("PATCH", "/messages/"+itoa(sent), form{"content": "a worse slip"})
	bob.ok("POST", "/messages/"+itoa(sent)+"/reactions", form{"emoji_name": "eyes"})
	kept := ann.post("general", "t", "kept")

	got := bob.fails(400, "BAD_REQUEST", "DELETE", "/messages/"+itoa(sent), nil)
	assert.Contains(t, got["msg"], "permission")
	ann.ok("DELETE", "/messages/"+itoa(sent), nil)
	heard := bob.events(queue, -1)
	require.Len(t, heard, 1)
	assert.EqualValues(t, sent, heard[0]["message_id"])
	assert.Equal(t, []any{float64(sent)}, heard[0]["message_ids"])
	assert.Equal(t, "t", heard[0]["topic"])
	assert.Equal(t, "stream", heard[0]["message_type"])
	for _, a := range []*actor{ann, bob} {
		a.fails(400, "BAD_REQUEST", "GET", "/messages/"+itoa(sent), nil)
		assert.Len(t, a.messages(form{}), 1)
	}
	ann.fails(400, "BAD_REQUEST", "DELETE", "/messages/"+itoa(sent), nil)

	private := id(ann.ok("POST", "/messages", form{"type": "direct", "to": []int64{bob.ID}, "content": "psst"})["id"])
	assert.Greater(t, private, kept, "no id is given out twice")
	admin.fails(400, "BAD_REQUEST", "DELETE", "/messages/"+itoa(private), nil)
	ann.ok("DELETE", "/messages/"+itoa(private), nil)
	assert.Equal(t, "private", bob.events(queue, id(heard[0]["id"]))[0]["message_type"])

	at.advance(621 * time.Second)
	got = ann.fails(400, "BAD_REQUEST", "DELETE", "/messages/"+itoa(kept), nil)
	assert.Contains(t, got["msg"], "time limit")
	admin.ok("DELETE", "/messages/"+itoa(kept), nil)
	assert.Empty(t, ann.messages(form{}))
}
