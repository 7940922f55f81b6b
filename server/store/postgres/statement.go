package postgres

import (
	_ "embed"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

//go:embed update.sql
var updateSQL string

var parameter = regexp.MustCompile(`@([a-z_]+)`)

// statement is a statement of update.sql for many rows. Its parameters are arrays, one
// for each field of a P.
type statement[P any] struct {
	text   string
	fields []int // of P, in the order of the parameters
}

// named returns the statement of a name. It panics unless the parameters are exactly the
// fields of P, by name: statements are read when the program starts.
func named[P any](name string) statement[P] {
	s := statement[P]{text: textOf(name)}
	t := reflect.TypeFor[P]()
	var order []string
	s.text = parameter.ReplaceAllStringFunc(s.text, func(match string) string {
		column := match[1:]
		at := slices.Index(order, column)
		if at < 0 {
			at = len(order)
			order = append(order, column)
			field, ok := t.FieldByNameFunc(func(name string) bool { return isColumn(name, column) })
			if !ok {
				panic(fmt.Sprintf("postgres: statement %s: %s has no field for @%s", name, t, column))
			}
			s.fields = append(s.fields, field.Index[0])
		}
		return fmt.Sprintf("$%d", at+1)
	})
	if len(order) != t.NumField() {
		panic(fmt.Sprintf("postgres: statement %s has %d parameters, %s has %d fields", name, len(order), t, t.NumField()))
	}
	return s
}

// isColumn reports whether a Go field is of a column: PayTo of pay_to.
func isColumn(field, column string) bool {
	return strings.EqualFold(field, strings.ReplaceAll(column, "_", ""))
}

// textOf returns the text of a statement of update.sql.
func textOf(name string) string {
	_, rest, ok := strings.Cut(updateSQL, "-- name: "+name+"\n")
	if !ok {
		panic("postgres: no statement " + name)
	}
	text, _, _ := strings.Cut(rest, "-- name: ")
	return strings.TrimSpace(text)
}

// arrays turns rows into the statement's parameters.
func arrays[R, P any](s statement[P], rows []R, params func(R) P) []any {
	t := reflect.TypeFor[P]()
	columns := make([]reflect.Value, len(s.fields))
	for i, field := range s.fields {
		columns[i] = reflect.MakeSlice(reflect.SliceOf(t.Field(field).Type), len(rows), len(rows))
	}
	for n, r := range rows {
		p := reflect.ValueOf(params(r))
		for i, field := range s.fields {
			columns[i].Index(n).Set(p.Field(field))
		}
	}
	out := make([]any, len(columns))
	for i, column := range columns {
		out[i] = column.Interface()
	}
	return out
}
