package observer

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"platform.dev/platform/server/web"
)

// encoding is one of OTLP's two: what a request is sent in it is answered in.
type encoding struct {
	mediaType string
	decode    func([]byte, *collectorpb.ExportTraceServiceRequest) error
	encode    func(proto.Message) ([]byte, error)
}

var encodings = map[string]encoding{
	"application/x-protobuf": {"application/x-protobuf",
		func(b []byte, m *collectorpb.ExportTraceServiceRequest) error { return proto.Unmarshal(b, m) }, proto.Marshal},
	"application/json": {"application/json", decodeJSON, encodeJSON},
}

// receiveTraces answers POST /v1/traces as the OTLP specification has it: 200
// with what was left out, 400 with a Status when the whole cannot be read.
// It answers after the commit.
func (s *Server) receiveTraces(w http.ResponseWriter, r *http.Request) error {
	mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	enc, ok := encodings[mediaType]
	if !ok {
		return refuse(http.StatusUnsupportedMediaType, "Content-Type %q: send application/x-protobuf or application/json", web.Echo(mediaType))
	}
	body, err := unpacked(r)
	if err != nil {
		return s.answerOTLP(w, enc, refusedStatus(err), &status.Status{Code: int32(code.Code_INVALID_ARGUMENT), Message: err.Error()})
	}
	var req collectorpb.ExportTraceServiceRequest
	if err := enc.decode(body, &req); err != nil {
		return s.answerOTLP(w, enc, http.StatusBadRequest,
			&status.Status{Code: int32(code.Code_INVALID_ARGUMENT), Message: web.Echo("the body is no ExportTraceServiceRequest: " + err.Error())})
	}
	rows, rejected, why, err := spansOf(req.GetResourceSpans())
	if err != nil {
		return err
	}
	if len(rows) > maxBatch {
		return s.answerOTLP(w, enc, http.StatusRequestEntityTooLarge,
			&status.Status{Code: int32(code.Code_INVALID_ARGUMENT), Message: fmt.Sprintf("%d spans in one request; %d are allowed", len(rows), maxBatch)})
	}
	if err := s.writeSpans(r.Context(), rows); err != nil {
		return err
	}
	answer := &collectorpb.ExportTraceServiceResponse{}
	if rejected > 0 {
		answer.PartialSuccess = &collectorpb.ExportTracePartialSuccess{RejectedSpans: int64(rejected), ErrorMessage: why}
	}
	return s.answerOTLP(w, enc, http.StatusOK, answer)
}

// refusedStatus is the status of a body that could not be read.
func refusedStatus(err error) int {
	if errors.Is(err, web.ErrTooLarge) {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}

func (s *Server) answerOTLP(w http.ResponseWriter, enc encoding, code int, m proto.Message) error {
	body, err := enc.encode(m)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	w.Header().Set("Content-Type", enc.mediaType)
	w.WriteHeader(code)
	_, _ = w.Write(body) // the client went away: there is nobody to tell
	return nil
}

// unpacked is a request's body, of at most maxBody bytes when it is unpacked.
func unpacked(r *http.Request) ([]byte, error) {
	switch enc := r.Header.Get("Content-Encoding"); enc {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(io.LimitReader(r.Body, maxBody))
		if err != nil {
			return nil, fmt.Errorf("body: %w", err)
		}
		defer z.Close()
		copied := *r
		copied.Body = z
		return web.Body(&copied, maxBody)
	default:
		return nil, fmt.Errorf("Content-Encoding %q: send gzip or none", web.Echo(enc)) //nolint:staticcheck // begins with the header's name
	}
	return web.Body(r, maxBody)
}

// decodeJSON reads OTLP's JSON, which writes ids as hex where protobuf's own JSON writes base64.
func decodeJSON(body []byte, m *collectorpb.ExportTraceServiceRequest) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return err
	}
	if dec.More() {
		return errors.New("there is something after the object")
	}
	if err := rewriteIDs(doc); err != nil {
		return err
	}
	again, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(again, m)
}

// rewriteIDs makes hex ids base64, wherever they stand.
func rewriteIDs(v any) error {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if err := rewriteIDs(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, item := range v {
			id, isText := item.(string)
			if !isText || key != "traceId" && key != "spanId" && key != "parentSpanId" {
				if err := rewriteIDs(item); err != nil {
					return err
				}
				continue
			}
			raw, err := hex.DecodeString(id)
			if err != nil {
				return fmt.Errorf("%s %q: must be hexadecimal", key, web.Echo(id))
			}
			v[key] = base64.StdEncoding.EncodeToString(raw)
		}
	}
	return nil
}

// encodeJSON writes a message without the white space that protojson varies on purpose.
func encodeJSON(m proto.Message) ([]byte, error) {
	b, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
