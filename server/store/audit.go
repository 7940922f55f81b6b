package store

import (
	"context"
	"time"
)

// AuditEntry records an operator's action. Entries are never deleted.
type AuditEntry struct {
	// ID identifies the entry.
	ID string
	// At is the time of the action.
	At time.Time
	// Actor names the operator.
	Actor string
	// Action is the kind of action: "merchant.suspend".
	Action string
	// Subject is the id of the object of the action.
	Subject string
	// Reason is the operator's reason; may be empty.
	Reason string
	// Detail holds further values; may be empty.
	Detail string
}

// AuditTrail stores the actions of operators.
type AuditTrail interface {
	// AddAudit adds an entry.
	AddAudit(ctx context.Context, e AuditEntry) error
	// AuditLog returns entries, latest first, beginning after the entry with the id before;
	// empty: from the latest on.
	AuditLog(ctx context.Context, before string, limit int) ([]AuditEntry, error)
	// AuditOf returns the entries about a subject, latest first.
	AuditOf(ctx context.Context, subject string, limit int) ([]AuditEntry, error)
}
