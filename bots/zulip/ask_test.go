package zulip

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"platform.dev/platform/bots"
	"platform.dev/platform/bots/botstest"
)

func TestAQuestionIsPostedOnceAndItsAnswerAwaited(t *testing.T) {
	reacted := func(emoji, op string, message string) string {
		return `{"id":1,"type":"reaction","op":"` + op + `","user_id":7,"message_id":` + message + `,"emoji_name":"` + emoji + `","emoji_code":"1","reaction_type":"unicode_emoji"}`
	}
	s := newScript(t).
		on("POST /messages", posted(51)).
		on("GET /events",
			events(reacted("eyes", "add", "51"), reacted("check", "add", "50")), // at work; somebody else's question
			fails(http.StatusBadRequest, "BAD_EVENT_QUEUE_ID", ""),              // the server restarts
			events(reacted("no_entry", "add", "51"), reacted("eyes", "remove", "51")), answer{hold: true}).
		on("GET /messages/51", ok(`{"result":"success","msg":"","message":`+message(51, 10, "q", `,"reactions":[{"emoji_name":"eyes","user_id":7}]`)+`}`)).
		on("GET /messages", page(true, message(52, 7, "no", ""), message(53, 10, "why?", ""), message(54, 7, "locked", "")))
	a, err := s.transport(botstest.NewStore()).Client().Ask(t.Context(), Post{Stream: "shop", Topic: "talk", Content: "@**platform** promote shop"})
	require.NoError(t, err)
	assert.Equal(t, bots.ReactionRefused, a.Outcome)
	assert.Equal(t, int64(51), a.Asked)
	require.Len(t, a.Messages, 2)
	assert.Equal(t, "no", a.Messages[0].Content)
	assert.Equal(t, "locked", a.Messages[1].Content)
	assert.Len(t, s.requests("POST /messages"), 1)
}

func TestAQuestionThatNobodyAnswers(t *testing.T) {
	s := newScript(t).on("POST /messages", posted(51))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := s.transport(botstest.NewStore()).Client().Ask(ctx, Post{Stream: "shop", Topic: "talk", Content: "hello"})
	require.ErrorIs(t, err, ErrUnanswered)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestAQuestionThatIsRefused(t *testing.T) {
	s := newScript(t).on("POST /messages", fails(http.StatusBadRequest, "STREAM_DOES_NOT_EXIST", ""))
	_, err := s.transport(botstest.NewStore()).Client().Ask(t.Context(), Post{Stream: "nowhere", Topic: "talk", Content: "hello"})
	var e *Error
	require.True(t, errors.As(err, &e), "%v", err)
	assert.Equal(t, "STREAM_DOES_NOT_EXIST", e.Code)
	assert.Len(t, s.requests("POST /messages"), 1)
}
