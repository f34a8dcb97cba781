package flow

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3gen"
)

// schemas are the schemas of a description, made from the types of bodies.
type schemas struct {
	all             openapi3.Schemas
	names           map[string]reflect.Type
	bodies, answers *openapi3gen.Generator
}

func newSchemas() *schemas {
	s := &schemas{all: openapi3.Schemas{}, names: map[string]reflect.Type{}}
	generator := func(strict bool) *openapi3gen.Generator {
		return openapi3gen.NewGenerator(
			openapi3gen.CreateComponentSchemas(openapi3gen.ExportComponentSchemasOptions{ExportComponentSchemas: true, ExportTopLevelSchema: true}),
			openapi3gen.SchemaCustomizer(func(name string, t reflect.Type, tag reflect.StructTag, schema *openapi3.Schema) error {
				schema.Nullable = !strict && name != "_root" && !leftOut(tag) && mayBeNull(t, schema)
				return s.complete(t, schema, strict)
			}),
		)
	}
	s.bodies, s.answers = generator(true), generator(false)
	return s
}

// body is the schema of what a request sends, which has no other fields.
func (s *schemas) body(value any) (*openapi3.SchemaRef, error) {
	return s.bodies.NewSchemaRefForValue(value, s.all)
}

// answer is the schema of an answer, which may have more fields tomorrow.
func (s *schemas) answer(value any) (*openapi3.SchemaRef, error) {
	return s.answers.NewSchemaRefForValue(value, s.all)
}

// mayBeNull tells whether a value of a type that is empty is written as null:
// of a pointer, the schema knows.
func mayBeNull(t reflect.Type, schema *openapi3.Schema) bool {
	return schema.Nullable || t.Kind() == reflect.Slice || t.Kind() == reflect.Map || t.Kind() == reflect.Interface
}

// complete says of an object's schema what its type knows beyond it: which
// fields are always there, and whether there may be others.
func (s *schemas) complete(t reflect.Type, schema *openapi3.Schema, strict bool) error {
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() {
		return nil
	}
	if had, known := s.names[t.Name()]; t.Name() != "" && known && had != t {
		return fmt.Errorf("%s and %s have one name", had, t)
	}
	s.names[t.Name()] = t
	schema.Required = always(t)
	if strict {
		schema.AdditionalProperties = openapi3.AdditionalProperties{Has: new(bool)}
	}
	return nil
}

// always are the fields that are there whatever they hold.
func always(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			names = append(names, always(f.Type)...)
		case f.IsExported() && name != "" && name != "-" && !leftOut(f.Tag):
			names = append(names, name)
		}
	}
	return names
}

// leftOut tells whether a field is left out when it is empty.
func leftOut(tag reflect.StructTag) bool {
	_, options, _ := strings.Cut(tag.Get("json"), ",")
	return strings.Contains(options, "omit")
}
