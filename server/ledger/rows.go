package ledger

import (
	"slices"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/webhook"
)

// Micros is an amount in millionths of a US dollar, the ledger's only unit.
type Micros = money.Micros

// AnyPayee, alone in a list of payees, allows every payee.
const AnyPayee = "*"

// SessionStatus is the state of a setup session.
type SessionStatus string

// The states of a session. Only pending ones change.
const (
	SessionPending   SessionStatus = "pending"
	SessionCompleted SessionStatus = "completed"
	SessionFailed    SessionStatus = "failed"
)

// Session is a merchant's request for a mandate, until a person has decided.
type Session struct {
	// Hash is the SHA-256 of the session token, which is not stored.
	Hash string
	// MerchantID identifies the merchant that asks.
	MerchantID string
	// Status is the session's state. It changes only while pending.
	Status SessionStatus
	// FailureReason is set if the session has failed.
	FailureReason string
	// Terms are the terms that the merchant asks for; the person may narrow them.
	Terms Terms
	// ReturnURL is the address to which the person returns. Optional.
	ReturnURL string
	// Metadata is the merchant's own, sent with events.
	Metadata map[string]string
	// Attempts is the number of payment methods that were refused.
	Attempts int
	// MandateID is the mandate of a completed session.
	MandateID string
	// SealedToken is the sealed mandate token of a completed session.
	SealedToken []byte
	// CreatedAt is the time of creation.
	CreatedAt time.Time
	// ExpiresAt is the time from which a pending session counts as failed.
	ExpiresAt time.Time
}

// Terms are what a mandate allows.
type Terms struct {
	// MaxPerTx limits each charge.
	MaxPerTx Micros
	// MaxMonthly limits the sum of the charges of a calendar month in UTC.
	MaxMonthly Micros
	// Rails are the rails that may move the money.
	Rails []rail.Name
	// Payees lists merchant ids, or AnyPayee alone.
	Payees []string
	// Limits are further limits.
	Limits
	// ExpiresAt is the time from which every charge is refused.
	ExpiresAt time.Time
}

// Allows reports whether the allowlist has a payee.
func (t Terms) Allows(payee string) bool {
	return slices.Contains(t.Payees, payee) || slices.Contains(t.Payees, AnyPayee)
}

// MandateStatus is the stored state of a mandate. Expiry is not stored: it follows from
// the clock.
type MandateStatus string

// The states of a mandate.
const (
	MandateActive  MandateStatus = "active"
	MandateRevoked MandateStatus = "revoked"
)

// Revoker is the party that revoked a mandate.
type Revoker string

// The revokers.
const (
	RevokedByMerchant Revoker = "merchant"
	RevokedByUser     Revoker = "user"
	RevokedByContract Revoker = "contract"
)

// Mandate is a person's permission to charge, with what its charges have used of it.
type Mandate struct {
	// ID identifies the mandate.
	ID string
	// MerchantID identifies the merchant that asked for the mandate, and may revoke it.
	MerchantID string
	// Status is the stored state.
	Status MandateStatus
	// RevokedBy is the party that revoked the mandate; empty while it is active.
	RevokedBy Revoker
	// RevokedAt is the time of revocation; zero while the mandate is active.
	RevokedAt time.Time
	// PausedAt is when the person paused the mandate; zero while it is not paused.
	PausedAt time.Time
	// Terms are the terms that the person confirmed.
	Terms Terms
	// Windows are the mandate's limits of periods, in the order of [WindowKinds]. That for
	// one payee is in the payee's [Tally].
	Windows []Window
	// Card is the reference of the card that the person changed to; see [Ledger.ChangeCard].
	// Empty: the card with which the mandate was confirmed.
	Card string
	// Email is the person's address; may be empty.
	Email string
	// EventSeq is the number of the last event of this mandate.
	EventSeq int64
	// CreatedAt is the time of creation.
	CreatedAt time.Time
}

// rails returns the rails of order that the mandate allows. They are fixed when a charge
// begins, so recovery asks the same ones.
func (m Mandate) rails(order []rail.Name) []rail.Name {
	have := []rail.Name{}
	for _, name := range order {
		if slices.Contains(m.Terms.Rails, name) {
			have = append(have, name)
		}
	}
	return have
}

// ChargeStatus is the state of a charge.
type ChargeStatus string

// The states of a charge. Only pending and authorized ones change.
const (
	ChargePending   ChargeStatus = "pending"
	ChargeSucceeded ChargeStatus = "succeeded"
	ChargeFailed    ChargeStatus = "failed"
	// ChargeAuthorized is a charge whose amount is held; see [Ledger.Capture].
	ChargeAuthorized ChargeStatus = "authorized"
	// ChargeVoided is an authorized charge that was given back.
	ChargeVoided ChargeStatus = "voided"
	// ChargeWrittenOff is a draw whose payee the operator has paid, and the payer not yet: its
	// tab stayed below what a card can pay.
	ChargeWrittenOff ChargeStatus = "written_off"
)

