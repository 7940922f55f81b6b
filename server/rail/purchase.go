package rail

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/x402"
)

// A purchase pays a seller that does not know the service: the rail moves what is missing
// from the payer's wallet to the session account of the mandate, and signs a transfer from
// that account, which the seller settles itself. Money of the session account belongs to
// the payer. It pays the next purchase first, or is swept back to the wallet.

// Purchase asks to pay a seller.
type Purchase struct {
	// Reference identifies the purchase: money moves at most once per reference.
	Reference string
	// MandateID is the id of the mandate that pays.
	MandateID string
	// Instrument is the payment method to charge.
	Instrument Instrument
	// PayTo is the seller's wallet address.
	PayTo string
	// Amount is the price.
	Amount Micros
	// Window is how long the seller may settle once the transfer is signed.
	Window time.Duration
	// Nonce is the nonce of the transfer, "0x" and 64 hexadecimal digits. Default: a random
	// one.
	Nonce string
	// NoWait makes the rail return [Pending] at once if nothing can be signed yet.
	NoWait bool
}

// FundingReference returns the reference of the charge that moves money into the session
// account for a purchase.
func FundingReference(purchase string) string { return purchase + fundingSuffix }

const fundingSuffix = ".funding"

// PurchaseOf returns the reference of the purchase that a [FundingReference] is for. Other
// references it returns unchanged.
func PurchaseOf(reference string) string { return strings.TrimSuffix(reference, fundingSuffix) }

// Purchased is the state of a purchase. It is [Pending] until the seller has settled, or can
// no longer do so.
type Purchased struct {
	Outcome

	// Funded is the amount that was moved from the payer's wallet for this purchase. It is
	// final once the outcome is.
	Funded Micros
	// Signed is the signed transfer, or nil if there is none yet.
	Signed *x402.Exact
}

// Sweep is the way back of what lies in a session account.
type Sweep struct {
	// Reference identifies the sweep. It is empty if there is nothing to sweep.
	Reference string
	// MandateID is the id of the mandate.
	MandateID string
	// Amount is what goes back to the payer's wallet.
	Amount Micros
	// Outcome is the outcome of the transfer.
	Outcome Outcome
}

// SessionAccount is a session account with money that no purchase has, or with a sweep.
type SessionAccount struct {
	// Method is the [Instrument.Method] of its mandate.
	Method string
	// MandateID is the id of the mandate.
	MandateID string
	// Free is the money that neither a purchase nor a sweep has.
	Free Micros
	// Since is when the last purchase began or ended.
	Since time.Time
	// Sweeping reports whether a sweep is not recorded yet.
	Sweeping bool
}

// ErrPayee reports a seller whose wallet cannot be paid: it is not an address, or one of
// the rail's own contracts.
var ErrPayee = errors.New("rail: the wallet cannot be paid")

// Buyer is a [Rail] that pays sellers outside of the service.
type Buyer interface {
	// Dollar returns the network and the token of the purchases.
	Dollar() (x402.Network, x402.Asset)
	// CheckPayee returns [ErrPayee] if no purchase can pay a wallet.
	CheckPayee(payTo string) error
	// Buy begins a purchase, or continues it up to the signature. It returns
	// [ErrReferenceReused] if the parameters differ from the first call. After another
	// error the outcome is unknown, and the same call finds it.
	Buy(ctx context.Context, p Purchase) (Purchased, error)
	// PurchaseOutcome follows a purchase without signing anything. A purchase that was not
	// signed in time is refused. So is an unknown reference, and every later Buy of it.
	PurchaseOutcome(ctx context.Context, reference string) (Purchased, error)
	// PurchaseRecorded frees what a purchase that has ended left in the session account, once
	// the caller has recorded the outcome. Repeating it has no effect.
	PurchaseRecorded(ctx context.Context, reference string) error
	// EndedPurchases lists the references of purchases that have ended and whose rest is not
	// free, beginning after a cursor; next continues the list and is empty at its end.
	EndedPurchases(ctx context.Context, after string, limit int) (references []string, next string, err error)
	// Sweep sends the free money of an instrument's session account back, or follows the
	// sweep that is not recorded yet. The account needs no grant: a sweep also works after
	// [Disconnecter.Disconnect].
	Sweep(ctx context.Context, method string) (Sweep, error)
	// SweepRecorded ends a sweep whose outcome the caller has recorded.
	SweepRecorded(ctx context.Context, reference string) error
	// SessionAccounts lists accounts with free money or with a sweep, in the order of their
	// methods.
	SessionAccounts(ctx context.Context, after string, limit int) ([]SessionAccount, error)
}
