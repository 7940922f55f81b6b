package pages

import "github.com/paywarrant/paywarrant/server/rail"

// shownMethods are offered at once, the rest behind "More test cards".
const shownMethods = 1

// methodChoices are the payment methods that a page offers.
type methodChoices struct {
	Shown, More []methodChoice
	// Open reports that the chosen one is among the rest.
	Open bool
}

type methodChoice struct {
	rail.Method

	Checked bool
}

// choices offers methods, the usual one first, and marks the chosen one: the usual
// one if none was chosen yet.
func choices(methods []rail.Method, chosen string) methodChoices {
	var c methodChoices
	for i, m := range methods {
		choice := methodChoice{Method: m, Checked: m.Name == chosen || (chosen == "" && i == 0)}
		if i < shownMethods {
			c.Shown = append(c.Shown, choice)
			continue
		}
		c.More = append(c.More, choice)
		c.Open = c.Open || choice.Checked
	}
	return c
}
