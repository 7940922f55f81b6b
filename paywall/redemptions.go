package paywall

import (
	"context"
	"time"
)

// Redemptions remembers which credentials were redeemed, so that none is served
// twice and an unfulfilled payment is not lost. [Memory] is the default; several
// instances need a store that they share, such as [SQL], and one that outlives a
// process must let a claim be taken over, as [Retried] or [Paid], when its owner is gone.
//
// Every method is atomic by key, and safe for concurrent use. An error from
// Claim answers 503 and nothing is settled.
type Redemptions interface {
	// Claim takes the credential for one request, or tells why not. Check and
	// claim are one step: of two at once, one gets [Busy].
	Claim(ctx context.Context, c Claim) (Claimed, error)
	// Settled notes the payment of a key that was claimed, before it is served.
	Settled(ctx context.Context, key string, p Payment) error
	// Finish ends a claim.
	Finish(ctx context.Context, key string, end End) error
}

// Claim asks for one credential.
type Claim struct {
	// Key identifies the credential. It holds no secret.
	Key string
	// Binding is what the credential was first used for: route, amount, and the
	// credential itself. Another one under the same key is refused.
	Binding string
	// Until is when the key can be forgotten: the credential is no longer good then.
	Until time.Time
}

// Claimed is the answer to a [Claim].
type Claimed struct {
	State ClaimState
	// Payment is set with [Paid].
	Payment Payment
}

// ClaimState says whether a claim was given, and how the one before ended.
type ClaimState int

// The states. The first three give the claim.
const (
	// Fresh: the credential was not seen before, or nothing came of it.
	Fresh ClaimState = iota + 1
	// Retried: an earlier settlement ended without a clear outcome.
	Retried
	// Paid: settled before, and not served.
	Paid
	// Busy: another request has the claim, for whatever it is bound to.
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
	// Refused: nothing was paid and nothing will be; the key can be forgotten.
	Refused End = iota + 1
	// Undecided: it may have been paid. The same credential may be sent again.
	Undecided
	// Unserved: paid, and the handler failed. The same credential may be sent again.
	Unserved
	// Served: done.
	Served
)