// Charge is one attempt to move money under a mandate.
type Charge struct {
	// ID identifies the charge, also as the transaction id of the API.
	ID string
	// MandateID identifies the mandate that is charged, or the wallet that signed the charge
	// itself; see [Charge.Direct].
	MandateID string
	// Source is the protocol that asked for the charge.
	Source Source
	// MerchantID identifies the payee.
	MerchantID string
	// PayTo is the payee's wallet, for the chain.
	PayTo string
	// Amount is the amount including the fee. Of a charge in two steps it is what is
	// authorized, and from the capture on what is captured.
	Amount Micros
	// Authorized is the amount that was authorized; zero for a charge in one step.
	Authorized Micros
	// AuthorizedUntil is the time from which the authorization can no longer be captured;
	// zero for a charge in one step.
	AuthorizedUntil time.Time
	// Step is what the charge asks its rail for; empty for a charge in one step.
	Step ChargeStep
	// TabID is the tab that the charge is a draw from; empty for other charges.
	TabID string
	// Usage describes a captured amount; nil if the payee did not.
	Usage *Usage
	// Refunded is the sum of its refunds that succeeded.
	Refunded Micros
	// Refunding is the sum of its pending refunds.
	Refunding Micros
	// Refunds is the number of its refunds, whatever their state.
	Refunds int
	// Fee is the service's fee; zero until the charge has succeeded.
	Fee Micros
	// Currency is the currency of the request: "usd" or "usdc".
	Currency string
	// Description is shown to the person.
	Description string
	// Metadata is the merchant's own.
	Metadata map[string]string
	// Rails are the rails to ask, in order.
	Rails []rail.Name
	// Card is the mandate's when the charge was reserved, so that a repeated call asks the
	// same card. A draw has that of its tab.
	Card string
	// Day is the day whose windows include the amount.
	Day Day
	// Status is the charge's state. It changes only while pending or authorized.
	Status ChargeStatus
	// Rail is the rail that decided the charge.
	Rail rail.Name
	// TxHash is the transaction on the chain.
	TxHash string
	// ProcessorID is the card processor's id of the payment.
	ProcessorID string
	// FailureReason is the reason of a failed charge.
	FailureReason rail.Reason
	// LeaseOwner names the lease under which a rail is being asked; empty if none is.
	LeaseOwner string
	// LeaseUntil is the time before which no other process asks a rail.
	LeaseUntil time.Time
	// Asked is the number of times that recovery has asked the rail.
	Asked int
	// Attempt is the number of Rails that may have been asked; see [Ledger.NextRail].
	Attempt int
	// Resource is the normalized URL that a paywall's charge pays for; empty for others.
	Resource string
	// CreatedAt is the time of the reservation.
	CreatedAt time.Time
	// SettledAt is the time at which the payee was paid; zero unless it was.
	SettledAt time.Time
}

// Paid reports whether the payee was paid: by the payer, or by the operator.
func (c Charge) Paid() bool { return c.Status == ChargeSucceeded || c.Status == ChargeWrittenOff }

// Serves reports whether the payee may serve what was paid for: it was paid, or the block of
// a tab guarantees that it will be.
func (c Charge) Serves() bool {
	return c.Paid() || c.Status == ChargeAuthorized && c.TabID != ""
}

// Waiting returns the rail that a pending charge waits for; empty if it has none.
func (c Charge) Waiting() rail.Name {
	switch {
	case c.Rail != "":
		return c.Rail
	case len(c.Rails) > 0:
		return c.Rails[0]
	}
	return ""
}

// KeyKind namespaces idempotency keys by operation. The service sets it; callers cannot.
type KeyKind string

// The kinds of idempotency keys.
const (
	ChargeKey       KeyKind = "charge"       // chosen by the merchant for a charge
	CheckoutKey     KeyKind = "checkout"     // a checkout's id
	PaywallKey      KeyKind = "paywall"      // chosen by a gate for a settlement
	PresentationKey KeyKind = "presentation" // of a mandate and a challenge
	ReceiptKey      KeyKind = "receipt"      // a payment whose receipt was redeemed
	ReversalKey     KeyKind = "reversal"     // a charge's id, once its reversal has its event
	AuthorizeKey    KeyKind = "authorize"    // chosen by the merchant for an authorization
	CaptureKey      KeyKind = "capture"      // chosen by the merchant for a capture
	CommandKey      KeyKind = "command"      // of one run of a command about a session
	TransferKey     KeyKind = "transfer"     // a rail's key of a signed transfer
	AgentKey        KeyKind = "agent"        // chosen by an agent for a payment from a mandate
	SellerKey       KeyKind = "seller"       // chosen by an agent for a purchase outside of the service
	SweepKey        KeyKind = "sweep"        // a sweep's id
)

// IdempotencyKey identifies a request of a merchant.
type IdempotencyKey struct {
	// MerchantID identifies the merchant.
	MerchantID string
	// Kind is the operation.
	Kind KeyKind
	// Key is the key itself.
	Key string
}

