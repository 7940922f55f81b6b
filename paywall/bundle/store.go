package bundle

import (
	"context"
	"errors"
	"time"
)

// Errors of a [Store].
var (
	// ErrExists reports that a bundle with this id exists.
	ErrExists = errors.New("bundle: exists")
	// ErrNotFound reports that no bundle has this id.
	ErrNotFound = errors.New("bundle: not found")
	// ErrEmpty reports that no credit is left, or that the bundle has expired.
	ErrEmpty = errors.New("bundle: no credit left")
)

// Bundle is a number of prepaid requests.
type Bundle struct {
	// ID identifies the bundle: bun_….
	ID string
	// TenantID is the merchant's own name for the buyer. May be empty.
	TenantID string
	// Tier is the name of the tier that was bought.
	Tier string
	// Requests is the number of requests that were bought.
	Requests int64
	// Remaining is the number of requests that are left.
	Remaining int64
	// CreatedAt is when the bundle was issued.
	CreatedAt time.Time
	// ExpiresAt is when the remaining requests expire.
	ExpiresAt time.Time
}

// Store keeps bundles. Its methods are atomic and safe for concurrent use. Times must keep
// a resolution of a second or better.
type Store interface {
	// Create stores a new bundle. It returns [ErrExists] if a bundle has its id.
	Create(ctx context.Context, b Bundle) error
	// Deduct checks for a credit and takes it in one step, and returns the bundle after
	// that. It returns [ErrNotFound] or [ErrEmpty].
	Deduct(ctx context.Context, id string, now time.Time) (Bundle, error)
	// Refund adds a credit, up to the number that was bought. It returns [ErrNotFound].
	Refund(ctx context.Context, id string) error
	// Read returns a bundle. It returns [ErrNotFound].
	Read(ctx context.Context, id string) (Bundle, error)
}
