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

// AnyPayee in a list of payees stands for all of them.
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
	Hash          string // of the session token, which is not stored
	MerchantID    string
	Status        SessionStatus
	FailureReason string
	Terms         Terms
	ReturnURL     string
	Metadata      map[string]string
	Attempts      int    // payment methods that were refused
	MandateID     string // once completed
	SealedToken   []byte // the mandate token, sealed; once completed
	CreatedAt     time.Time
	ExpiresAt     time.Time
}

// Terms are what a mandate allows.
type Terms struct {
	MaxPerTx   Micros
	MaxMonthly Micros
	Rails      []rail.Name
	Payees     []string // merchant ids, or AnyPayee alone
	ExpiresAt  time.Time
}

// Allows tells whether a payee is on the allowlist.
func (t Terms) Allows(payee string) bool {
	return slices.Contains(t.Payees, payee) || slices.Contains(t.Payees, AnyPayee)
}

// MandateStatus is the stored state of a mandate; that it has expired is
// derived from the clock and never stored.
type MandateStatus string

// The states of a mandate.
const (
	MandateActive  MandateStatus = "active"
	MandateRevoked MandateStatus = "revoked"
)

// Revoker is who revoked a mandate.
type Revoker string

// The revokers.
const (
	RevokedByMerchant Revoker = "merchant"
	RevokedByUser     Revoker = "user"
	RevokedByContract Revoker = "contract"
)

// Mandate is what a person allowed, and what was spent of it this month.
type Mandate struct {
	ID         string
	MerchantID string // who asked for it, and may revoke it
	Status     MandateStatus
	RevokedBy  Revoker
	RevokedAt  time.Time
	Terms      Terms
	Month      Month  // of Spent
	Spent      Micros // pending and succeeded charges of Month
	Email      string
	EventSeq   int64 // of the last event about this mandate
	CreatedAt  time.Time
}

// SpentIn is what counts against the limit at a time: zero once the month has
// rolled over. A clock that went backwards does not reset it.
func (m Mandate) SpentIn(now Month) Micros {
	if now > m.Month {
		return 0
	}
	return m.Spent
}

// rails are those of order that the mandate has. They are fixed when a charge
// begins, so that whoever finishes it asks the same ones.
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

// The states of a charge. Only pending ones change.
const (
	ChargePending   ChargeStatus = "pending"
	ChargeSucceeded ChargeStatus = "succeeded"
	ChargeFailed    ChargeStatus = "failed"
)

// Charge is one attempt to move money under a mandate.
type Charge struct {
	ID            string
	MandateID     string
	MerchantID    string // the payee
	PayTo         string // the payee's wallet, for the chain
	Amount        Micros
	Fee           Micros
	Currency      string
	Description   string
	Metadata      map[string]string
	Rails         []rail.Name // in the order to try them
	Month         Month       // whose counter it was counted in
	Status        ChargeStatus
	Rail          rail.Name // that decided it
	TxHash        string
	ProcessorID   string
	FailureReason rail.Reason
	LeaseOwner    string    // pending: the lease under which the rail is being asked; empty: none
	LeaseUntil    time.Time // pending: nobody else asks the rail before
	Asked         int       // how often recovery has asked the rail
	Attempt       int       // how many of Rails it may have asked; see [Ledger.NextRail]
	Resource      string    // what a paywall's charge pays for, in normal form; empty: not a paywall's
	CreatedAt     time.Time
	SettledAt     time.Time
}

// Waiting is the rail that a pending charge waits for; empty if it has none.
func (c Charge) Waiting() rail.Name {
	switch {
	case c.Rail != "":
		return c.Rail
	case len(c.Rails) > 0:
		return c.Rails[0]
	}
	return ""
}

// KeyKind separates the idempotency keys of different operations. The service
// chooses it; no caller can.
type KeyKind string

