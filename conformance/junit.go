package conformance

import (
	"encoding/xml"
	"fmt"
	"io"
)

// junitSuite is a report in the form that continuous integration reads.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Failure *junitText `xml:"failure"`
	Skipped *junitText `xml:"skipped"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the results as JUnit's XML. A warning is a test that passes and whose
// output is the warning.
func WriteJUnit(w io.Writer, name string, results []Result) error {
	suite := junitSuite{Name: name, Tests: len(results)}
	for _, r := range results {
		c := junitCase{Class: name, Name: r.ID + " " + r.Title}
		switch r.Status {
		case Fail:
			suite.Failures++
			c.Failure = &junitText{r.Detail, fmt.Sprintf("%s\nRemedy: %s\nSource: %s", r.Detail, r.Remedy, r.Source)}
		case Skipped:
			suite.Skipped++
			c.Skipped = &junitText{Message: r.Detail}
		case Warn:
			c.Out = fmt.Sprintf("warning: %s\nRemedy: %s\nSource: %s", r.Detail, r.Remedy, r.Source)
		case Pass:
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}
