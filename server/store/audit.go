package store

import (
	"context"
	"time"
)

// AuditEntry records an action of an operator, a merchant or a person. Those of operators are
// never deleted; the others are after [ledger.Keep].
type AuditEntry struct {
	// ID identifies the entry.
	ID string
	// At is the time of the action.
	At time.Time
	// Actor is the kind of actor and its id: "operator:root", "merchant:mer_…", or
	// "person:del_…", the person who confirmed that mandate.
	Actor string
	// Action is the kind of action: "merchant.suspend".
	Action string
	// Subject is the id of the object of the action.
	Subject string
	// Reason is an operator's reason; may be empty.
	Reason string
	// Detail holds further values; may be empty.
	Detail string
}

// AuditTrail stores the actions of operators, merchants and persons.
type AuditTrail interface {
	// AddAudit adds an entry.
	AddAudit(ctx context.Context, e AuditEntry) error
	// AddAudits adds entries, all or none.
	AddAudits(ctx context.Context, all []AuditEntry) error
	// AuditLog returns the entries of an actor, or of a kind of actors ("merchant"); empty: of
	// all. They are listed latest first, beginning after the entry with the id before; empty:
	// from the latest on.
	AuditLog(ctx context.Context, actor, before string, limit int) ([]AuditEntry, error)
	// AuditOf returns the entries about a subject, latest first.
	AuditOf(ctx context.Context, subject string, limit int) ([]AuditEntry, error)
}
