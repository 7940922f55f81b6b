package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// row is one figure beside its aim.
type row struct {
	what     string
	baseline string
	figure   string
	aim      string
	met      bool
}

func printTable(w io.Writer, name string, rows []row) {
	fmt.Fprintf(w, "\n%s\n", name)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "what\tbaseline\tfigure\taim\t")
	for _, r := range rows {
		verdict := "met"
		if !r.met {
			verdict = "NOT MET"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", r.what, r.baseline, r.figure, r.aim, verdict)
	}
	t.Flush()
}

// rounds is how often a pair is measured, alternately.
const rounds = 15

// pair measures two things in turn and returns the median of the ratios
// baseline/measured of each round: above 1 is faster than the baseline.
func pair(baseline, measured func() (time.Duration, error)) (ratio float64, err error) {
	var ratios []float64
	for range rounds {
		b, err := baseline()
		if err != nil {
			return 0, err
		}
		o, err := measured()
		if err != nil {
			return 0, err
		}
		ratios = append(ratios, float64(b)/float64(o))
	}
	slices.Sort(ratios)
	return ratios[rounds/2], nil
}

// each is the time that one of n calls takes.
func each(n int, call func() error) (time.Duration, error) {
	began := time.Now()
	for range n {
		if err := call(); err != nil {
			return 0, err
		}
	}
	return time.Since(began) / time.Duration(n), nil
}

// atLeast is a row whose figure is a ratio that should not be below the aim.
func atLeast(what, baseline string, ratio, aim float64) row {
	return row{
		what: what, baseline: baseline, figure: fmt.Sprintf("%.2f", ratio), aim: fmt.Sprintf("≥ %.2f", aim), met: ratio >= aim,
	}
}

// atMost is a row whose figure is a ratio that should not be above the aim.
func atMost(what, baseline string, ratio, aim float64) row {
	return row{
		what: what, baseline: baseline, figure: fmt.Sprintf("%.2f", ratio), aim: fmt.Sprintf("≤ %.2f", aim), met: ratio <= aim,
	}
}
