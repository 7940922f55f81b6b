// Package httpjson reads and writes JSON bodies strictly: a single value, no duplicate
// names, exact case, valid UTF-8, integers written as integers, and a size limit. Unknown
// members are ignored, unless they look like a misspelled one.
package httpjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxBody is the maximum size of a request body, in bytes.
const MaxBody = 64 << 10

// Errors of Decode, besides [*FieldError].
var (
	ErrTooLarge  = fmt.Errorf("body is larger than %d bytes", MaxBody)
	ErrMediaType = errors.New("Content-Type must be application/json")
	ErrRead      = errors.New("body ended early")
)

// FieldError reports a body, or a member of it, that cannot be read.
type FieldError struct {
	Field   string // the member, such as "a.b.0"; empty if the whole body is wrong
	Message string
}

func (e *FieldError) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

// Decode reads the body into v, a pointer to a struct. A missing body is read as an empty object.
func Decode(w http.ResponseWriter, r *http.Request, v any) error {
	body, err := read(http.MaxBytesReader(w, r.Body, MaxBody), r.ContentLength)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return ErrTooLarge
	case err != nil:
		return ErrRead
	case len(body) == 0:
		body = []byte("{}")
	default:
		media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil || media != "application/json" {
			return ErrMediaType
		}
	}
	if err := json.Unmarshal(body, v, json.RejectUnknownMembers(true)); err == nil {
		return nil
	}
	if err := Unmarshal(body, v); err != nil {
		return err
	}
	return misspelled(body, reflect.TypeOf(v), "")
}

// read reads all of r. The announced length is trusted only up to the limit, and only for
// the buffer's size.
func read(r io.Reader, said int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(max(said, 0), MaxBody)) + bytes.MinRead)
	_, err := b.ReadFrom(r)
	return b.Bytes(), err
}

// Unmarshal reads strict JSON into v. It returns a [*FieldError].
func Unmarshal(body []byte, v any) error {
	err := json.Unmarshal(body, v)
	var wrongType *json.SemanticError
	var syntax *jsontext.SyntacticError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrongType):
		return &FieldError{Field: field(wrongType.JSONPointer), Message: "must be " + kind(wrongType)}
	case errors.As(err, &syntax) && errors.Is(err, jsontext.ErrDuplicateName):
		return &FieldError{Field: field(syntax.JSONPointer), Message: "given twice"}
	default:
		return &FieldError{Message: "body is not one valid JSON value"}
	}
}

// field converts a JSON pointer to the dotted form of parameters.
func field(p jsontext.Pointer) string {
	var parts []string
	for token := range p.Tokens() {
		parts = append(parts, token)
	}
	return strings.Join(parts, ".")
}

// kind describes for a person what was expected.
func kind(e *json.SemanticError) string {
	if e.GoType == nil {
		return "of another type"
	}
	switch name := e.GoType.String(); {
	case name == "time.Time":
		return "a timestamp such as 2027-01-31T00:00:00Z (RFC 3339)"
	case strings.HasPrefix(name, "map["), e.GoType.Kind().String() == "struct":
		return "an object"
	case strings.HasPrefix(name, "[]"):
		return "an array"
	case strings.HasPrefix(e.GoType.Kind().String(), "int"):
		return "an integer, such as 100"
	default:
		return "a " + e.GoType.Kind().String()
	}
}

// timestamp is the format of times: RFC 3339, UTC, milliseconds.
const timestamp = "2006-01-02T15:04:05.000Z"

// canonical holds the encoding options. It is created once, because it caches how each type
// is encoded.
var canonical = json.JoinOptions(json.Deterministic(true), json.WithMarshalers(json.MarshalToFunc(
	func(e *jsontext.Encoder, t time.Time) error {
		return e.WriteToken(jsontext.String(t.UTC().Format(timestamp)))
	},
)))

// Marshal encodes v, with times in UTC and milliseconds and with map members sorted. It
// panics if v cannot be encoded, which is a bug of the caller.
func Marshal(v any) []byte {
	body, err := json.Marshal(v, canonical)
	if err != nil {
		panic(fmt.Sprintf("httpjson: encode %T: %v", v, err))
	}
	return body
}

// Write sends v as a JSON response, encoded by [Marshal].
func Write(w http.ResponseWriter, status int, v any) {
	body := Marshal(v)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may be gone
}
