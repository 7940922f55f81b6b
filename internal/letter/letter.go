// Package letter writes a message to a person, as plain text and as HTML with the same words.
package letter

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"
)

// Letter is a message to a person. Empty fields are left out.
type Letter struct {
	// To is the recipient's address.
	To string
	// Subject is one line of text.
	Subject string
	// Intro is the first paragraph.
	Intro string
	// Lines follow, each on a line of its own.
	Lines []string
	// Action is what the link is for, and Link is its address.
	Action, Link string
	// Notes are paragraphs after the link.
	Notes []string
	// Footer is the last line: the id of what the letter is about.
	Footer string
}

//go:embed letter.html
var page string

var layout = template.Must(template.New("letter").Parse(page))

// Text returns the plain text.
func (l Letter) Text() string {
	var paragraphs []string
	add := func(p string) {
		if p != "" {
			paragraphs = append(paragraphs, p)
		}
	}
	add(l.Intro)
	add(strings.Join(l.Lines, "\n"))
	if l.Link != "" {
		add(l.Action + ":\n" + l.Link)
	}
	for _, n := range l.Notes {
		add(n)
	}
	add(l.Footer)
	return strings.Join(paragraphs, "\n\n") + "\n"
}

// HTML returns a page without images, scripts, or addresses other than the link.
func (l Letter) HTML() (string, error) {
	var b bytes.Buffer
	if err := layout.Execute(&b, l); err != nil {
		return "", fmt.Errorf("write letter: %w", err)
	}
	return b.String(), nil
}
