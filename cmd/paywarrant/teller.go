package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
)

// teller prints the steps of the demo: for people, or as JSON lines.
type teller struct {
	out    io.Writer
	json   bool
	colour bool
	step   int
	err    error // of the first write that failed
}

// fact is one line of a step.
type fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func newTeller(out io.Writer, asJSON bool) *teller {
	t := &teller{out: out, json: asJSON}
	t.colour = os.Getenv("NO_COLOR") == "" && !asJSON && isTerminal(out)
	return t
}

// isTerminal reports whether a person reads what is written to w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// announce prints the next step.
func (t *teller) announce(title string, facts ...fact) {
	t.step++
	if t.json {
		line, err := json.Marshal(map[string]any{"step": t.step, "title": title, "facts": facts})
		if err != nil {
			t.err = err
		}
		t.print(string(line) + "\n")
		return
	}
	t.print("\n" + t.paint("1;34", fmt.Sprintf("%2d", t.step)) + "  " + t.paint("1", title) + "\n")
	t.rows(facts)
}

// rows prints facts below each other, their values aligned.
func (t *teller) rows(facts []fact) {
	width := 0
	for _, f := range facts {
		width = max(width, len(f.Name))
	}
	for _, f := range facts {
		t.print("    " + t.paint("2", f.Name+strings.Repeat(" ", width-len(f.Name))) + "  " + f.Value + "\n")
	}
}

// end prints the last line of the story.
func (t *teller) end(text string) {
	if !t.json {
		t.print("\n" + t.paint("1;32", text) + "\n")
	}
}

func (t *teller) print(s string) {
	if _, err := io.WriteString(t.out, s); err != nil && t.err == nil {
		t.err = err
	}
}

func (t *teller) paint(code, s string) string {
	if !t.colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// short cuts what is too long to read, and not secret in a sandbox.
func short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:n], len(s))
}

// dollars writes cents for people.
func dollars(cents int64) string { return fmt.Sprintf("$%d.%02d", cents/100, cents%100) }
