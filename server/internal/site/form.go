package site

import (
	"html/template"
	"net/http"
	"net/url"

	"github.com/paywarrant/paywarrant/internal/text"
)

// maxForm limits the bytes of a form.
const maxForm = 16 << 10

// ParseForm reads a form of limited length into r.PostForm, or answers that it did not
// arrive.
func (s *Site) ParseForm(w http.ResponseWriter, r *http.Request) bool {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil || !Clean(r.PostForm) {
		s.Message(w, r, http.StatusBadRequest, Message{
			Badge: Badge{Bad, "Failed"}, Headline: "The form did not arrive whole", Text: "Please open the link again.",
		})
		return false
	}
	return true
}

// Clean reports whether what a form holds is text that can be stored and shown.
func Clean(form url.Values) bool {
	for _, values := range form {
		for _, value := range values {
			if !text.Clean(value) {
				return false
			}
		}
	}
	return true
}

// Faulty is the part of a form that shows what is wrong with it. The zero value shows
// nothing.
type Faulty struct {
	Error string
	Wrong string // the field that Error is about; empty: the form as a whole
}

// Message returns the error if it is about the field, to be shown beside it.
func (f Faulty) Message(field string) string {
	if f.Wrong != field {
		return ""
	}
	return f.Error
}

// Describe returns the attributes that connect a field with its hint and, if it is the
// invalid one, with the message, whose id is "error".
func (f Faulty) Describe(field, hint string) template.HTMLAttr {
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
