package pages

import "html/template"

// problem is what a person can correct in a form. The zero value is none.
type problem struct {
	field string // the field, as the template names it; empty: the form as a whole
	text  string
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
type faulty struct {
	Error string
	Wrong string // the field that Error is about
}

// Describe returns the attributes that connect a field with its hint and, if it is the
// invalid one, with the message.
func (f faulty) Describe(field, hint string) template.HTMLAttr {
	switch {
	case f.Wrong == field && hint != "":
		return template.HTMLAttr(`aria-invalid="true" aria-describedby="error ` + hint + `"`) //nolint:gosec // constants of the template
	case f.Wrong == field:
		return `aria-invalid="true" aria-describedby="error"`
	case hint != "":
		return template.HTMLAttr(`aria-describedby="` + hint + `"`) //nolint:gosec // as above
	}
	return ""
}
