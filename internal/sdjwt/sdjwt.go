// Package sdjwt implements SD-JWT (RFC 9901) with ES256 strictly: it splits, verifies and
// signs tokens, and does not use libraries that repair their input.
//
// A verifier checks a token in the order of the profile, so that the first broken rule is
// the [Reason] of the [*Error]:
//
//	tok, err := sdjwt.Split(text, false)              // envelope, base64url
//	kid, err := tok.Issuer.Header("dc+sd-jwt")        // header
//	err = tok.Issuer.Verify(key)                      // signature, key found by kid
//	claims, err := tok.Issuer.Claims()                // payload
//	err = tok.Disclose(claims, profile)               // disclosures, in place
//	kb, err := tok.VerifyBinding(sdjwt.Binding{...})  // key binding, if any
//
// The package does not know what claims mean: a [Profile] defines which claims may be
// hidden, and the caller checks the rest.
package sdjwt

import (
	"errors"
	"strings"

	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// MaxBytes is the maximum length of a token for [Split].
const MaxBytes = 8192

// Token is a split SD-JWT. Its parts are decoded, but nothing is verified.
type Token struct {
	// Issuer is the JWT of the issuer.
	Issuer JWT
	// Disclosures are the disclosures in their original order.
	Disclosures []Disclosure
	// Binding is the key-binding JWT. It is nil if there is none.
	Binding *JWT

	bound string // what a key binding signs: everything up to and including the last ~
}

// Disclosure is a disclosure as received, and its JSON.
type Disclosure struct {
	// Text is what its digest is computed from.
	Text string
	json string
}

// JSON returns the decoded disclosure. It is not parsed.
func (d Disclosure) JSON() string { return d.json }

// Split splits a token (rules 1 and 3 to 5 of the profile). The text begins with the
// issuer's JWT, without any prefix. It returns an [*Error] with too_large, bad_format,
// kb_missing or bad_base64url.
func Split(text string, requireBinding bool) (*Token, error) {
	if len(text) > MaxBytes {
		return nil, refuse(TooLarge)
	}
	first, rest, ok := strings.Cut(text, "~")
	if !ok {
		return nil, refuse(BadFormat)
	}
	end := strings.LastIndexByte(text, '~') + 1
	tok := &Token{bound: text[:end]}
	last := text[end:]
	issuer, ok := dots(first)
	if !ok {
		return nil, refuse(BadFormat)
	}
	hidden := rest[:len(rest)-len(last)]
	if !shaped(hidden) {
		return nil, refuse(BadFormat)
	}
	var binding compact
	if last != "" {
		if binding, ok = dots(last); !ok {
			return nil, refuse(BadFormat)
		}
	} else if requireBinding {
		return nil, refuse(KBMissing)
	}
	return tok, tok.decode(issuer, hidden, binding, last != "")
}

// shaped reports whether s consists of disclosures, each non-empty, without dots, and
// followed by a ~.
func shaped(s string) bool {
	return s == "" || (s[0] != '~' && !strings.Contains(s, "~~") && !strings.Contains(s, "."))
}

func (t *Token) decode(issuer compact, hidden string, binding compact, bound bool) error {
	var room [4096]byte // on the stack, reused for each part
	buf := room[:0]
	var ok bool
	if t.Issuer, ok = issuer.decode(buf); !ok {
		return refuse(BadBase64URL)
	}
	for hidden != "" {
		text, rest, _ := strings.Cut(hidden, "~")
		json, ok := appendDecoded(buf, text)
		if !ok {
			return refuse(BadBase64URL)
		}
		t.Disclosures = append(t.Disclosures, Disclosure{Text: text, json: string(json)})
		hidden = rest
	}
	if bound {
		kb, ok := binding.decode(buf)
		if !ok {
			return refuse(BadBase64URL)
		}
		t.Binding = &kb
	}
	return nil
}

// Bound returns the text that a key binding signs: everything up to and including the last ~.
func (t *Token) Bound() string { return t.bound }

// parse parses JSON, and converts its errors to an [*Error].
func parse(text string, want ijson.Kind) (*ijson.Value, error) {
	v, err := ijson.Parse(text, want)
	switch {
	case errors.Is(err, ijson.ErrDuplicate):
		return nil, refuse(DuplicateKey)
	case err != nil:
		return nil, refuse(BadJSON)
	}
	return v, nil
}