// Idempotency records the request that used a key, and its result: a charge or a refusal.
// It never changes.
type Idempotency struct {
	IdempotencyKey

	// Fingerprint is a hash of the request.
	Fingerprint string
	// ChargeID is the charge that the request made; empty if it was refused.
	ChargeID string
	// Refusal is the stored refusal; nil if a charge was made.
	Refusal *Refusal
	// CreatedAt is the time of the request.
	CreatedAt time.Time
}

// Reversed is the status of an [OutcomeConflict] whose rail took back the payment that had
// decided the charge. One payment.reversed event is emitted for it.
const Reversed rail.Status = "reversed"

// OutcomeConflict is an outcome that differs from the one that decided the charge. The
// charge does not change; a person must compare it with the rail. Its key is all of
// ChargeID, Rail, Status, TxHash and ProcessorID.
type OutcomeConflict struct {
	// ChargeID identifies the charge.
	ChargeID string
	// Rail is the rail that reported the outcome.
	Rail rail.Name
	// Status is the reported status.
	Status rail.Status
	// Reason is the reported reason of a refusal.
	Reason rail.Reason
	// TxHash is the reported transaction on the chain.
	TxHash string
	// ProcessorID is the card processor's id of the reported payment.
	ProcessorID string
	// At is the time of the report.
	At time.Time
}

// Posting moves an amount from one account to another, so every set of postings balances.
type Posting struct {
	// ChargeID identifies the charge.
	ChargeID string
	// N is the posting's position within the charge, from zero.
	N int
	// MandateID identifies the charge's mandate.
	MandateID string
	// From is the account that is debited.
	From string
	// To is the account that is credited.
	To string
	// Amount is above zero.
	Amount Micros
	// At is the time of the posting.
	At time.Time
}

// Event describes a change. It is written in the change's transaction, at the end of its
// merchant's stream.
type Event struct {
	// ID identifies the event.
	ID string
	// MandateID identifies the mandate that changed.
	MandateID string
	// Seq numbers the events of the mandate, from 1.
	Seq int64
	// MerchantID identifies the merchant that receives the event.
	MerchantID string
	// Type is the kind of change.
	Type webhook.Type
	// Data is the event's data as JSON.
	Data string
	// CreatedAt is the time of the change.
	CreatedAt time.Time
	// StreamOffset is the offset in the merchant's stream, from 1 without gaps.
	StreamOffset int64
}

// TallyKey identifies the totals of one payee under one mandate.
type TallyKey struct {
	// MandateID identifies the mandate.
	MandateID string
	// MerchantID identifies the payee.
	MerchantID string
}

// Tally counts what one payee received under one mandate. A merchant's statistics are the
// sum of its tallies, so two mandates never share a row.
type Tally struct {
	TallyKey

	// Count is the number of charges that succeeded.
	Count int64
	// Volume is their sum.
	Volume Micros
	// Refunded is the sum of the refunds that succeeded.
	Refunded Micros
	// Month is the first day of the month of Used.
	Month Day
	// Owed is the operator's advance for tabs that the next tab captures too; see [Tab.Owed].
	Owed Micros
	// Used is the sum of the pending, authorized and succeeded charges of Month, if the mandate limits
	// what one payee receives; else zero.
	Used Micros
}

// window returns the payee's window under the terms of its mandate.
func (t Tally) window(terms Terms) Window {
	return Window{Kind: PayeeLimit, Cap: terms.Cap(PayeeLimit), Start: t.Month, Used: int64(t.Used)}
}

// with returns the tally with a changed window.
func (t Tally) with(w Window) Tally {
	t.Month, t.Used = w.Start, Micros(w.Used)
	return t
}

// Merchant is an account that may ask for mandates and be paid.
type Merchant struct {
	// ID identifies the merchant.
	ID string
	// Name is shown to people.
	Name string
	// Website is the merchant's URL; may be empty.
	Website string
	// Email is the merchant's address; may be empty.
	Email string
	// Active is false while the merchant is suspended.
	Active bool
	// MaxCharge is the operator's limit of each charge. Zero: no limit.
	MaxCharge Micros
	// OwnMaxCharge is the merchant's own limit of each charge. Zero: no limit.
	OwnMaxCharge Micros
	// PayTo is the merchant's verified wallet; empty if it has none.
	PayTo string
	// CreatedAt is the time of creation.
	CreatedAt time.Time
}

// ChargeLimit returns the lower one of the limits of each charge. Zero: no limit.
func (m Merchant) ChargeLimit() Micros {
	if m.MaxCharge == 0 || m.OwnMaxCharge > 0 && m.OwnMaxCharge < m.MaxCharge {
		return m.OwnMaxCharge
	}
	return m.MaxCharge
}

// walletPrefix begins the id of a wallet: of a payee that is no merchant, or of a payer
// without a mandate.
const walletPrefix = "wallet:"

// WalletPayee returns the payee for a wallet that belongs to no merchant of the service.
// Such a payee owes no fee, and its account is named by its id.
func WalletPayee(address string) Merchant {
	return Merchant{ID: walletPrefix + strings.ToLower(address), Name: address, PayTo: address, Active: true}
}

// IsWallet reports whether a payee's id is that of a [WalletPayee].
func IsWallet(payee string) bool { return strings.HasPrefix(payee, walletPrefix) }
