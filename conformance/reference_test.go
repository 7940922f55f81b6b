package conformance_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/conformance"
)

// TestRulesAreDocumented compares docs/reference/rules.md with the rules. UPDATE_RULES=1
// writes the page.
func TestRulesAreDocumented(t *testing.T) {
	t.Parallel()
	const page = "../docs/reference/rules.md"
	want := reference()
	if os.Getenv("UPDATE_RULES") != "" {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o600))
	}
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, want, string(got), "run UPDATE_RULES=1 go test ./conformance -run TestRulesAreDocumented")
}

// reference is the page of all rules.
func reference() string {
	var b strings.Builder
	b.WriteString("# The rules of a paywall\n\n" +
		"`paywarrant validate URL` judges a paywall by these rules, in this order ([guide](../guides/validate.md)). " +
		"`conformance.Rules` returns them.\n\n" +
		"This page is written by `UPDATE_RULES=1 go test ./conformance -run TestRulesAreDocumented`.\n\n")
	table(&b, conformance.Rules())
	b.WriteString("\n# What directories need\n\n" +
		"`paywarrant doctor URL` checks these, and of the rules above those on which directories depend. `conformance.DoctorRules` returns all of them.\n\n")
	var own []conformance.Rule
	for _, r := range conformance.DoctorRules() {
		if strings.HasPrefix(r.ID, "doctor.") {
			own = append(own, r)
		}
	}
	table(&b, own)
	b.WriteString("\n# The rules of a facilitator\n\n" +
		"`paywarrant conform facilitator URL` judges an x402 facilitator by these, on a test chain. `conformance.FacilitatorRules` returns them.\n\n")
	table(&b, conformance.FacilitatorRules())
	return b.String()
}

func table(b *strings.Builder, rules []conformance.Rule) {
	b.WriteString("| rule | requires | source | remedy |\n|---|---|---|---|\n")
	for _, r := range rules {
		id := "`" + r.ID + "`"
		if r.Pays && !strings.HasPrefix(r.ID, "facilitator.") {
			id += " (pays)"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", id, r.Title, r.Source, r.Remedy)
	}
}

func TestEachRuleHasAnIDASourceAndARemedy(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range append(conformance.Rules(), conformance.FacilitatorRules()...) {
		require.Regexp(t, `^[a-z0-9]+\.[a-z0-9-]+$`, r.ID)
		require.False(t, seen[r.ID], r.ID)
		seen[r.ID] = true
		require.NotEmpty(t, r.Title, r.ID)
		require.NotEmpty(t, r.Source, r.ID)
		require.Regexp(t, `^[A-Z].*\.$`, r.Remedy, r.ID)
	}
}

// TestEachRuleHasAPlantedFault: a rule that no fault breaks could pass everything.
func TestEachRuleHasAPlantedFault(t *testing.T) {
	t.Parallel()
	planted := map[string]bool{}
	for _, f := range append(append([]fault{}, faults...), paidFaults...) {
		planted[f.rule] = true
	}
	for id, where := range map[string]string{
		"http.tls": "TestPlainHTTPIsAFault", "http.time": "TestSlowChallengeIsAFault", "http.protocol": "TestUnknownChallengeIsAFault",
		// The same functions as for version 2, which has the faults.
		"x402v1.scheme": "x402v2.scheme", "x402v1.asset": "x402v2.asset", "x402v1.payto": "x402v2.payto", "x402v1.timeout": "x402v2.timeout",
	} {
		require.NotEmpty(t, where)
		planted[id] = true
	}
	for _, r := range conformance.Rules() {
		require.True(t, planted[r.ID], "no planted fault breaks %s", r.ID)
	}
}

func TestJUnitHasEachResult(t *testing.T) {
	t.Parallel()
	results := []conformance.Result{
		{Rule: conformance.Rule{ID: "a.pass", Title: "one"}, Status: conformance.Pass},
		{Rule: conformance.Rule{ID: "a.warn", Title: "two"}, Status: conformance.Warn, Detail: "slow"},
		{Rule: conformance.Rule{ID: "a.fail", Title: "three", Remedy: "Do & say."}, Status: conformance.Fail, Detail: "<broken>"},
		{Rule: conformance.Rule{ID: "a.skip", Title: "four"}, Status: conformance.Skipped, Detail: "no wallet"},
	}
	var b bytes.Buffer
	require.NoError(t, conformance.WriteJUnit(&b, "suite", results))
	var suite struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Skipped  int `xml:"skipped,attr"`
		Cases    []struct {
			Name    string    `xml:"name,attr"`
			Failure *string   `xml:"failure"`
			Skipped *struct{} `xml:"skipped"`
			Out     string    `xml:"system-out"`
		} `xml:"testcase"`
	}
	require.NoError(t, xml.Unmarshal(b.Bytes(), &suite))
	require.Equal(t, []int{4, 1, 1}, []int{suite.Tests, suite.Failures, suite.Skipped})
	require.Nil(t, suite.Cases[0].Failure)
	require.Contains(t, suite.Cases[1].Out, "slow")
	require.Contains(t, *suite.Cases[2].Failure, "<broken>\nRemedy: Do & say.")
	require.NotNil(t, suite.Cases[3].Skipped)
}