// The kinds of idempotency keys.
const (
	ChargeKey       KeyKind = "charge"       // chosen by the merchant for a charge
	CheckoutKey     KeyKind = "checkout"     // a checkout's id
	PaywallKey      KeyKind = "paywall"      // chosen by a gate for a settlement
	PresentationKey KeyKind = "presentation" // of a mandate and a challenge
	ReceiptKey      KeyKind = "receipt"      // a payment whose receipt was redeemed
)

// IdempotencyKey is a merchant's name for one request of a kind.
type IdempotencyKey struct {
	MerchantID string
	Kind       KeyKind
	Key        string
}

// Idempotency remembers what a key was used for, and what came of it: a charge
// or a refusal. It never changes.
type Idempotency struct {
	IdempotencyKey

	Fingerprint string
	ChargeID    string
	Refusal     *Refusal
	CreatedAt   time.Time
}

// OutcomeConflict is an outcome that a rail reported after a different one had
// decided the charge. The charge stays as it was decided; a person must look.
type OutcomeConflict struct {
	ChargeID    string
	Rail        rail.Name
	Status      rail.Status
	Reason      rail.Reason
	TxHash      string
	ProcessorID string
	At          time.Time
}

// Posting moves money from one account to another; so every set of postings balances.
type Posting struct {
	ChargeID  string
	N         int // order within the charge
	MandateID string
	From      string
	To        string
	Amount    Micros // above zero
	At        time.Time
}

// Event is written with the change that it tells of, at the end of its merchant's stream.
type Event struct {
	ID         string
	MandateID  string
	Seq        int64 // order within the mandate
	MerchantID string
	Type       webhook.Type
	Data       string // JSON
	CreatedAt  time.Time
	Place      int64 // in its merchant's stream, from 1 without a gap
}

// TallyKey names the running totals of one payee under one mandate.
type TallyKey struct {
	MandateID  string
	MerchantID string
}

// Tally is what one payee received under one mandate. A merchant's statistics
// are the sum of its tallies, so no row is shared by two mandates.
type Tally struct {
	TallyKey

	Count  int64
	Volume Micros
}

// Merchant is an account that may ask for mandates and be paid.
type Merchant struct {
	ID        string
	Name      string
	Website   string
	Email     string
	Active    bool
	MaxCharge Micros // zero: no limit of its own
	PayTo     string // its proven wallet; empty where it has none
	CreatedAt time.Time
}

// walletPrefix begins the id of a payee that is a wallet and no merchant.
const walletPrefix = "wallet:"

// WalletPayee is the payee of a charge that goes to a wallet which belongs to no
// merchant of the service. It owes no fee, and its account has its id as name.
func WalletPayee(address string) Merchant {
	return Merchant{ID: walletPrefix + strings.ToLower(address), Name: address, PayTo: address, Active: true}
}

// IsWallet tells whether a payee's id is of a [WalletPayee].
func IsWallet(payee string) bool { return strings.HasPrefix(payee, walletPrefix) }

// APIKey opens a merchant's account. The key itself is not stored.
type APIKey struct {
	Hash       string
	MerchantID string
	Hint       string // its last four characters, to tell keys apart
	Label      string // what its owner calls it; may be empty
	CreatedAt  time.Time
	RevokedAt  time.Time // zero while it works
}

// ID names a key without being of any use to open the account. It is part of the hash.
func (k APIKey) ID() string { return apiKeyID + k.Hash[:min(len(k.Hash), 16)] }

// apiKeyID begins the id of an API key.
const apiKeyID = "key_"

// AuditEntry is something that an operator did. Entries are kept for good.
type AuditEntry struct {
	ID      string
	At      time.Time
	Actor   string
	Action  string // "merchant.suspend"
	Subject string // the id of what it was done to
	Reason  string
	Detail  string
}

// SealedKey is a private key at rest, by name.
type SealedKey struct {
	Name      string
	State     string
	Public    []byte
	Sealed    []byte
	CreatedAt time.Time
	ChangedAt time.Time
}
