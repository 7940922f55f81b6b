package paywall

import (
	"context"
	"time"
)

// HonoredFor is how long a payment that was made and not served lets its
// credential through again, whatever the credential's own window says.
const HonoredFor = 24 * time.Hour

// Redemptions remembers which credentials were redeemed, so that none is served
// twice and an unfulfilled payment is not lost. [Memory] is the default. Several
// instances need a store that they share, such as [SQL]; a store that outlives a
// process must let a claim be taken over, as [Retried] or [Paid], when its owner
// is gone.
//
// Every method is atomic by key and safe for concurrent use. If Peek or Claim
// returns an error, the gate answers 503 and settles nothing.
type Redemptions interface {
	// Peek returns what Claim would return, and claims nothing.
	Peek(ctx context.Context, c Claim) (Claimed, error)
	// Claim takes the credential for one request, or returns why it cannot. Check
	// and claim are one step: of two concurrent calls, one gets [Busy].
	Claim(ctx context.Context, c Claim) (Claimed, error)
	// Settled records the payment of a claimed key before it is served. The
	// payment must be kept for [HonoredFor] unless it is served before.
	Settled(ctx context.Context, key string, p Payment) error
	// Finish ends a claim. A claim that ends [Undecided] must be kept for
	// [HonoredFor] too, unless the store is full.
	Finish(ctx context.Context, key string, end End) error
}

// Renewer is a [Redemptions] whose claims expire unless they are renewed. A gate
// renews the claims of a request until its handler has returned.
type Renewer interface {
	Redemptions
	// Renew extends a claim by another lease. It returns an error if the claim is
	// not held any more.
	Renew(ctx context.Context, key string) error
	// RenewEvery is how often claims need to be renewed.
	RenewEvery() time.Duration
}

// Claim identifies one credential.
type Claim struct {
	// Key identifies the credential. It holds no secret.
	Key string
	// Binding is what the credential was first used for: route, amount, and the
	// credential itself. Another one under the same key is refused.
	Binding string
	// Until is when the key can be forgotten, because the credential is no longer
	// valid by itself.
	Until time.Time
}

// Claimed is the answer to a [Claim].
type Claimed struct {
	State ClaimState
	// Payment is set with [Paid].
	Payment Payment
}

// ClaimState reports whether a claim was granted, and how the one before ended.
type ClaimState int

// The states. The first three grant the claim.
const (
	// Fresh: the credential was not seen before, or nothing came of it.
	Fresh ClaimState = iota + 1
	// Retried: an earlier settlement was sent and its outcome is not known.
	Retried
	// Paid: settled before, and not served.
	Paid
	// Busy: another request holds the claim, whatever it is bound to.
	Busy
	// Spent: served before.
	Spent
	// BoundElsewhere: used before for something else.
	BoundElsewhere
)

// End is how a claim ended.
type End int

// The ends.
const (
	// Refused: nothing was paid and nothing will be. The key can be forgotten.
	Refused End = iota + 1
	// Undecided: a settlement was sent and may have been made. The same
	// credential may be sent again.
	Undecided
	// Unserved: paid, and not served. The same credential may be sent again.
	Unserved
	// Served: done.
	Served
)
