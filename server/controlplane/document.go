package controlplane

import (
	"net/http"
	"regexp"
	"strings"

	"platform.dev/platform/server/web"
)

// document answers GET /openapi.json: the paths that are served, no more, with
// what each kind's spec may hold.
func (s *Server) document(w http.ResponseWriter, _ *http.Request) {
	paths := map[string]any{}
	for _, r := range s.paths() {
		paths[r.path] = r.document()
	}
	schemas := envelopeSchemas()
	for _, k := range s.table {
		schemas[string(k.name)] = k.document()
		schemas[string(k.name)+"List"] = map[string]any{
			"type": "object", "required": []string{"items", "pagination"},
			"properties": map[string]any{
				"items":      map[string]any{"type": "array", "items": refTo(string(k.name))},
				"pagination": refTo("Pagination"),
			},
		}
	}
	web.JSON(w, http.StatusOK, map[string]any{
		"openapi": "3.0.3",
		"info": map[string]any{
			"title": "Control plane", "version": "v1",
			"description": "OpenChoreo's API, in the part that this server serves. ETag and If-Match are additions.",
		},
		"security": []any{map[string]any{"bearerAuth": []string{}}},
		"paths":    paths,
		"components": map[string]any{
			"schemas":         schemas,
			"securitySchemes": map[string]any{"bearerAuth": map[string]any{"type": "http", "scheme": "bearer"}},
		},
	})
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

func (r route) document() map[string]any {
	item := map[string]any{}
	var parameters []any
	for _, m := range pathParameter.FindAllStringSubmatch(r.path, -1) {
		parameters = append(parameters, map[string]any{"name": m[1], "in": "path", "required": true, "schema": map[string]any{"type": "string"}})
	}
	if parameters != nil {
		item["parameters"] = parameters
	}
	for _, m := range r.methods {
		item[strings.ToLower(m.verb)] = r.operation(m)
	}
	return item
}

// operation describes one method of a route.
func (r route) operation(m method) map[string]any {
	op := map[string]any{"summary": m.summary, "operationId": strings.ToLower(m.verb) + pathParameter.ReplaceAllString(strings.ReplaceAll(r.path, "/", "_"), "$1")}
	if r.public {
		op["security"] = []any{}
	}
	responses := map[string]any{"default": content("An error", "application/json", refTo("Error"))}
	op["responses"] = responses
	switch m.answers {
	case plain:
		responses["200"] = content("The answer", "application/json", map[string]any{})
	case readable:
		responses["200"] = content("The answer", "text/plain", map[string]any{"type": "string"})
	case one:
		responses["200"] = content("The object", "application/json", refTo(string(r.kind.name)))
	case many:
		op["parameters"] = r.kind.parameters()
		responses["200"] = content("A page", "application/json", refTo(string(r.kind.name)+"List"))
	case taken:
		op["requestBody"] = r.takes()
		responses["200"] = content("The object as stored", "application/json", refTo(string(r.kind.name)))
		responses["412"] = content("The object has another ETag than If-Match", "application/json", refTo("Error"))
	case made:
		op["requestBody"] = r.takes()
		responses["201"] = content("The object as stored", "application/json", refTo(string(r.kind.name)))
	case nothing:
		responses["204"] = map[string]any{"description": "Deleted, or being deleted"}
	}
	return op
}

// takes is the body of a write: the object, or for generate-release a name.
func (r route) takes() map[string]any {
	body := refTo(string(r.kind.name))
	if strings.HasSuffix(r.path, "/generate-release") {
		body = map[string]any{"type": "object", "properties": map[string]any{"releaseName": map[string]any{"type": "string"}}}
	}
	return map[string]any{"required": true, "content": map[string]any{"application/json": map[string]any{"schema": body}}}
}

// parameters are those of a kind's list.
func (k kind) parameters() []any {
	names := []string{"limit", "cursor", "labelSelector"}
	for _, f := range k.refs {
		if f.public {
			names = append(names, f.field)
		}
	}
	var out []any
	for _, name := range names {
		t := map[string]any{"type": "string"}
		if name == "limit" {
			t = map[string]any{"type": "integer", "default": defaultPage}
		}
		out = append(out, map[string]any{"name": name, "in": "query", "schema": t})
	}
	return out
}

// document is the schema of the kind's objects.
func (k kind) document() map[string]any {
	return map[string]any{
		"type": "object", "required": []string{"metadata"},
		"properties": map[string]any{
			"apiVersion": map[string]any{"type": "string", "readOnly": true},
			"kind":       map[string]any{"type": "string", "readOnly": true},
			"metadata":   refTo("ObjectMeta"),
			"spec":       k.spec.document(),
			"status":     map[string]any{"type": "object", "readOnly": true},
		},
	}
}

func envelopeSchemas() map[string]any {
	str := map[string]any{"type": "string"}
	strs := map[string]any{"type": "object", "additionalProperties": str}
	at := map[string]any{"type": "string", "format": "date-time", "readOnly": true}
	object := func(required []string, properties map[string]any) map[string]any {
		o := map[string]any{"type": "object", "properties": properties}
		if required != nil {
			o["required"] = required
		}
		return o
	}
	return map[string]any{
		"ObjectMeta": object([]string{"name"}, map[string]any{
			"name": str, "namespace": str, "uid": str, "labels": strs, "annotations": strs, "creationTimestamp": at, "deletionTimestamp": at,
		}),
		"Pagination": object(nil, map[string]any{"nextCursor": str}),
		"Error":      object([]string{"error"}, map[string]any{"error": str, "code": str, "message": str, "details": map[string]any{"type": "array", "items": map[string]any{"type": "object"}}}),
	}
}

func refTo(schema string) map[string]any {
	return map[string]any{"$ref": "#/components/schemas/" + schema}
}

func content(description, mediaType string, schema map[string]any) map[string]any {
	return map[string]any{"description": description, "content": map[string]any{mediaType: map[string]any{"schema": schema}}}
}
