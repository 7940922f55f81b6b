package bundle

import (
	"context"
	"errors"
	"time"
)

// Errors of a [Store].
var (
	// ErrExists: there is a bundle of that id.
	ErrExists = errors.New("bundle: exists")
	// ErrNotFound: there is no bundle of that id.
	ErrNotFound = errors.New("bundle: not found")
	// ErrEmpty: no credit is left, or the bundle has expired.
	ErrEmpty = errors.New("bundle: no credit left")
)

// Bundle is what was sold, and what is left of it.
type Bundle struct {
	ID string
	// TenantID is the merchant's own name for the buyer; may be empty.
	TenantID string
	Tier     string
	// Requests were bought, Remaining are left.
	Requests, Remaining  int64
	CreatedAt, ExpiresAt time.Time
}

// Store keeps bundles. Every method is atomic, and safe for concurrent use. Times
// are kept to the second at least.
type Store interface {
	// Create keeps a new bundle. [ErrExists] where there is one of its id.
	Create(ctx context.Context, b Bundle) error
	// Deduct takes one credit, and returns what is left: check and deduction are
	// one step. [ErrNotFound], [ErrEmpty].
	Deduct(ctx context.Context, id string, now time.Time) (Bundle, error)
	// GiveBack returns a credit, never beyond what was bought. [ErrNotFound].
	GiveBack(ctx context.Context, id string) error
	// Read returns a bundle. [ErrNotFound].
	Read(ctx context.Context, id string) (Bundle, error)
}
