package mpp

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Preference is one entry of Accept-Payment: a method and an intent, either of
// them "*", and how much it is wanted.
type Preference struct {
	Method, Intent string
	// Milli is the q-value in thousandths: 0 excludes, 1000 is the default.
	Milli int
}

// maxPreferences is how many entries of Accept-Payment are read.
const maxPreferences = 64

// ErrAccept is a malformed Accept-Payment.
var ErrAccept = errors.New("malformed Accept-Payment")

// ParseAccept reads an Accept-Payment value: "evm/charge, tempo/*;q=0.5".
// [ErrAccept] where it is malformed; such a header is best ignored.
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

// quality reads a qvalue (RFC 9110 §12.4.2) in thousandths.
func quality(s string) (int, bool) {
	whole, frac, _ := strings.Cut(s, ".")
	if (whole != "0" && whole != "1") || len(frac) > 3 {
		return 0, false
	}
	n, err := strconv.ParseUint(whole+(frac + "000")[:3], 10, 16)
	return int(n), err == nil && n <= 1000
}

// Rank orders offers by what is wanted most and leaves out what is not wanted;
// among equals the order of the offers stays. The most specific entry decides on
// an offer. Without preferences every offer stays.
func Rank[T any](offers []T, key func(T) (method, intent string), wanted []Preference) []T {
	if len(wanted) == 0 {
		return offers
	}
	type ranked struct {
		offer T
		milli int
	}
	var list []ranked
	for _, offer := range offers {
		method, intent := key(offer)
		if milli := best(method, intent, wanted); milli > 0 {
			list = append(list, ranked{offer, milli})
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(b.milli, a.milli) })
	out := make([]T, len(list))
	for i, r := range list {
		out[i] = r.offer
	}
	return out
}

func best(method, intent string, wanted []Preference) int {
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
