package chat_test

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/ifo/gozulipbot"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An independent client, written against the real server years ago, on a real socket.
func TestGozulipbotRegistersHearsAndAnswers(t *testing.T) {
	w, address := openTCP(t, filepath.Join(t.TempDir(), "chat.db"))
	ann, account := w.person("Ann"), w.bot("echo")
	w.stream("general", ann)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	bot := &gozulipbot.Bot{Email: account.Email, APIKey: account.APIKey, APIURL: address + "/api/v1/", Backoff: time.Millisecond, Client: client}

	subscribed, err := bot.Subscribe([]string{"general", "made-by-bot"})
	require.NoError(t, err)
	subscribed.Body.Close()
	streams, err := bot.GetStreams()
	require.NoError(t, err)
	assert.Equal(t, []string{"general", "made-by-bot"}, streams)

	everything, err := bot.RegisterAll()
	require.NoError(t, err)
	at, err := bot.RegisterAt()
	require.NoError(t, err)
	ann.post("general", "greetings", "nobody in particular")
	sent := ann.post("general", "greetings", "@**echo** hello & goodbye")

	heard, err := everything.GetEvents()
	require.NoError(t, err)
	require.Len(t, heard, 2)
	heard, err = at.GetEvents()
	require.NoError(t, err)
	require.Len(t, heard, 1)
	message := heard[0]
	assert.Equal(t, sent, int64(message.ID))
	assert.Equal(t, "greetings", message.Subject)
	assert.Equal(t, "general", message.DisplayRecipient.Topic)

	reacted, err := bot.React(message, "eyes")
	require.NoError(t, err)
	reacted.Body.Close()
	assert.Equal(t, 200, reacted.StatusCode)
	answered, err := bot.Respond(message, "heard: "+message.Content)
	require.NoError(t, err)
	answered.Body.Close()
	assert.Equal(t, 200, answered.StatusCode)
	unreacted, err := bot.Unreact(message, "eyes")
	require.NoError(t, err)
	unreacted.Body.Close()
	assert.Equal(t, 200, unreacted.StatusCode)

	got := ann.messages(form{"apply_markdown": false, "num_before": 1})
	assert.Equal(t, []any{"heard: @**echo** hello & goodbye", "greetings", "echo"},
		[]any{got[0]["content"], got[0]["subject"], got[0]["sender_full_name"]})

	private, err := bot.PrivateMessage(gozulipbot.Message{Emails: []string{ann.Email}, Content: "psst"})
	require.NoError(t, err)
	private.Body.Close()
	assert.Len(t, ann.messages(form{"narrow": [][]string{{"is", "private"}}}), 1)
	left, err := bot.Unsubscribe([]string{"made-by-bot"})
	require.NoError(t, err)
	left.Body.Close()
	assert.Equal(t, 200, left.StatusCode)
	emoji, err := bot.RealmEmojiSet()
	require.NoError(t, err)
	assert.Empty(t, emoji)
}
