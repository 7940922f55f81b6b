package x402

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// DecodeError reports malformed input.
type DecodeError struct {
	// Reason is the protocol's code for the error.
	Reason Reason
	// Field is the path of the malformed field: "payload.authorization.value". Empty if
	// the input as a whole is malformed.
	Field string

	err error
}

// Error implements error.
func (e *DecodeError) Error() string {
	if e.Field == "" {
		return e.err.Error()
	}
	return e.Field + ": " + e.err.Error()
}

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.err }

func malformed(field, format string, args ...any) *DecodeError {
	return &DecodeError{Reason: ReasonInvalidPayload, Field: field, err: fmt.Errorf(format, args...)}
}

// object is a JSON object whose members are read by their exact names. Package json
// would ignore case and accept the last of two members with one name.
type object struct {
	parent *object
	name   string
	value  *ijson.Value
	raw    []byte // only of the outermost object
}

// parseObject parses one JSON object. It rejects input that two parsers could read
// differently: duplicate names at any depth, invalid UTF-8, lone surrogates and trailing
// data.
func parseObject(data []byte) (*object, error) {
	v, err := ijson.Parse(string(data), ijson.Object)
	if err != nil {
		return nil, malformed("", "not a strict JSON object: %w", err)
	}
	return &object{value: v, raw: data}, nil
}

// at returns the path of a member, for an error.
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

// has reports whether a member is present and not null.
func (o *object) has(name string) bool { return o.value.Get(name).Kind() > ijson.Null }

// take returns a required member.
func (o *object) take(name string) (*ijson.Value, error) {
	if !o.has(name) {
		return nil, malformed(o.at(name), "missing")
	}
	return o.value.Get(name), nil
}

// object returns a required member that is an object.
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

// text returns a required member that is a string.
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

// optionalText returns a string member, or "" if it is absent or null.
func (o *object) optionalText(name string) (string, error) {
	if !o.has(name) {
		return "", nil
	}
	return o.text(name)
}

// boolean returns a required member that is true or false.
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

// integer returns a required member that is a JSON integer.
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

// list returns a required member that is an array of at most limit objects.
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

// json returns a member as JSON, or nil if it is absent or null.
func (o *object) json(name string) json.RawMessage {
	if !o.has(name) {
		return nil
	}
	return o.value.Get(name).AppendJSON(nil)
}

// decode unmarshals a member with package json. It changes nothing if the member is
// absent.
func (o *object) decode(name string, to any) error {
	if !o.has(name) {
		return nil
	}
	if err := json.Unmarshal(o.json(name), to); err != nil {
		return malformed(o.at(name), "of the wrong form")
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
