package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/paywarrant/paywarrant/client"
)

// Journal records purchases durably, so that an agent that is killed neither pays twice
// nor loses a payment, and so that its limits hold across restarts and processes. Package
// agent/journal has one in a file and one in an SQL database.
//
// A purchase is held by the process that began or found it, until Record releases it or
// that process ends. A process that no longer holds a purchase cannot record it.
// Implementations must be safe for concurrent use.
type Journal interface {
	// Find returns an earlier purchase and holds it, or nil if there is none. With a key, it
	// is the purchase of that key in any state. Without one, it is the oldest purchase of
	// the request that has no key, is not held, has the state funding, sent, answered, paid or
	// lost, and is good at now. It forgets a begun purchase whose process ended. It returns
	// [ErrPurchaseBusy] if another request or process holds the purchase of the key.
	Find(ctx context.Context, key, request string, now time.Time) (*JournalEntry, error)
	// Begin records and holds a new purchase and counts its amount, atomically with the
	// check of the limits. It returns [ErrBudget] and [ErrVelocity], and
	// [ErrPurchaseBusy] if the key has a purchase.
	Begin(ctx context.Context, e JournalEntry, limits SpendingLimits) error
	// Record stores the state of a held purchase before it returns, and ends the holding if
	// release is set.
	Record(ctx context.Context, e JournalEntry, release bool) error
	// Forget removes a held purchase that was not sent, and gives back its amount. The amount
	// of a funding purchase is given back after its ForgetAfter too.
	Forget(ctx context.Context, id string) error
	// Unfinished returns the purchases in the states funding, sent, answered, paid and lost
	// that are not held, oldest first.
	Unfinished(ctx context.Context) ([]JournalEntry, error)
}

// PurchaseState is the last step of a purchase that a [Journal] recorded.
type PurchaseState string

// The states of a purchase.
const (
	PurchaseBegun     PurchaseState = "begun"     // counted; nothing was sent
	PurchaseFunding   PurchaseState = "funding"   // the service was asked to fund it; nothing was sent to the seller
	PurchaseSent      PurchaseState = "sent"      // the payment was about to be sent; its outcome is unknown
	PurchasePaid      PurchaseState = "paid"      // the seller confirmed the payment; its response was not read to the end
	PurchaseAnswered  PurchaseState = "answered"  // the caller closed the response before its end
	PurchaseLost      PurchaseState = "lost"      // paid and served, and the response is lost
	PurchaseDelivered PurchaseState = "delivered" // the response was read to its end
	PurchaseRefused   PurchaseState = "refused"   // the seller refused the payment
)

// Finished reports whether nothing is left to do for a purchase.
func (s PurchaseState) Finished() bool { return s == PurchaseDelivered || s == PurchaseRefused }

// JournalEntry is a purchase in a [Journal]. Printed or logged, it hides its credential.
type JournalEntry struct {
	// ID identifies the purchase.
	ID string `json:"id"`
	// Key is the purchase key ([WithPurchaseKey]). It is empty without one, and once another
	// purchase may have the key.
	Key string `json:"key,omitempty"`
	// Request is a hash of the request's method, URL and body.
	Request string `json:"request"`
	// Redirected reports whether the request came from a redirect.
	Redirected bool `json:"redirected,omitzero"`
	// HTTPMethod is the method of the request.
	HTTPMethod string `json:"httpMethod"`
	// URL is the requested address without its query.
	URL string `json:"url"`
	// Method is the payment method.
	Method Method `json:"method"`
	// AmountMicros is the price in millionths of a US dollar.
	AmountMicros int64 `json:"amountMicros"`
	// PayTo is the wallet address of the payee.
	PayTo string `json:"payTo,omitempty"`
	// Network is the CAIP-2 id of the chain.
	Network string `json:"network,omitempty"`
	// State is the last recorded step.
	State PurchaseState `json:"state"`
	// Funding is what a [SellerService] is asked for in the state funding, and nil in the
	// others. Repeated, it funds the purchase once.
	Funding *client.CredentialParams `json:"funding,omitempty"`
	// Credential are the headers that pay. They are secret.
	Credential map[string]string `json:"credential,omitempty"`
	// At is when the purchase began.
	At time.Time `json:"at"`
	// Until is when the credential is no longer sent.
	Until time.Time `json:"until,omitzero"`
	// ForgetAfter is when the journal may delete the purchase.
	ForgetAfter time.Time `json:"forgetAfter"`
	// Receipt is the payment as the seller confirmed it. It is nil if it did not.
	Receipt *Receipt `json:"receipt,omitempty"`
}

