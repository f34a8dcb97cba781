package openchoreo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"platform.dev/platform/flowclient"
)

// failure is an error answer: OpenChoreo's ErrorResponse, or the token check's own shape.
type failure struct {
	Error   string `json:"error"`
	Code    string `json:"code"`
	Message string `json:"message"` // of the token check
	Details []struct {
		Field   string `json:"field"`
		Value   string `json:"value"` // the embedded control plane's addition
		Message string `json:"message"`
	} `json:"details"`
}

// refused turns an answer that is no success into an error of flowclient.
func refused(call call, status int, body []byte) error {
	var f failure
	if json.Unmarshal(body, &f) != nil || f.Error == "" {
		f.Error = strings.TrimSpace(string(body[:min(len(body), 200)]))
	}
	if f.Message != "" {
		f.Error += ": " + f.Message
	}
	switch status {
	case http.StatusNotFound:
		// A create that finds nothing means that the place to create in does not exist.
		if call.name != "" && call.method != http.MethodPost {
			return &flowclient.NotFound{Kind: string(call.kind), Name: call.name}
		}
	case http.StatusPreconditionFailed:
		return fmt.Errorf("%s %s: %w", call.kind, call.name, flowclient.ErrConflict)
	case http.StatusConflict:
		return conflict(call, f)
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return invalid(call, f)
	}
	return &flowclient.Upstream{Part: part, Err: fmt.Errorf("%s %s: status %d: %s", call.method, call.path, status, f.Error)}
}

// conflict tells apart what 409 means by method.
func conflict(call call, f failure) error {
	switch call.method {
	case http.MethodPost:
		return fmt.Errorf("%s %s: %w", call.kind, call.name, flowclient.ErrExists)
	case http.MethodDelete:
		return &flowclient.Refusal{Sentence: f.Error}
	}
	return fmt.Errorf("%s %s: %w", call.kind, call.name, flowclient.ErrConflict)
}

// invalid names the field that the server names, else the object.
func invalid(call call, f failure) error {
	if len(f.Details) > 0 && f.Details[0].Field != "" {
		d := f.Details[0]
		return &flowclient.Invalid{Field: d.Field, Value: d.Value, Why: d.Message}
	}
	return &flowclient.Invalid{Field: string(call.kind), Value: call.name, Why: f.Error}
}
