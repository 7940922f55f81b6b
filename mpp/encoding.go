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

// Canonical rewrites JSON by RFC 8785: the one text that every implementation
// makes of the same data. An error where it is not I-JSON (RFC 7493): duplicate
// names, lone surrogates and numbers out of range are refused as well.
func Canonical(data []byte) ([]byte, error) {
	out, err := jcs.Transform(data)
	if err != nil {
		return nil, fmt.Errorf("canonicalize JSON: %w", err)
	}
	return out, nil
}

// EncodeJSON writes a value as the scheme's parameters carry it: base64url
// without padding of its canonical JSON. An error where it cannot be encoded.
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

// DecodeBase64 reads base64url with or without its padding, and in one spelling
// only: no line breaks, no stray bits. An error otherwise.
func DecodeBase64(s string) ([]byte, error) {
	if padded := strings.TrimRight(s, "="); padded != s {
		if len(s)%4 != 0 || len(s)-len(padded) > 2 {
			return nil, errBase64
		}
		s = padded
	}
	if strings.ContainsAny(s, "\r\n") { // package base64 skips them, even when strict
		return nil, errBase64
	}
	out, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil, errBase64
	}
	return out, nil
}

// members reads one strict JSON object, its members by their exact names.
func members(data []byte) (*ijson.Value, error) {
	v, err := ijson.Parse(string(data), ijson.Object)
	if err != nil {
		return nil, errors.New("not a strict JSON object")
	}
	return v, nil
}

// text takes a member that is a string, or absent.
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