// Format prints the purchase without its credential, for every verb.
func (e JournalEntry) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "agent.JournalEntry{ID: %s, URL: %s, AmountMicros: %d, State: %s}", e.ID, e.URL, e.AmountMicros, string(e.State))
}

// LogValue returns the purchase without its credential.
func (e JournalEntry) LogValue() slog.Value {
	return slog.GroupValue(slog.String("id", e.ID), slog.String("url", e.URL), slog.Int64("amount_micros", e.AmountMicros), slog.String("state", string(e.State)))
}

// PurchaseKeyLife is how long a [Journal] remembers the purchase of a key.
const PurchaseKeyLife = 90 * 24 * time.Hour

var (
	// ErrPurchaseBusy: another request or process is making the purchase of this key.
	ErrPurchaseBusy = errors.New("another request is making this purchase")
	// ErrPurchaseKey: the purchase key was used for another request.
	ErrPurchaseKey = errors.New("the purchase key was used for another request")
	// ErrPurchased: the purchase of this key was made and delivered before. It comes with a
	// [PurchasedError].
	ErrPurchased = errors.New("this purchase was made before")
	// ErrOutcomeUnknown: the payment of this purchase can no longer be sent, and whether it
	// was made is unknown. It comes with an [UndecidedError].
	ErrOutcomeUnknown = errors.New("the payment is too old to be sent again, and its outcome is unknown")
)

// PurchasedError reports that the purchase of a key was made and delivered before, so that
// nothing was sent. It matches [ErrPurchased].
type PurchasedError struct {
	// URL is the requested address without its query.
	URL string
	// Receipt is the payment. It is nil if the seller sent no receipt.
	Receipt *Receipt
}

// Error returns what was paid for before.
func (e *PurchasedError) Error() string { return fmt.Sprintf("agent: %s: %v", e.URL, ErrPurchased) }

// Unwrap returns [ErrPurchased].
func (e *PurchasedError) Unwrap() error { return ErrPurchased }

type purchaseKeyKey struct{}

// WithPurchaseKey returns a context in which a request is the purchase of a key, at most
// 200 bytes, such as the id of an order. It needs [Config.Journal].
//
// Requests with one key are one purchase, in every process that shares the journal and
// after a restart, for [PurchaseKeyLife]. The first one is paid. Repeated with the same
// method, URL and body, it sends the same payment until it was delivered; then it fails
// with [ErrPurchased]. It is paid again only if the seller refused the first payment
// without doubt, or with [WithNewPurchase] after an [UndecidedError] that matches
// [ErrAnswerLost] or [ErrOutcomeUnknown]. A different request with the key fails with
// [ErrPurchaseKey].
//
// Without a key, each request is a purchase of its own, except that it sends the payment
// of an equal one that was not delivered.
func WithPurchaseKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, purchaseKeyKey{}, key)
}

// purchaseKey returns the purchase key of a context, or "".
func purchaseKey(ctx context.Context) string {
	key, _ := ctx.Value(purchaseKeyKey{}).(string)
	return key
}

// SpendingLimits are the limits on what an agent spends in total and in sliding windows.
type SpendingLimits struct {
	// BudgetMicros limits the total. Default: no limit.
	BudgetMicros int64
	// Velocity limits what is spent in sliding windows. Default: no limit.
	Velocity []VelocityLimit
}

// Longest returns the length of the longest window.
func (l SpendingLimits) Longest() (longest time.Duration) {
	for _, v := range l.Velocity {
		longest = max(longest, v.Window)
	}
	return longest
}

// Check reports whether a payment at now is within the limits. Total is what was spent
// before it; since returns the number and the sum of the payments made after a time. Check
// returns [ErrBudget], [ErrVelocity] and the errors of since.
func (l SpendingLimits) Check(now time.Time, micros, total int64, since func(time.Time) (count int, sum int64, err error)) error {
	if l.BudgetMicros > 0 && micros > l.BudgetMicros-total {
		return fmt.Errorf("%w: %s of the agent's %s USD are left", ErrBudget, usd(max(l.BudgetMicros-total, 0)), usd(l.BudgetMicros))
	}
	for _, v := range l.Velocity {
		count, sum, err := since(now.Add(-v.Window))
		if err != nil {
			return err
		}
		if err := v.allows(count+1, sum+micros); err != nil {
			return err
		}
		if count >= maxVelocityPayments {
			return fmt.Errorf("%w: %d payments", ErrVelocity, count)
		}
	}
	return nil
}
