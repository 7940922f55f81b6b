package main

import (
	"context"
	"slices"
	"sync"

	"github.com/paywarrant/paywarrant/server"
)

// maxMails is how many messages a mailbox keeps.
const maxMails = 100

// mailbox is the mail server of `dev`: the service shows its messages on a page.
type mailbox struct {
	mu    sync.Mutex
	mails []server.Message // newest first
}

// Mail implements server.Mailer.
func (b *mailbox) Mail(_ context.Context, m server.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mails = slices.Insert(b.mails, 0, m)
	b.mails = b.mails[:min(len(b.mails), maxMails)]
	return nil
}

// messages returns the messages, newest first.
func (b *mailbox) messages() []server.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.mails)
}
