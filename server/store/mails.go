package store

import (
	"context"
	"time"
)

// Mail is a message to a person that is not sent yet. It names what the message is about;
// the text, which may hold a private link, is written when it is sent.
type Mail struct {
	// Kind is the kind of message, in the terms of its owner.
	Kind string
	// SubjectID is the id of what the message is about. There is one Mail of a kind for it.
	SubjectID string
	// Attempts is the number of attempts so far.
	Attempts int
	// CreatedAt is when the message was queued.
	CreatedAt time.Time
	// Due is the time of the next attempt.
	Due time.Time
}

// Mails is the queue of messages to people.
type Mails interface {
	// AddMail adds a message. If the queue has it, its next attempt is at m.Due.
	AddMail(ctx context.Context, m Mail) error
	// HastenMail moves a message that was not attempted yet to due. It does nothing if the
	// queue does not have it.
	HastenMail(ctx context.Context, kind, subjectID string, due time.Time) error
	// DueMails returns up to limit messages that are due, the longest due first.
	DueMails(ctx context.Context, now time.Time, limit int) ([]Mail, error)
	// PutOffMail counts an attempt and moves the message to due. It reports whether it did:
	// of several callers with the same m, one does.
	PutOffMail(ctx context.Context, m Mail, due time.Time) (done bool, err error)
	// DeleteMail removes a message that is due at m.Due. It does nothing if the message was
	// queued again meanwhile, or if there is none.
	DeleteMail(ctx context.Context, m Mail) error
}
