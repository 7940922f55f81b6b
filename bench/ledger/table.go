package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// figure is a ratio and its aim; below tells that it should not be above the aim.
type figure struct {
	what  string
	got   float64
	unit  string
	aim   float64
	below bool
	note  string
}

func (f figure) met() bool {
	if f.below {
		return f.got <= f.aim
	}
	return f.got >= f.aim
}

// table is the figures in the order in which they were measured.
type table struct{ figures []figure }

func (t *table) add(f figure) { t.figures = append(t.figures, f) }

func (t *table) print(w io.Writer) {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "what\tmeasured\taim\tmet\tmeasured with")
	for _, f := range t.figures {
		sign, met := "≥", "yes"
		if f.below {
			sign = "≤"
		}
		if !f.met() {
			met = "NO"
		}
		fmt.Fprintf(tab, "%s\t%.2f%s\t%s %.2f%s\t%s\t%s\n", f.what, f.got, f.unit, sign, f.aim, f.unit, met, f.note)
	}
	_ = tab.Flush() // to a terminal
}
