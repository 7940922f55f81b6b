package pages

import "github.com/paywarrant/paywarrant/server/internal/site"

// problem is what a person can correct in a form. The zero value is none.
type problem struct {
	field string // the field, as the template names it; empty: the form as a whole
	text  string
	// notice reports that nothing is wrong: the text says what comes next.
	notice bool
}

// The fields of the setup form that a problem can name.
const (
	fieldPer    = "per"
	fieldMonth  = "month"
	fieldUntil  = "until"
	fieldPayees = "payees"
	fieldMethod = "method"
	fieldEmail  = "email"
)

// faulty is the part of a form that shows a problem.
type faulty = site.Faulty
