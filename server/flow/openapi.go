package flow

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"platform.dev/platform/flowclient/wire"
)

// The names of the ways to prove who asks, in the description.
const (
	bearerScheme    = "bearer"
	signatureScheme = "signature"
)

// failures are the answers that are errors. Every endpoint has them, but for
// those that say when.
var failures = []struct {
	status     int
	name, says string
	when       func(endpoint) bool // nil: always
}{
	{http.StatusBadRequest, "Invalid", "Bad input: field and value, and why it cannot stand. Nothing was written.", nil},
	{http.StatusUnauthorized, "Unproved", "The token or the signature is missing or not the right one.", closed},
	{http.StatusNotFound, "NotFound", "Nothing has that name.", closed},
	{http.StatusConflict, "Refusal", "A decision against the request: nothing was written. The sentence is for people and ends with what to do or when; gates has what each gate said.", closed},
	{http.StatusRequestEntityTooLarge, "TooLarge", "The body is larger than " + strconv.Itoa(wire.MaxBody) + " bytes.", endpoint.takes},
	{http.StatusInternalServerError, "Fault", "Something broke in the flow controller; its log tells what, under id.", nil},
	{http.StatusBadGateway, "Upstream", "A part that the controller depends on could not be read or written; part names it.", closed},
	{http.StatusServiceUnavailable, "Stopping", "The flow controller is stopping; ask again in a moment.", closed},
}

// closed tells whether an endpoint wants to know who asks.
func closed(e endpoint) bool { return e.access != public }

// takes tells whether an endpoint takes a body.
func (e endpoint) takes() bool { return e.sends != nil }

// describe is the description of a surface in OpenAPI, made from its endpoints
// alone: a path that is not there is not served.
func describe(all []endpoint) (encoded, error) {
	paths, schemas := openapi3.NewPaths(), newSchemas()
	for _, e := range all {
		operation, err := e.operation(schemas)
		if err != nil {
			return encoded{}, fmt.Errorf("describe %s %s: %w", e.method, e.path, err)
		}
		item := paths.Value(e.path)
		if item == nil {
			item = &openapi3.PathItem{Parameters: inPath(e.path)}
			paths.Set(e.path, item)
		}
		item.SetOperation(e.method, operation)
	}
	shared, err := components(schemas)
	if err != nil {
		return encoded{}, fmt.Errorf("describe errors: %w", err)
	}
	return encode(&openapi3.T{
		OpenAPI: "3.0.3",
		Info: &openapi3.Info{
			Title: "Flow controller", Version: "1",
			Description: "Scaffolds, commits, promotes, rolls back, locks, and tells where everything stands. Bodies are read strictly: each field is known, stands once and has its type. " +
				"A write with an Idempotency-Key that was used before has its effect no second time and answers as it did. " +
				"Where an answer may also be text/plain, Accept: text/plain gets it as lines for people.",
		},
		Paths: paths, Components: shared,
		Security: openapi3.SecurityRequirements{{bearerScheme: {}}},
	})
}

// components are what the endpoints share: the schemas that they have made, the
// errors, the headers of writes, and the ways to prove who asks.
func components(made *schemas) (*openapi3.Components, error) {
	problem, err := made.answer(wire.Error{})
	if err != nil {
		return nil, err
	}
	made.all[deliverySchema] = &openapi3.SchemaRef{Value: openapi3.NewObjectSchema()}
	made.all[deliverySchema].Value.Description = "What a git server sends: recognised by one of the headers " + eventHeaders() + ", and read in part."
	responses := openapi3.ResponseBodies{}
	for _, f := range failures {
		says := f.says
		responses[f.name] = &openapi3.ResponseRef{Value: &openapi3.Response{Description: &says, Content: content(wire.Error{}, problem)}}
	}
	return &openapi3.Components{
		Schemas: made.all, Responses: responses, Parameters: origins(),
		SecuritySchemes: openapi3.SecuritySchemes{
			bearerScheme: {Value: &openapi3.SecurityScheme{Type: "http", Scheme: "bearer"}},
			signatureScheme: {Value: &openapi3.SecurityScheme{
				Type: "apiKey", In: "header", Name: "X-Signature-256",
				Description: "sha256=<hex of the body's HMAC-SHA256 under the shared secret>. The signature headers of Gitea, GitHub, Gogs and GitLab are read as well; each that is there must match.",
			}},
		},
	}, nil
}

// operation is what the description says of one method of a path.
func (e endpoint) operation(made *schemas) (*openapi3.Operation, error) {
	op := &openapi3.Operation{
		Summary: e.summary, OperationID: strings.ToLower(e.method) + inBraces.ReplaceAllString(strings.NewReplacer("/", "_", ".", "_").Replace(e.path), "$1"),
		Parameters: e.parameters(), Security: e.security(),
	}
	if e.takes() {
		body, err := made.body(e.sends)
		if err != nil {
			return nil, err
		}
		op.RequestBody = &openapi3.RequestBodyRef{Value: &openapi3.RequestBody{Required: true, Content: e.bodies(body)}}
	}
	answer, err := made.answer(e.answers)
	if err != nil {
		return nil, err
	}
	op.Responses = e.responses(answer)
	return op, nil
}

// security is what a request must bring; nil for what the whole surface wants.
func (e endpoint) security() *openapi3.SecurityRequirements {
	switch e.access {
	case public:
		return &openapi3.SecurityRequirements{}
	case signed:
		return &openapi3.SecurityRequirements{{bearerScheme: {}}, {signatureScheme: {}}}
	}
	return nil
}

