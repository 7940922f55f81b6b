package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// figure is a ratio and its aim, zero if there is none; below reports that it
// should not be above the aim.
type figure struct {
	what  string
	got   float64
	unit  string
	aim   float64
	below bool
	note  string
}

// verdict is the aim and whether it is met, as two columns.
func (f figure) verdict() string {
	sign, met := "≥", f.got >= f.aim
	switch {
	case f.aim == 0:
		return "–\t"
	case f.below:
		sign, met = "≤", f.got <= f.aim
	}
	word := "NO"
	if met {
		word = "yes"
	}
	return fmt.Sprintf("%s %.2f%s\t%s", sign, f.aim, f.unit, word)
}

// table is the figures in the order in which they were measured.
type table struct{ figures []figure }

func (t *table) add(f figure) { t.figures = append(t.figures, f) }

func (t *table) print(w io.Writer) {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "what\tmeasured\taim\tmet\tmeasured with")
	for _, f := range t.figures {
		fmt.Fprintf(tab, "%s\t%.2f%s\t%s\t%s\n", f.what, f.got, f.unit, f.verdict(), f.note)
	}
	_ = tab.Flush() // to a terminal
}
