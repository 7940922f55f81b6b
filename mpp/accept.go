package mpp

import (
	"errors"
	"strconv"
	"strings"
)

// Preference is one entry of an Accept-Payment header.
type Preference struct {
	// Method is a payment method, such as [MethodEVM], or "*" for any.
	Method string
	// Intent is a payment intent, such as [IntentCharge], or "*" for any.
	Intent string
	// Milli is the weight (q-value) in thousandths. 0 excludes; 1000 is the default.
	Milli int
}

// maxPreferences is the largest number of entries in an Accept-Payment header.
const maxPreferences = 64

// ErrAccept reports a malformed Accept-Payment header.
var ErrAccept = errors.New("malformed Accept-Payment")

// ParseAccept parses the value of an Accept-Payment header: "evm/charge, tempo/*;q=0.5".
// It returns [ErrAccept] if the value is malformed; a server should then ignore it.
func ParseAccept(value string) ([]Preference, error) {
	var out []Preference
	for entry := range strings.SplitSeq(value, ",") {
		entry = strings.Trim(entry, " \t")
		if entry == "" {
			continue
		}
		if len(out) == maxPreferences {
			return nil, ErrAccept
		}
		p, ok := parsePreference(entry)
		if !ok {
			return nil, ErrAccept
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, ErrAccept
	}
	return out, nil
}

func parsePreference(entry string) (Preference, bool) {
	pair, rest, _ := strings.Cut(entry, ";")
	method, intent, ok := strings.Cut(strings.Trim(pair, " \t"), "/")
	p := Preference{Method: method, Intent: intent, Milli: 1000}
	if !ok || !name(method) || !name(intent) {
		return p, false
	}
	for rest != "" {
		var parameter string
		parameter, rest, _ = strings.Cut(rest, ";")
		key, value, ok := strings.Cut(strings.Trim(parameter, " \t"), "=")
		if !ok {
			return p, false
		}
		if strings.EqualFold(key, "q") {
			if p.Milli, ok = quality(value); !ok {
				return p, false
			}
		}
	}
	return p, true
}

func name(s string) bool {
	if s == "*" {
		return true
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return s != ""
}

// quality parses a qvalue (RFC 9110 §12.4.2) in thousandths.
func quality(s string) (int, bool) {
	whole, frac, _ := strings.Cut(s, ".")
	if (whole != "0" && whole != "1") || len(frac) > 3 {
		return 0, false
	}
	n, err := strconv.ParseUint(whole+(frac + "000")[:3], 10, 16)
	return int(n), err == nil && n <= 1000
}

// Weight returns how much a client wants a payment method and intent, in thousandths: 0 if
// its preferences exclude them, 1000 if it has no preferences. The most specific preference
// decides.
func Weight(wanted []Preference, method, intent string) int {
	if len(wanted) == 0 {
		return 1000
	}
	milli, specificity := 0, -1
	for _, p := range wanted {
		if (p.Method != "*" && p.Method != method) || (p.Intent != "*" && p.Intent != intent) {
			continue
		}
		s := 0
		if p.Method != "*" {
			s++
		}
		if p.Intent != "*" {
			s++
		}
		if s > specificity || (s == specificity && p.Milli > milli) {
			milli, specificity = p.Milli, s
		}
	}
	return milli
}
