package flowclient

import (
	"errors"
	"fmt"
	"time"
)

// Refusal is a decision against a request: nothing was written. Its Sentence is
// shown to people word for word and ends with what to do or when.
type Refusal struct {
	Sentence string    `json:"error"`
	Gate     string    `json:"gate,omitempty"`  // the first gate that failed: lock, window, capacity
	Gates    []Verdict `json:"gates,omitempty"` // every gate evaluated
}

// Error is the sentence.
func (r *Refusal) Error() string { return r.Sentence }

// Refused marks the error as an answer for people (commands.Refusal).
func (r *Refusal) Refused() string { return r.Sentence }

// Refuse makes a Refusal from a format.
func Refuse(format string, args ...any) *Refusal {
	return &Refusal{Sentence: fmt.Sprintf(format, args...)}
}

// Invalid is bad input: it names the field and the value. Status 400.
type Invalid struct {
	Field string `json:"field"`
	Value string `json:"value"`
	Why   string `json:"why"`
}

// Error names the field, the value and the reason.
func (i *Invalid) Error() string { return fmt.Sprintf("%s %q: %s", i.Field, i.Value, i.Why) }

// Refused marks the error as an answer for people.
func (i *Invalid) Refused() string { return i.Error() }

// NotFound is a name that nothing has. Status 404.
type NotFound struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Error names what was looked for.
func (n *NotFound) Error() string { return fmt.Sprintf("%s %q does not exist", n.Kind, n.Name) }

// Refused marks the error as an answer for people.
func (n *NotFound) Refused() string { return n.Error() }

// Upstream names the part that could not be read or written. Status 502.
type Upstream struct {
	Part string // "control plane", "git server", "registry"
	Err  error
}

// Error names the part and the cause.
func (u *Upstream) Error() string { return fmt.Sprintf("%s: %v", u.Part, u.Err) }

// Unwrap gives the cause.
func (u *Upstream) Unwrap() error { return u.Err }

// ErrConflict is a conditional write that lost: the object has changed since it was read.
var ErrConflict = errors.New("the object has changed since it was read")

// ErrExists is a create of a name that exists.
var ErrExists = errors.New("the name exists")

// IsNotFound tells whether err says that something does not exist.
func IsNotFound(err error) bool {
	var n *NotFound
	return errors.As(err, &n)
}

// Verdict is what one gate said.
type Verdict struct {
	Gate      string            `json:"gate"` // lock, window, capacity, hold, service, ready, soak, check, backoff
	Component string            `json:"component,omitempty"`
	Pass      bool              `json:"pass"`
	Sentence  string            `json:"sentence"`
	Numbers   map[string]string `json:"numbers,omitempty"` // what was compared, by name
	Flips     *time.Time        `json:"flips,omitempty"`   // when the verdict changes by itself, where known
	Lifted    string            `json:"lifted,omitempty"`  // what lets the move pass although this fails: force, "skipSoak: <reason>"
}