// parameters are those of the query and the headers.
func (e endpoint) parameters() openapi3.Parameters {
	var all openapi3.Parameters
	for _, q := range e.query {
		all = append(all, &openapi3.ParameterRef{Value: q.described()})
	}
	if e.method != http.MethodGet {
		for _, name := range slices.Sorted(maps.Keys(origins())) {
			all = append(all, &openapi3.ParameterRef{Ref: "#/components/parameters/" + name})
		}
	}
	if e.tagged {
		all = append(all, &openapi3.ParameterRef{Value: openapi3.NewHeaderParameter("If-None-Match").
			WithDescription("The ETag of the answer that the client has.").WithSchema(openapi3.NewStringSchema())})
	}
	return all
}

// responses are the answers: successes as the endpoint says them, and errors.
func (e endpoint) responses(answer *openapi3.SchemaRef) *openapi3.Responses {
	all := openapi3.NewResponsesWithCapacity(len(failures) + len(e.success))
	for _, status := range e.success {
		says := successes[status]
		all.Set(strconv.Itoa(status), &openapi3.ResponseRef{Value: &openapi3.Response{Description: &says, Content: content(e.answers, answer), Headers: e.headers()}})
	}
	if e.tagged {
		says := successes[http.StatusNotModified]
		all.Set(strconv.Itoa(http.StatusNotModified), &openapi3.ResponseRef{Value: &openapi3.Response{Description: &says, Headers: e.headers()}})
	}
	for _, f := range failures {
		if f.when == nil || f.when(e) {
			all.Set(strconv.Itoa(f.status), &openapi3.ResponseRef{Ref: "#/components/responses/" + f.name})
		}
	}
	return all
}

// successes say what the statuses mean that are no errors.
var successes = map[int]string{
	http.StatusOK:          "The answer.",
	http.StatusCreated:     "What was made, or what the same request made before.",
	http.StatusMultiStatus: "Some components were neither moved nor needed to be; each says what it waits for.",
	http.StatusNotModified: "The client has the answer.",
}

// headers are those of a success.
func (e endpoint) headers() openapi3.Headers {
	if !e.tagged {
		return nil
	}
	return openapi3.Headers{"ETag": {Value: &openapi3.Header{Parameter: openapi3.Parameter{
		Description: "Names this answer, as long as it stays the same.", Schema: openapi3.NewStringSchema().NewRef(),
	}}}}
}

// deliverySchema is the name of the schema of a git server's delivery.
const deliverySchema = "GitDelivery"

// bodies are the bodies that an endpoint takes, by media type. A delivery's own
// fields are a git server's to say; a form has them in its field payload.
func (e endpoint) bodies(strict *openapi3.SchemaRef) openapi3.Content {
	if e.access != signed {
		return openapi3.NewContentWithJSONSchemaRef(strict)
	}
	form := openapi3.NewObjectSchema().WithProperty("payload", openapi3.NewStringSchema()).WithRequired([]string{"payload"})
	return openapi3.Content{
		"application/json":                  openapi3.NewMediaType().WithSchema(&openapi3.Schema{AnyOf: openapi3.SchemaRefs{strict, {Ref: "#/components/schemas/" + deliverySchema}}}),
		"application/x-www-form-urlencoded": openapi3.NewMediaType().WithSchema(form),
	}
}

// content is an answer by media type: those that package wire has lines of are text as well.
func content(answer any, schema *openapi3.SchemaRef) openapi3.Content {
	c := openapi3.NewContentWithJSONSchemaRef(schema)
	if _, ok := wire.Text(answer); ok {
		c[wire.TextType] = openapi3.NewMediaType().WithSchema(openapi3.NewStringSchema())
	}
	return c
}

var inBraces = regexp.MustCompile(`\{(\w+)\}`)

// inPath are the parameters in a path.
func inPath(path string) openapi3.Parameters {
	var all openapi3.Parameters
	for _, m := range inBraces.FindAllStringSubmatch(path, -1) {
		all = append(all, &openapi3.ParameterRef{Value: openapi3.NewPathParameter(m[1]).WithSchema(openapi3.NewStringSchema())})
	}
	return all
}

// described is a parameter of a query.
func (q parameter) described() *openapi3.Parameter {
	schema := openapi3.NewStringSchema()
	if q.number {
		schema = openapi3.NewIntegerSchema()
	}
	if q.smallest != 0 {
		schema.WithMin(float64(q.smallest))
	}
	if q.largest != 0 {
		schema.WithMax(float64(q.largest))
	}
	if q.longest != 0 {
		schema.WithMaxLength(int64(q.longest))
	}
	return openapi3.NewQueryParameter(q.name).WithDescription(q.says).WithRequired(q.required).WithSchema(schema)
}

// origins are the headers that tell where a write comes from, by name.
func origins() openapi3.ParametersMap {
	all := openapi3.ParametersMap{}
	for _, h := range wire.OriginHeaders() {
		schema := openapi3.NewStringSchema()
		if h.Longest != 0 {
			schema.WithMaxLength(int64(h.Longest))
		}
		all[h.Name] = &openapi3.ParameterRef{Value: openapi3.NewHeaderParameter(h.Name).WithDescription(h.Says).WithSchema(schema)}
	}
	return all
}

// eventHeaders are the headers by which deliveries are known.
func eventHeaders() string {
	var names []string
	for _, p := range providers {
		names = append(names, p.event)
	}
	return strings.Join(names, ", ")
}
