package x402

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// DecodeError tells what is wrong with something received.
type DecodeError struct {
	// Reason is the protocol's code for it.
	Reason Reason
	// Field is where, as a path: "payload.authorization.value". May be empty.
	Field string
	err   error
}

func (e *DecodeError) Error() string {
	if e.Field == "" {
		return e.err.Error()
	}
	return e.Field + ": " + e.err.Error()
}

// Unwrap gives the cause.
func (e *DecodeError) Unwrap() error { return e.err }

func malformed(field, format string, args ...any) *DecodeError {
	return &DecodeError{Reason: ReasonInvalidPayload, Field: field, err: fmt.Errorf(format, args...)}
}

// object is a JSON object whose members are taken by their exact names: package
// json would match them without case, and let the last of two win.
type object struct {
	parent *object
	name   string
	value  *ijson.Value
	raw    []byte // of the outermost alone
}

// parseObject reads one JSON object and refuses what two readers could read
// differently: duplicate names at any depth, bad UTF-8, lone surrogates,
// trailing data.
func parseObject(data []byte) (*object, error) {
	v, err := ijson.Parse(string(data), ijson.Object)
	if err != nil {
		return nil, malformed("", "not a strict JSON object: %w", err)
	}
	return &object{value: v, raw: data}, nil
}

// at is the path of a member, for an error.
func (o *object) at(name string) string {
	if o.parent == nil {
		return name
	}
	path := o.parent.at(o.name)
	if name == "" || path == "" {
		return path + name
	}
	return path + "." + name
}

// has tells whether a member is there and not null.
func (o *object) has(name string) bool { return o.value.Get(name).Kind() > ijson.Null }

// take is a member that must be there.
func (o *object) take(name string) (*ijson.Value, error) {
	if !o.has(name) {
		return nil, malformed(o.at(name), "missing")
	}
	return o.value.Get(name), nil
}

// object takes a member that must be an object.
func (o *object) object(name string) (*object, error) {
	v, err := o.take(name)
	if err != nil {
		return nil, err
	}
	if v.Kind() != ijson.Object {
		return nil, malformed(o.at(name), "not an object")
	}
	return &object{parent: o, name: name, value: v}, nil
}

// text takes a member that must be a string.
func (o *object) text(name string) (string, error) {
	v, err := o.take(name)
	if err != nil {
		return "", err
	}
	s, ok := v.Str()
	if !ok {
		return "", malformed(o.at(name), "not a string")
	}
	return s, nil
}

// optionalText takes a member that may be absent or null.
func (o *object) optionalText(name string) (string, error) {
	if !o.has(name) {
		return "", nil
	}
	return o.text(name)
}

// boolean takes a member that must be true or false.
func (o *object) boolean(name string) (bool, error) {
	v, err := o.take(name)
	if err != nil {
		return false, err
	}
	if v.Kind() != ijson.Bool {
		return false, malformed(o.at(name), "not a boolean")
	}
	return string(v.AppendJSON(nil)) == "true", nil
}

// integer takes a member that must be a JSON integer.
func (o *object) integer(name string) (int64, error) {
	v, err := o.take(name)
	if err != nil {
		return 0, err
	}
	n, ok := v.Int(math.MinInt64, math.MaxInt64)
	if !ok {
		return 0, malformed(o.at(name), "not an integer")
	}
	return n, nil
}

// list takes a member that must be an array of objects.
func (o *object) list(name string, limit int) ([]*object, error) {
	v, err := o.take(name)
	if err != nil {
		return nil, err
	}
	if v.Kind() != ijson.Array {
		return nil, malformed(o.at(name), "not an array")
	}
	var out []*object
	for entry := range v.Children() {
		if len(out) == limit {
			return nil, malformed(o.at(name), "more than %d entries", limit)
		}
		each := &object{parent: o, name: fmt.Sprintf("%s[%d]", name, len(out)), value: entry}
		if entry.Kind() != ijson.Object {
			return nil, malformed(each.at(""), "not an object")
		}
		out = append(out, each)
	}
	return out, nil
}

// json is a member as JSON, nil where it is absent or null.
func (o *object) json(name string) json.RawMessage {
	if !o.has(name) {
		return nil
	}
	return o.value.Get(name).AppendJSON(nil)
}

// decode reads a member into a type of package json; an absent one changes nothing.
func (o *object) decode(name string, to any) error {
	if !o.has(name) {
		return nil
	}
	if err := json.Unmarshal(o.json(name), to); err != nil {
		return malformed(o.at(name), "of another form")
	}
	return nil
}

// version checks the protocol version.
func (o *object) version(want int64) error {
	v, err := o.integer("x402Version")
	if err == nil && v != want {
		err = &DecodeError{Field: "x402Version", err: fmt.Errorf("is %d, want %d", v, want)}
	}
	var d *DecodeError
	if errors.As(err, &d) {
		d.Reason = ReasonInvalidVersion
		return d
	}
	return err
}
