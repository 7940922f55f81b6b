package pages

import (
	"net/http"
	"regexp"
)

// Mail is a message that the mailbox shows.
type Mail struct{ To, Subject, Text string }

// Link returns the first address in the text.
func (m Mail) Link() string { return address.FindString(m.Text) }

var address = regexp.MustCompile(`https?://\S+`)

// mailboxPath is the path of the mailbox.
const mailboxPath = "/mailbox"

// showMailbox shows the messages, newest first.
func (p *Pages) showMailbox(w http.ResponseWriter, r *http.Request) {
	p.render(w, r, http.StatusOK, p.mailbox, "Mailbox", p.Mailbox())
}
