package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/paywarrant/paywarrant/conformance"
	"github.com/paywarrant/paywarrant/internal/money"
)

// reportFlags say how results are printed.
type reportFlags struct {
	JSON  bool   `help:"Print the report as JSON." name:"json"`
	JUnit string `help:"Also write the results to a file as JUnit's XML." name:"junit" placeholder:"FILE"`
}

// check returns an error if the flags cannot be followed.
func (f reportFlags) check() error {
	return checkFile("--junit", f.JUnit)
}

// write writes a report, and returns the error with which the command ends.
func (f reportFlags) write(o output, name string, report conformance.Report) error {
	if f.JUnit != "" {
		err := writeOut(f.JUnit, nil, func(w io.Writer) error { return conformance.WriteJUnit(w, name, report.Results) })
		if err != nil {
			return err
		}
	}
	if f.JSON {
		if err := json.NewEncoder(o.out).Encode(report); err != nil {
			return err
		}
	} else if err := printVerdicts(o.out, report); err != nil {
		return err
	}
	if report.Count(conformance.Fail) > 0 {
		return errSaid
	}
	return nil
}

// printVerdicts prints the results for people: what passed on one line each, what did not with
// what was found, the remedy and the source.
func printVerdicts(w io.Writer, report conformance.Report) error {
	t := newPrinter(w, false)
	colours := map[conformance.Status]string{conformance.Pass: "32", conformance.Warn: "33", conformance.Fail: "1;31"}
	width := 0
	for _, r := range report.Results {
		width = max(width, len(r.ID))
	}
	for _, r := range report.Results {
		if r.Status == conformance.Skipped {
			continue
		}
		t.print(t.paint(colours[r.Status], fmt.Sprintf("%-4s", r.Status)) + "  " + fmt.Sprintf("%-*s  %s", width, r.ID, r.Title) + "\n")
		if r.Status != conformance.Pass {
			t.rows([]fact{{"  found", r.Detail}, {"  remedy", r.Remedy}, {"  source", r.Source}})
		}
	}
	printSkipped(t, report.Results)
	warnings := fmt.Sprint(report.Count(conformance.Warn), " warnings")
	if warnings == "1 warnings" {
		warnings = "1 warning"
	}
	t.print(fmt.Sprintf("\n%d rules: %d passed, %s, %d failed, %d not checked.", len(report.Results), report.Count(conformance.Pass),
		warnings, report.Count(conformance.Fail), report.Count(conformance.Skipped)))
	if report.SignedMicros > 0 {
		t.print(fmt.Sprintf(" Signed payments of %s USD; served for %s USD.", money.Micros(report.SignedMicros).Decimal(), money.Micros(report.PaidMicros).Decimal()))
	}
	t.print("\n")
	return t.err
}

// printSkipped prints what was not checked, by its reason.
func printSkipped(t *printer, results []conformance.Result) {
	var reasons []string
	rules := map[string][]string{}
	for _, r := range results {
		if r.Status != conformance.Skipped {
			continue
		}
		if rules[r.Detail] == nil {
			reasons = append(reasons, r.Detail)
		}
		rules[r.Detail] = append(rules[r.Detail], r.ID)
	}
	if len(reasons) > 0 {
		t.print("\nNot checked:\n")
	}
	for _, reason := range reasons {
		t.print("    " + reason + ": " + strings.Join(rules[reason], ", ") + "\n")
	}
}
