package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/paywarrant/paywarrant/internal/text"
)

// Status is the result of one rule.
type Status string

// The results of a rule.
const (
	Pass    Status = "pass"
	Warn    Status = "warn"    // works, but not for every client, or not for long
	Fail    Status = "fail"    // breaks clients, or loses money
	Skipped Status = "skipped" // was not checked; Detail is the reason
)

// Rule is one requirement.
type Rule struct {
	// ID names the rule: its topic, a dot, and a name. It does not change.
	ID string `json:"id"`
	// Title is the requirement as a short sentence.
	Title string `json:"title"`
	// Source is the specification that demands it, with the section if it has one.
	Source string `json:"source"`
	// Remedy is what to change, in one sentence.
	Remedy string `json:"remedy"`
	// Pays reports whether the check needs a payment.
	Pays bool `json:"pays,omitzero"`

	check   func(context.Context, *probe) verdict
	conform func(context.Context, *bench) verdict // of a facilitator, in place of check
}

// Result is a rule with its result.
type Result struct {
	Rule
	// Status is the result.
	Status Status `json:"status"`
	// Detail is what was found, on one line without control characters. May be empty.
	Detail string `json:"detail,omitempty"`
}

// verdict is the result of a check.
type verdict struct {
	status Status
	detail string
}

func pass(format string, args ...any) verdict { return judge(Pass, format, args...) }
func warn(format string, args ...any) verdict { return judge(Warn, format, args...) }
func fail(format string, args ...any) verdict { return judge(Fail, format, args...) }
func skip(format string, args ...any) verdict { return judge(Skipped, format, args...) }

func judge(status Status, format string, args ...any) verdict {
	return verdict{status, clean(fmt.Sprintf(format, args...), maxDetail)}
}

const (
	maxDetail = 400 // characters of a detail
	maxQuoted = 120 // characters of a text of the server
)

// clean returns s as one line of at most longest characters that a terminal can show.
func clean(s string, longest int) string {
	runes := []rune(strings.ToValidUTF8(s, "\ufffd"))
	cut := len(runes) > longest
	if cut {
		runes = runes[:longest]
	}
	for i, r := range runes {
		if !text.Clean(string(r)) {
			runes[i] = '\ufffd'
		}
	}
	if cut {
		return string(runes) + "…"
	}
	return string(runes)
}

// quote returns a text of the server in quotes.
func quote(s string) string { return `"` + clean(s, maxQuoted) + `"` }

// topics are the lists of rules in the order in which they are checked.
func topics() [][]Rule {
	return [][]Rule{
		httpRules(), cacheRules(), corsRules(), x402Rules(version2), x402Rules(version1), mppRules(), priceRules(),
		refusalRules(), discoveryRules(), paidRules(),
	}
}

// Rules returns the rules of [Validate] in the order in which they are checked.
func Rules() []Rule { return slices.Concat(topics()...) }
