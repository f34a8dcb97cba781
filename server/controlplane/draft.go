package controlplane

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"platform.dev/platform/flowclient"
	"platform.dev/platform/server/web"
)

const (
	// bodyLimit bounds a request body: 1 MiB, as OpenChoreo's.
	bodyLimit = 1 << 20
	// longestName is a DNS name's length; kinds that become part of a host name or a label allow 63.
	longestName = 253
	// maxMarks bounds labels and annotations together, in bytes.
	maxMarks = 256 << 10
)

var dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// draft is a request body before any rule was asked.
type draft struct {
	APIVersion string          `json:"apiVersion"`
	Kind       flowclient.Kind `json:"kind"`
	Metadata   struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec json.RawMessage `json:"spec"`
}

// body reads a whole body; 413 over the limit.
func body(r *http.Request) ([]byte, error) {
	raw, err := web.Body(r, bodyLimit)
	if errors.Is(err, web.ErrTooLarge) {
		return nil, say(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", bodyLimit)
	}
	if err != nil {
		return nil, say(http.StatusBadRequest, "the body could not be read: it ended early or was malformed")
	}
	return raw, nil
}

// readJSON decodes one JSON object into v and refuses everything else, naming the field where it can.
func readJSON(raw []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	err := dec.Decode(v)
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mistyped) && mistyped.Field != "":
		return bad(http.StatusBadRequest, mistyped.Field, mistyped.Value, "must be of type "+typeName(mistyped.Type.String()))
	case errors.As(err, &mistyped):
		return bad(http.StatusBadRequest, "body", mistyped.Value, "must be a JSON object")
	case errors.Is(err, io.EOF):
		return bad(http.StatusBadRequest, "body", "", "is empty; a JSON object is required")
	case err != nil:
		return bad(http.StatusBadRequest, "body", web.Echo(string(raw)), "is not JSON: "+err.Error())
	case len(bytes.TrimSpace(raw[dec.InputOffset():])) > 0:
		return bad(http.StatusBadRequest, "body", web.Echo(string(raw)), "must be one JSON object, and nothing after it")
	}
	return nil
}

// typeName is a Go type in JSON's words.
func typeName(goType string) string {
	switch {
	case strings.HasPrefix(goType, "map"), strings.HasPrefix(goType, "struct"), strings.Contains(goType, "draft"):
		return "object"
	case goType == "flowclient.Kind":
		return "string"
	}
	return goType
}

// readDraft reads a request body into an object of the kind. name is that of
// the path, or empty when the body names it.
func (s *Server) readDraft(r *http.Request, k kind, name string) (object, error) {
	raw, err := body(r)
	if err != nil {
		return object{}, err
	}
	var d draft
	if err := readJSON(raw, &d); err != nil {
		return object{}, err
	}
	if err := s.checkEnvelope(d, k, name); err != nil {
		return object{}, err
	}
	o := object{kind: k.name, name: d.Metadata.Name, labels: orEmpty(d.Metadata.Labels), annotations: orEmpty(d.Metadata.Annotations)}
	if o.name == "" {
		o.name = name
	}
	return o, k.readSpec(r.Context(), s.db.Reader(), &o, d.Spec)
}

// checkEnvelope checks everything outside of spec.
func (s *Server) checkEnvelope(d draft, k kind, name string) error {
	m := d.Metadata
	switch {
	case d.APIVersion != "" && d.APIVersion != apiVersion:
		return bad(http.StatusBadRequest, "apiVersion", d.APIVersion, "must be "+apiVersion)
	case d.Kind != "" && d.Kind != k.name:
		return bad(http.StatusBadRequest, "kind", string(d.Kind), "must be "+string(k.name)+" on this path")
	case name != "" && m.Name != "" && m.Name != name:
		return bad(http.StatusBadRequest, "metadata.name", m.Name, "must be "+name+", as in the path")
	case m.Namespace != "" && (k.cluster || m.Namespace != s.namespace):
		return bad(http.StatusBadRequest, "metadata.namespace", m.Namespace, "must be that of the path")
	}
	size := 0
	for _, marks := range []struct {
		field string
		m     map[string]string
	}{{"metadata.labels", m.Labels}, {"metadata.annotations", m.Annotations}} {
		for key, value := range marks.m {
			size += len(key) + len(value)
			if !labelKey.MatchString(key) {
				return bad(http.StatusBadRequest, marks.field, web.Echo(key), "must be a name of letters, digits, '-', '_' and '.', with an optional DNS prefix and '/'")
			}
			if marks.field == "metadata.labels" && !labelValue.MatchString(value) {
				return bad(http.StatusBadRequest, marks.field+"."+key, web.Echo(value), "must be at most 63 letters, digits, '-', '_' and '.'")
			}
		}
	}
	if size > maxMarks {
		return bad(http.StatusBadRequest, "metadata", "", "labels and annotations together are larger than 256 KiB")
	}
	return nil
}

// checkName refuses a name that is no DNS label, or too long for what is made of it.
func (k kind) checkName(name string) error {
	longest := k.longest
	if longest == 0 {
		longest = longestName
	}
	switch {
	case name == "":
		return missing("metadata.name")
	case len(name) > longest || !dnsLabel.MatchString(name):
		return bad(http.StatusBadRequest, "metadata.name", web.Echo(name), fmt.Sprintf("must be at most %d lower-case letters, digits and '-', beginning and ending with a letter or digit", longest))
	}
	return nil
}

// readSpec brings spec into its canonical spelling by the kind's schema.
func (k kind) readSpec(ctx context.Context, q querier, o *object, raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	v, err := parse(raw)
	if err != nil {
		return bad(http.StatusBadRequest, "spec", web.Echo(string(raw)), "is not JSON")
	}
	if fields, ok := v.(map[string]any); ok && k.reads != nil {
		if err := k.reads(ctx, q, o, fields); err != nil {
			return err
		}
	}
	if v, err = k.spec.read("spec", v); err != nil {
		return err
	}
	o.spec, err = encode(v)
	return err
}
