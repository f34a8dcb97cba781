package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"unicode/utf8"

	"platform.dev/platform/flowclient"
)

// Error is the body of every answer that is no success. Error is a sentence
// for people; the other fields are there when they apply.
type Error struct {
	Error string `json:"error"`

	Gate  string               `json:"gate,omitempty"`  // 409: the first gate that failed
	Gates []flowclient.Verdict `json:"gates,omitempty"` // 409: every gate evaluated

	Field string  `json:"field,omitempty"` // 400: what was wrong
	Value *string `json:"value,omitempty"` // 400: and what it said
	Why   string  `json:"why,omitempty"`   // 400: and why that cannot stand

	Kind string `json:"kind,omitempty"` // 404: what was looked for
	Name string `json:"name,omitempty"`

	Part string `json:"part,omitempty"` // 502: what could not be read or written

	ID string `json:"id,omitempty"` // 500: where the log has the cause
}

// ErrTooLarge is a body of more than MaxBody bytes. Status 413.
var ErrTooLarge = fmt.Errorf("the body is larger than %d bytes", MaxBody)

// ErrToken is a token that is missing or wrong. Status 401.
var ErrToken = errors.New("the token is missing or not the right one: send Authorization: Bearer <token>")

// ErrSignature is a hook delivery whose signature is missing or wrong. Status 401.
var ErrSignature = errors.New("the signature is missing or not the right one")

// ErrStopping is a request that the controller's end cut short. Status 503.
var ErrStopping = errors.New("the flow controller is stopping; ask again in a moment")

// originHeaders are the headers that carry the fields of an origin: what a
// client sent is named as the client called it.
var originHeaders = map[string]string{"origin.key": HeaderKey, "origin.who": HeaderActor, "origin.link": HeaderLink}

// Status says which status and body an error is. Fault is true when it is none
// that a client may read: the caller logs it under the id, and the body says
// no more than where.
func Status(err error, id string) (status int, body Error, fault bool) {
	var (
		refusal  *flowclient.Refusal
		invalid  *flowclient.Invalid
		notFound *flowclient.NotFound
		upstream *flowclient.Upstream
	)
	switch {
	case errors.As(err, &refusal):
		return http.StatusConflict, Error{Error: refusal.Sentence, Gate: refusal.Gate, Gates: refusal.Gates}, false
	case errors.As(err, &invalid):
		field, value := cmp.Or(originHeaders[invalid.Field], invalid.Field), short(invalid.Value)
		return http.StatusBadRequest, Error{
			Error: (&flowclient.Invalid{Field: field, Value: value, Why: invalid.Why}).Error(),
			Field: field, Value: &value, Why: invalid.Why,
		}, false
	case errors.As(err, &notFound):
		missing := flowclient.NotFound{Kind: notFound.Kind, Name: short(notFound.Name)}
		return http.StatusNotFound, Error{Error: missing.Error(), Kind: missing.Kind, Name: missing.Name}, false
	case errors.As(err, &upstream):
		return http.StatusBadGateway, Error{Error: upstream.Error(), Part: upstream.Part}, false
	case errors.Is(err, ErrTooLarge):
		return http.StatusRequestEntityTooLarge, Error{Error: ErrTooLarge.Error()}, false
	case errors.Is(err, ErrToken):
		return http.StatusUnauthorized, Error{Error: ErrToken.Error()}, false
	case errors.Is(err, ErrSignature):
		return http.StatusUnauthorized, Error{Error: err.Error()}, false
	case errors.Is(err, ErrStopping), errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable, Error{Error: ErrStopping.Error()}, false
	}
	return http.StatusInternalServerError, Error{
		Error: fmt.Sprintf("something broke in the flow controller, and not in what you asked; its log tells what, under %s", id), ID: id,
	}, true
}

// FromStatus is the error that an answer with the status and body means; nil
// for a success. A body that is no Error becomes the error's text.
func FromStatus(status int, body []byte) error {
	if status < 300 {
		return nil
	}
	var e Error
	if err := json.Unmarshal(body, &e); err != nil || e.Error == "" {
		e.Error = short(string(bytes.TrimSpace(body)))
	}
	switch {
	case status == http.StatusConflict:
		return &flowclient.Refusal{Sentence: e.Error, Gate: e.Gate, Gates: e.Gates}
	case status == http.StatusBadRequest && e.Value != nil:
		for field, header := range originHeaders {
			if e.Field == header {
				e.Field = field
			}
		}
		return &flowclient.Invalid{Field: e.Field, Value: *e.Value, Why: e.Why}
	case status == http.StatusNotFound && e.Kind != "":
		return &flowclient.NotFound{Kind: e.Kind, Name: e.Name}
	case status == http.StatusBadGateway && e.Part != "":
		cause, _ := bytes.CutPrefix([]byte(e.Error), []byte(e.Part+": "))
		return &flowclient.Upstream{Part: e.Part, Err: errors.New(string(cause))}
	case status == http.StatusRequestEntityTooLarge:
		return ErrTooLarge
	case status == http.StatusUnauthorized && e.Error == ErrToken.Error():
		return ErrToken
	}
	return &flowclient.Upstream{Part: "flow controller", Err: fmt.Errorf("answered %d: %s", status, e.Error)}
}

// invalid names a field, its value and what is wrong with it.
func invalid(field, value, format string, args ...any) *flowclient.Invalid {
	return &flowclient.Invalid{Field: short(field), Value: short(value), Why: fmt.Sprintf(format, args...)}
}

// maxEcho is how much of a bad value an answer repeats, in bytes.
const maxEcho = 200

// short cuts a value that is repeated in an answer.
func short(value string) string {
	if len(value) <= maxEcho {
		return value
	}
	cut := maxEcho
	for cut > 0 && !utf8.RuneStart(value[cut]) {
		cut--
	}
	return value[:cut] + "..."
}
