package main

import (
	"bytes"
	"context"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"sync"

	"github.com/paywarrant/paywarrant/server"
)

const (
	mailboxPath = "/dev/mailbox"
	// maxMails is how many messages a mailbox keeps.
	maxMails = 100
)

// mailbox is the mail server of `dev`: it shows the messages instead of sending them.
type mailbox struct {
	mu    sync.Mutex
	mails []server.Message
}

// Mail implements server.Mailer.
func (b *mailbox) Mail(_ context.Context, m server.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mails = append(b.mails, m)
	if len(b.mails) > maxMails {
		b.mails = slices.Delete(b.mails, 0, 1)
	}
	return nil
}

var (
	address     = regexp.MustCompile(`https?://\S+`)
	mailboxPage = template.Must(template.New("mailbox").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Mailbox</title></head>
<body><h1>Mailbox</h1>
{{- range .}}
<h2>{{.Subject}}</h2>
<p>To {{.To}}</p>
<pre>{{.Text}}</pre>
{{- with .Link}}
<p><a href="{{.}}">Open the link</a></p>
{{- end}}
{{- else}}
<p>No message yet. A person who gives an address on a setup page gets one.</p>
{{- end}}
</body></html>
`))
)

// ServeHTTP shows the messages, newest first.
func (b *mailbox) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	type shown struct{ Subject, To, Text, Link string }
	var all []shown
	b.mu.Lock()
	for _, m := range slices.Backward(b.mails) {
		all = append(all, shown{m.Subject, m.To, m.Text, address.FindString(m.Text)})
	}
	b.mu.Unlock()
	var page bytes.Buffer
	if err := mailboxPage.Execute(&page, all); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = page.WriteTo(w) // the browser may have gone
}
