package exec

import (
	"fmt"
	"reflect"
	"strings"
)

// types are what arguments are read as.
var types = map[string]reflect.Type{
	kindString: reflect.TypeFor[string](), kindEnum: reflect.TypeFor[string](), kindInt: reflect.TypeFor[int64](), kindBool: reflect.TypeFor[bool](),
}

// grammar is the struct that the registry fills from a message; nil without arguments.
func (d Description) grammar() reflect.Type {
	if len(d.Args) == 0 {
		return nil
	}
	fields := make([]reflect.StructField, len(d.Args))
	for i, a := range d.Args {
		fields[i] = reflect.StructField{Name: fmt.Sprintf("Arg%d", i), Type: types[a.Kind], Tag: a.tag()}
	}
	return reflect.StructOf(fields)
}

// tag writes an argument as the registry reads it; its texts were checked.
func (a Argument) tag() reflect.StructTag {
	help := strings.NewReplacer(`"`, "'", `\`, "/", "`", "'", "$", "$$").Replace(a.Help)
	parts := []string{`name:"` + a.Name + `"`, `help:"` + help + `"`}
	if a.placed() {
		parts = append(parts, `arg:""`)
	}
	switch {
	case a.Kind == kindBool:
	case a.Required:
		parts = append(parts, `required:""`)
	default:
		parts = append(parts, `optional:""`)
	}
	values := strings.Join(a.Values, ",")
	switch {
	case a.Kind == kindEnum && !a.Required && a.Default == "":
		parts = append(parts, `enum:"`+values+`,"`, `default:""`) // the empty word stands for none
	case a.Kind == kindEnum:
		parts = append(parts, `enum:"`+values+`"`)
	}
	if a.Default != "" {
		parts = append(parts, `default:"`+a.Default+`"`)
	}
	return reflect.StructTag(strings.Join(parts, " "))
}

// named are the arguments of a message by their names.
func (d Description) named(args any) map[string]any {
	all := map[string]any{}
	if args == nil {
		return all
	}
	v := reflect.Indirect(reflect.ValueOf(args))
	for i, a := range d.Args {
		all[a.Name] = v.Field(i).Interface()
	}
	return all
}
