package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"

	"github.com/paywarrant/paywarrant/internal/money"
)

// printer prints the steps of the demo: for people, or as JSON lines.
type printer struct {
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

func newPrinter(out io.Writer, asJSON bool) *printer {
	p := &printer{out: out, json: asJSON}
	p.colour = os.Getenv("NO_COLOR") == "" && !asJSON && isTerminal(out)
	return p
}

// isTerminal reports whether a person reads what is written to w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// announce prints the next step.
func (p *printer) announce(title string, facts ...fact) {
	p.step++
	if p.json {
		line, err := json.Marshal(map[string]any{"step": p.step, "title": title, "facts": facts})
		if err != nil {
			p.err = err
		}
		p.print(string(line) + "\n")
		return
	}
	p.print("\n" + p.paint("1;34", fmt.Sprintf("%2d", p.step)) + "  " + p.paint("1", title) + "\n")
	p.rows(facts)
}

// rows prints facts below each other, their values aligned.
func (p *printer) rows(facts []fact) {
	width := 0
	for _, f := range facts {
		width = max(width, len(f.Name))
	}
	for _, f := range facts {
		p.print("    " + p.paint("2", f.Name+strings.Repeat(" ", width-len(f.Name))) + "  " + f.Value + "\n")
	}
}

// end prints the last line of the story.
func (p *printer) end(text string) {
	if !p.json {
		p.print("\n" + p.paint("1;32", text) + "\n")
	}
}

func (p *printer) print(s string) {
	if _, err := io.WriteString(p.out, s); err != nil && p.err == nil {
		p.err = err
	}
}

func (p *printer) paint(code, s string) string {
	if !p.colour {
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

// dollars formats cents for people.
func dollars(cents int64) string { return money.Cents(cents).Dollars() }
