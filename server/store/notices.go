package store

import (
	"context"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// Notices is what a person wants to be mailed about a mandate, and what was mailed.
type Notices struct {
	// MandateID identifies the mandate.
	MandateID string
	// Limits asks for a message when half, 80 % and all of a limit is used.
	Limits bool
	// Above asks for a message about each payment of more. Zero: about none.
	Above ledger.Micros
	// Month is the month in which MailedMonth percent of its limit were mailed.
	Month ledger.Day
	// MailedMonth and MailedTotal are the highest percentages that were mailed.
	MailedMonth, MailedTotal int
	// Day is the day on which Today payments were mailed.
	Day ledger.Day
	// Today is the number of payments that were mailed on Day.
	Today int
}

// NoticesStore stores the notices of mandates.
type NoticesStore interface {
	// Notices returns those of a mandate. It returns [ledger.ErrNotFound] if it has none.
	Notices(ctx context.Context, mandateID string) (Notices, error)
	// NoticesInStream returns those of the mandates that have events in a merchant's stream
	// after an offset, up to another.
	NoticesInStream(ctx context.Context, merchantID string, after, through int64) ([]Notices, error)
	// PutNotices stores what a person wants. It leaves what was mailed.
	PutNotices(ctx context.Context, n Notices) error
	// NoticesMailed stores what was mailed. It does nothing if the mandate has no notices.
	NoticesMailed(ctx context.Context, n Notices) error
	// DeleteNotices deletes those of a mandate.
	DeleteNotices(ctx context.Context, mandateID string) error
}
