package x402

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gowebpki/jcs"
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
// json would match them without case.
type object struct {
	path    string
	members map[string]json.RawMessage
	raw     []byte // of the outermost alone
}

// parseObject reads one JSON object and refuses what two readers could read
// differently: duplicate names at any depth, bad UTF-8, lone surrogates, numbers
// out of range, trailing data.
func parseObject(data []byte) (object, error) {
	if _, err := jcs.Transform(data); err != nil {
		return object{}, malformed("", "not strict JSON: %w", err)
	}
	o := object{raw: data}
	if err := json.Unmarshal(data, &o.members); err != nil || o.members == nil {
		return object{}, malformed("", "not a JSON object")
	}
	return o, nil
}

func (o object) at(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

func (o object) has(name string) bool {
	raw, ok := o.members[name]
	return ok && string(raw) != "null"
}

// object takes a member that must be an object.
func (o object) object(name string) (object, error) {
	inner := object{path: o.at(name)}
	if !o.has(name) {
		return inner, malformed(inner.path, "missing")
	}
	if err := json.Unmarshal(o.members[name], &inner.members); err != nil {
		return inner, malformed(inner.path, "not an object")
	}
	return inner, nil
}

// text takes a member that must be a string.
func (o object) text(name string) (string, error) {
	if !o.has(name) {
		return "", malformed(o.at(name), "missing")
	}
	var s string
	if err := json.Unmarshal(o.members[name], &s); err != nil {
		return "", malformed(o.at(name), "not a string")
	}
	return s, nil
}

// optionalText takes a member that may be absent or null.
func (o object) optionalText(name string) (string, error) {
	if !o.has(name) {
		return "", nil
	}
	return o.text(name)
}

// boolean takes a member that must be true or false.
func (o object) boolean(name string) (b bool, err error) {
	if !o.has(name) {
		return false, malformed(o.at(name), "missing")
	}
	if err := json.Unmarshal(o.members[name], &b); err != nil {
		return false, malformed(o.at(name), "not a boolean")
	}
	return b, nil
}

// integer takes a member that must be a JSON integer.
func (o object) integer(name string) (int64, error) {
	if !o.has(name) {
		return 0, malformed(o.at(name), "missing")
	}
	var n int64
	if err := json.Unmarshal(o.members[name], &n); err != nil {
		return 0, malformed(o.at(name), "not an integer")
	}
	return n, nil
}

// list takes a member that must be an array of objects.
func (o object) list(name string, limit int) ([]object, error) {
	if !o.has(name) {
		return nil, malformed(o.at(name), "missing")
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(o.members[name], &raws); err != nil {
		return nil, malformed(o.at(name), "not an array")
	}
	if len(raws) > limit {
		return nil, malformed(o.at(name), "more than %d entries", limit)
	}
	out := make([]object, len(raws))
	for i, raw := range raws {
		out[i].path = fmt.Sprintf("%s[%d]", o.at(name), i)
		if err := json.Unmarshal(raw, &out[i].members); err != nil || out[i].members == nil {
			return nil, malformed(out[i].path, "not an object")
		}
	}
	return out, nil
}

// version checks the protocol version.
func (o object) version(want int64) error {
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
