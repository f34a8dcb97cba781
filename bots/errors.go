package bots

import (
	"errors"
	"fmt"
	"time"
)

// ErrTooOld is an Editor's answer when a message can no longer be changed: it
// was posted too long ago, or is gone. What was to be said is posted anew.
var ErrTooOld = errors.New("the message can no longer be changed")

// RetryError is a Transport's answer when a message was not (or perhaps not)
// delivered and should be tried again.
type RetryError struct {
	After   time.Duration // the chat's own word on how long to wait; zero when it gave none
	Unknown bool          // the answer was lost: the message may have arrived, so Find before sending again
	Err     error
}

// Error says what happened and how long to wait.
func (e *RetryError) Error() string {
	switch {
	case e.Unknown:
		return fmt.Sprintf("outcome unknown: %v", e.Err)
	case e.After > 0:
		return fmt.Sprintf("try again in %s: %v", e.After, e.Err)
	default:
		return fmt.Sprintf("try again: %v", e.Err)
	}
}

// Unwrap gives the cause.
func (e *RetryError) Unwrap() error { return e.Err }
