package commands

import (
	"context"
	"strings"

	"platform.dev/platform/bots/markup"
)

// Caller is a Reply through which a command asks for other commands of its bot.
// What is asked is decided about as if the person who asked had written it:
// never more than they may, in the same audit, under a key of its own.
type Caller interface {
	// Call runs the command that words ask for and returns what it answered,
	// refusals and usage errors included. The n-th call of a message has always
	// the same key. An error means that nothing was decided: the bot is stopping.
	Call(ctx context.Context, words []string) (Called, error)
}

// Called is what came of a call.
type Called struct {
	Outcome CallOutcome
	Message markup.Message // what the command answered
}

// CallOutcome tells how a call ended.
type CallOutcome string

// The outcomes of a call.
const (
	CallDone    CallOutcome = "done"
	CallRefused CallOutcome = "refused" // a decision against it: a permission, a gate, a confirmation that is needed
	CallFailed  CallOutcome = "failed"  // not understood, or something broke
)

// Line is a text that Parse reads as these words. Signs that Parse itself takes
// for others, such as curly quotes and a long dash before a word, become those.
func Line(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(typed.Replace(w))
	}
	return strings.Join(quoted, " ")
}
