package httpjson

import (
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// misspelled refuses an unknown member of body, or of an object in it, whose name is that of
// a missing one but for one letter or for case. Other unknown members are ignored.
func misspelled(body jsontext.Value, t reflect.Type, path string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var given map[string]jsontext.Value
	if t.Kind() != reflect.Struct || body.Kind() != jsontext.KindBeginObject {
		return nil
	}
	if err := json.Unmarshal(body, &given); err != nil {
		return &FieldError{Field: strings.TrimSuffix(path, "."), Message: err.Error()}
	}
	known := members(t)
	for name, value := range given {
		if member, ok := known[name]; ok {
			if err := misspelled(value, member, path+name+"."); err != nil {
				return err
			}
			continue
		}
		for meant := range known {
			if _, ok := given[meant]; !ok && near(name, meant) {
				return &FieldError{Field: path + name, Message: "is not known; did you mean " + meant + "?"}
			}
		}
	}
	return nil
}

// members returns the types of a struct's members by their names in JSON.
func members(t reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			all[name] = f.Type
		}
	}
	return all
}

// near reports whether two names differ only by case or, if they are long enough to
// be distinguished, by one letter that was added, left out, replaced, or swapped with the next.
func near(a, b string) bool {
	const long = 6
	if len(a) > len(b) {
		a, b = b, a
	}
	if strings.EqualFold(a, b) {
		return true
	}
	if len(a) < long || len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	swapped := i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i]
	return a[i+1:] == b[i+1:] || swapped && a[i+2:] == b[i+2:]
}
