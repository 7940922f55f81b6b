package mpp

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gowebpki/jcs"

	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// Canonical returns the canonical form of JSON (RFC 8785). It returns an error if data is
// not I-JSON (RFC 7493): duplicate names, lone surrogates and numbers out of range are
// rejected.
func Canonical(data []byte) ([]byte, error) {
	out, err := jcs.Transform(data)
	if err != nil {
		return nil, fmt.Errorf("canonicalize JSON: %w", err)
	}
	return out, nil
}

// EncodeJSON encodes a value for a parameter of the scheme: unpadded base64url of its
// canonical JSON. It returns an error if v cannot be encoded.
func EncodeJSON(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode parameter: %w", err)
	}
	canonical, err := Canonical(data)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(canonical), nil
}

var errBase64 = errors.New("not base64url")

// DecodeBase64 decodes base64url with or without padding. It returns an error if s has
// line breaks, wrong padding or non-zero trailing bits.
func DecodeBase64(s string) ([]byte, error) {
	if padded := strings.TrimRight(s, "="); padded != s {
		if len(s)%4 != 0 || len(s)-len(padded) > 2 {
			return nil, errBase64
		}
		s = padded
	}
	if strings.ContainsAny(s, "\r\n") { // package base64 skips them even in strict mode
		return nil, errBase64
	}
	out, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil, errBase64
	}
	return out, nil
}

// members parses one strict JSON object, whose members are read by their exact names.
func members(data []byte) (*ijson.Value, error) {
	v, err := ijson.Parse(string(data), ijson.Object)
	if err != nil {
		return nil, errors.New("not a strict JSON object")
	}
	return v, nil
}

// text returns a string member, or "" if it is absent.
func text(object *ijson.Value, name string) (string, error) {
	v := object.Get(name)
	if v == nil {
		return "", nil
	}
	s, ok := v.Str()
	if !ok {
		return "", fmt.Errorf("%s is not a string", name)
	}
	return s, nil
}
