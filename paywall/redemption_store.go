package paywall

import (
	"context"
	"time"
)

// HonoredFor is how long a credential whose payment was not served is accepted again, even
// if its validity window has ended.
const HonoredFor = 24 * time.Hour

// honoredUntil returns until when a payment that was not served is kept. One that is given back
// is kept until its refund is decided, at most a day, and honored from then on if that failed.
func (p *Payment) honoredUntil(now time.Time) time.Time {
	if p.Refunding {
		now = now.Add(HonoredFor)
	}
	return now.Add(HonoredFor)
}

// Redemptions remembers which credentials were redeemed, so that none is served twice and no
// unfulfilled payment is lost. The default is [Memory]. Several instances need a shared
// store, such as [SQL]. In a shared store the claims of an instance that ended can be taken
// over, as [ClaimUndecided] or [ClaimPaid].
//
// Its methods are atomic for a key and safe for concurrent use. If Peek or Claim returns an
// error, the gate answers 503 and settles nothing.
type Redemptions interface {
	// Peek returns what Claim would return, without claiming.
	Peek(ctx context.Context, c Claim) (Claimed, error)
	// Claim claims the credential for one request, or returns why it cannot. It checks
	// and claims in one step: of two concurrent calls, one gets [ClaimBusy].
	Claim(ctx context.Context, c Claim) (Claimed, error)
	// Settled records the payment of a claimed key before it is served. The payment must
	// be kept for [HonoredFor], or until it is served; if it is Refunding, for twice as long.
	Settled(ctx context.Context, key string, p Payment) error
	// Finish ends a claim. A claim that ends with [EndUndecided] must be kept for
	// [HonoredFor], unless the store is full.
	Finish(ctx context.Context, key string, end End) error
	// Unfinished returns the Repeat of a claim with this slot that no request holds and that
	// Claim would return as [ClaimUndecided] or [ClaimPaid], or "" if there is none. It leaves
	// out payments that are Refunding or Decided.
	Unfinished(ctx context.Context, slot string) (repeat string, err error)
}

// Renewer is a [Redemptions] whose claims expire unless they are renewed. A gate
// renews the claims of a request until its handler has returned.
type Renewer interface {
	Redemptions
	// Renew extends the lease of a claim. It returns an error if this instance no longer
	// holds the claim.
	Renew(ctx context.Context, key string) error
	// RenewEvery returns the interval at which claims must be renewed.
	RenewEvery() time.Duration
}

// Claim identifies one credential.
type Claim struct {
	// Key identifies the credential. It contains no secret.
	Key string
	// Binding is a hash of what the credential pays for, and of the credential itself. A
	// claim with another binding is refused.
	Binding string
	// Until is when the key can be forgotten, because the credential has expired.
	Until time.Time
	// Slot is what bare mandates without an Idempotency-Key share if they pay the same. The
	// store keeps it from the first claim of a key. Empty for other credentials.
	Slot string
	// Repeat is the Idempotency-Key with which a request of the slot claims this key again.
	Repeat string
}

// resumes reports whether another request of the slot may use the payment.
func (p *Payment) resumes() bool { return !p.Refunding && !p.Decided }

// Claimed is the result of a [Claim].
type Claimed struct {
	// State reports whether the claim was granted.
	State ClaimState
	// Payment is set with [ClaimPaid].
	Payment Payment
}

// ClaimState reports whether a claim was granted, and how the previous claim ended.
type ClaimState int

// The states. The first three grant the claim.
const (
	// ClaimFresh: the credential is new, or earlier claims ended with [EndRefused].
	ClaimFresh ClaimState = iota + 1
	// ClaimUndecided: an earlier settlement was sent, and its outcome is unknown.
	ClaimUndecided
	// ClaimPaid: the payment was settled and not served.
	ClaimPaid
	// ClaimBusy: another request holds the claim, whatever its binding.
	ClaimBusy
	// ClaimServed: the payment was served.
	ClaimServed
	// ClaimBoundElsewhere: the credential was used with another binding.
	ClaimBoundElsewhere
)

// End is how a claim ended.
type End int

// The ends.
const (
	// EndRefused: nothing was paid and nothing will be. The key can be forgotten.
	EndRefused End = iota + 1
	// EndUndecided: a settlement was sent, and its outcome is unknown. The credential may
	// be sent again.
	EndUndecided
	// EndUnserved: the payment was settled and not served. The credential may be sent
	// again.
	EndUnserved
	// EndServed: the payment was settled and served.
	EndServed
)
