package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/server/rail"
)

// A signed transfer is a charge without a mandate: its payer's wallet signed it for this
// one payment. The wallet takes the mandate's place in the charge, its postings and its
// tallies. No window counts it, and the chain alone limits it.

// Source is the protocol that asked for a charge.
type Source string

// The sources.
const (
	SourceMandate Source = "mandate"
	SourceX402    Source = "x402"
	SourceMPP     Source = "mpp"
	SourceTab     Source = "tab"    // a draw
	SourceSeller  Source = "seller" // a purchase from a seller outside of the service
)

// Direct reports whether the payer's wallet signed the charge itself, without a mandate.
func (c Charge) Direct() bool { return IsWallet(c.MandateID) }

// Payer returns the wallet that signed a direct charge, and an empty string for a charge
// under a mandate.
func (c Charge) Payer() string {
	if !c.Direct() {
		return ""
	}
	return strings.TrimPrefix(c.MandateID, walletPrefix)
}

// Transfer describes a signed transfer that a rail is about to submit.
type Transfer struct {
	// ChargeID is the id that the charge gets if it is a new one.
	ChargeID string
	// Key identifies the transfer: the same key begins one charge.
	Key string
	// Payer is the address of the wallet that signed.
	Payer string
	// Payee is the merchant to be paid, or a [WalletPayee].
	Payee Merchant
	// PayTo is the wallet to be paid.
	PayTo string
	// Amount is the amount that was signed. Above zero.
	Amount Micros
	// Source is the protocol of the payment.
	Source Source
	// Resource is the normalized URL that is paid for; may be empty.
	Resource string
	// Description is shown on the receipt.
	Description string
	// Lease is the time during which no other process finishes the charge.
	Lease time.Duration

	lease string // the lease's owner
}

// ErrTransferEnded reports a transfer whose charge has succeeded, although its rail knows
// of no such transfer.
var ErrTransferEnded = errors.New("ledger: the transfer has succeeded before")

// maxTransferAttempts limits the charges of one transfer: each of them but the last has
// failed without a transaction.
const maxTransferAttempts = 20

// BeginTransfer records a signed transfer as a pending charge before its rail submits it.
// If its charge is pending, BeginTransfer extends the lease and returns that charge; if it
// has failed, it begins another one. It returns [ErrIdempotencyInProgress] while recovery
// asks the rail about the charge, [ErrTransferEnded], or [ErrBusy]. After any other error a
// repeat returns the charge.
func (l *Ledger) BeginTransfer(ctx context.Context, t Transfer) (Charge, error) {
	t.lease = l.newLease()
	if t.Amount <= 0 || t.Payer == "" || t.Key == "" {
		return Charge{}, fmt.Errorf("begin transfer: %w: payer, key and amount are required", ErrInvariant)
	}
	chargeID := t.ChargeID
	for attempt := 1; attempt <= maxTransferAttempts; attempt++ {
		var (
			result Charge
			known  string
		)
		key := t.key(attempt)
		keys := Keys{Idempotency: []IdempotencyKey{key}, Charges: []string{chargeID}}
		err := l.run(ctx, WalletPayee(t.Payer).ID, keys, func(s *State, now time.Time) (e Effects, err error) {
			if known = s.Idempotency[key].ChargeID; known != "" && known != chargeID {
				return Effects{}, nil // its row is not locked
			}
			e, result, err = t.decide(s, key, chargeID, now)
			return e, err
		})
		switch {
		case err != nil:
			return Charge{}, fmt.Errorf("begin transfer: %w", err)
		case known != "" && known != chargeID:
			chargeID = known
			attempt-- // the same attempt, with its charge locked
		case result.Status == ChargeFailed:
			chargeID = t.ChargeID
		default:
			return result, nil
		}
	}
	return Charge{}, fmt.Errorf("begin transfer: %w: it has failed %d times", ErrTransferEnded, maxTransferAttempts)
}

// key returns the key of the n-th charge of the transfer.
func (t Transfer) key(n int) IdempotencyKey {
	key := IdempotencyKey{MerchantID: WalletPayee(t.Payer).ID, Kind: TransferKey, Key: t.Key}
	if n > 1 {
		key.Key += fmt.Sprintf("/%d", n)
	}
	return key
}

// decide begins the charge, or takes over the pending one.
func (t Transfer) decide(s *State, key IdempotencyKey, chargeID string, now time.Time) (Effects, Charge, error) {
	if _, begun := s.Idempotency[key]; !begun {
		c := t.charge(now)
		return Effects{Insert: Rows{
			Charges: []Charge{c}, Idempotency: []Idempotency{{IdempotencyKey: key, ChargeID: c.ID, CreatedAt: now}},
		}}, c, nil
	}
	c, ok := s.Charges[chargeID]
	switch {
	case !ok:
		return Effects{}, Charge{}, fmt.Errorf("%w: charge %s of a transfer is missing", ErrInvariant, chargeID)
	case c.Status == ChargeFailed, c.LeaseOwner == t.lease:
		return Effects{}, c, nil
	case c.Status != ChargePending:
		return Effects{}, Charge{}, ErrTransferEnded
	case c.LeaseOwner != "" && c.Asked > 0 && now.Before(c.LeaseUntil):
		return Effects{}, Charge{}, ErrIdempotencyInProgress
	}
	c.LeaseOwner, c.LeaseUntil = t.lease, now.Add(t.Lease)
	return Effects{Update: Rows{Charges: []Charge{c}}}, c, nil
}

func (t Transfer) charge(now time.Time) Charge {
	return Charge{
		ID: t.ChargeID, MandateID: WalletPayee(t.Payer).ID, MerchantID: t.Payee.ID, PayTo: t.PayTo, Amount: t.Amount, Source: t.Source,
		Currency: "usdc", Description: t.Description, Resource: t.Resource, Rails: []rail.Name{rail.Chain}, Attempt: 1,
		Day: DayOf(now), Status: ChargePending, LeaseOwner: t.lease, LeaseUntil: now.Add(t.Lease), CreatedAt: now,
	}
}

// transferEvents begins the name under which the events of a direct charge or of its
// refund are numbered. Each charge and each refund has its own: no row counts them.
const transferEvents = "transfer:"

// transferOwner stands for the mandate in the events of a direct charge or of its refund.
// before is the number of its earlier events.
func transferOwner(id string, before int64) Mandate {
	return Mandate{ID: transferEvents + id, EventSeq: before}
}

// owner returns the mandate that counts the events of a charge.
func (c Charge) owner(s *State, before int64) (Mandate, error) {
	if c.Direct() {
		return transferOwner(c.ID, before), nil
	}
	m, ok := s.Mandates[c.MandateID]
	if !ok {
		return m, fmt.Errorf("%w: mandate of charge %s is missing", ErrInvariant, c.ID)
	}
	return m, nil
}

// counted adds the mandate to the effects, unless it only stands for one.
func (e *Effects) counted(m Mandate) {
	e.Update.Mandates = nil
	if !strings.HasPrefix(m.ID, transferEvents) {
		e.Update.Mandates = []Mandate{m}
	}
}
