// Package rail is the seam between the ledger and the outside world that moves
// the money. A [Rail] is a card processor or a chain; [Router] asks the
// preferred one first and the other one at most once, and only after a definite
// refusal.
//
// Every call that moves money carries a reference. A rail moves money at most
// once for a reference, however often and from however many processes it is
// asked: that is what lets a crashed charge be finished by asking again.
package rail

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/paywarrant/paywarrant/internal/money"
)

// Micros is an amount in millionths of a US dollar.
type Micros = money.Micros

// Name is the wire name of a rail.
type Name string

// The rails.
const (
	Card  Name = "fiatrail"
	Chain Name = "chainrail"
)

// Status is what a rail knows of a charge.
type Status string

const (
	// Succeeded: the money has moved, finally.
	Succeeded Status = "succeeded"
	// Refused: the money has not moved and never will under this reference.
	Refused Status = "refused"
	// Pending: the rail has taken the charge on and does not know the end yet;
	// [Rail.Lookup] tells later.
	Pending Status = "pending"
	// Unseen: only from Lookup: the rail has never heard of the reference. It is
	// no promise for later: a charge still on its way may arrive after the
	// question. Who needs an end asks again with the same [Charge].
	Unseen Status = "unseen"
)

// Reason is why a charge was refused; the wire values of failureReason.
type Reason string

// The reasons.
const (
	CardDeclined      Reason = "card_declined"
	InsufficientFunds Reason = "insufficient_funds"
	ExpiredCard       Reason = "expired_card"
	Reverted          Reason = "reverted"
	OutOfGas          Reason = "out_of_gas"
	AllowanceMissing  Reason = "allowance_missing"
	WalletBlocked     Reason = "wallet_blocked" // by the token's issuer: the payer's or the payee's
	Unavailable       Reason = "rail_unavailable"
	ProcessorError    Reason = "processor_error"
)

// Instrument is a payment method connected to a mandate, as its rail names it.
type Instrument struct {
	Rail     Name   `json:"rail"`
	Customer string `json:"customer"`           // the rail's id of the payer
	Method   string `json:"method"`             // the rail's id of the payment method
	Brand    string `json:"brand,omitempty"`    // shown to people: "Visa"
	LastFour string `json:"lastFour,omitempty"` // shown to people: "4242"
}

// Connection asks a rail to connect a payment method to a mandate.
type Connection struct {
	Reference string // idempotency: the same reference connects once
	Method    string // what the person chose, in the rail's own terms
	Email     string // may be empty
	Session   string // whose mandate it is for; a [Watcher] tells it again
	Limits    Limits // what the mandate will allow
}

// Limits are what a mandate allows. A rail that can, binds the payment method to
// them itself, so that not even the service can exceed them.
type Limits struct {
	MaxPerCharge Micros
	MaxPerMonth  Micros
	ExpiresAt    time.Time
	// PayTo are the wallets of those who may be paid, as far as they have one;
	// AnyPayee says that anybody may be.
	PayTo    []string
	AnyPayee bool
	// Session is the setup session in which a wallet is asked; a [WalletProposal] is
	// good in that session alone. Empty: none.
	Session string
}

// RefusedError is a connection that the rail refuses, definitely.
type RefusedError struct{ Reason Reason }

func (e *RefusedError) Error() string { return "refused: " + string(e.Reason) }

// Charge asks a rail to move money once.
type Charge struct {
	Reference   string // idempotency: moves money at most once
	MandateID   string
	MerchantID  string // the payee
	PayTo       string // the payee's wallet; empty where it has none
	Instrument  Instrument
	Amount      Micros
	Description string // shown on the payer's statement
	// NoWait asks for [Pending] at once if the end is not known yet: nobody waits for
	// the answer. It is no part of what the reference stands for.
	NoWait bool
}

// Outcome is a rail's answer.
type Outcome struct {
	Status      Status
	Reason      Reason    // where Refused
	ProcessorID string    // the processor's own id, card only
	TxHash      string    // chain only
	SettledAt   time.Time // where Succeeded
}

// ErrUnknownMethod tells that a rail has no payment method of that name.
var ErrUnknownMethod = errors.New("rail: unknown payment method")

// ErrReferenceReused tells that a reference was used before with other
// parameters. What became of the first use is unchanged, and Lookup tells it;
// asking again with these parameters never succeeds.
var ErrReferenceReused = errors.New("rail: reference used before with other parameters")

// Rail moves money over one network. All methods may be called from many
// goroutines. An error from any of them means that the outcome is unknown, never
// that nothing happened; a definite refusal is an [Outcome] (or a [RefusedError]
// from Connect).
type Rail interface {
	// Name is the rail's wire name.
	Name() Name
	// Connect connects a payment method. A [RefusedError] where the rail refuses
	// it, [ErrUnknownMethod] where there is none of that name,
	// [ErrReferenceReused] where the reference connected something else.
	Connect(ctx context.Context, c Connection) (Instrument, error)
	// Charge moves money at most once for the reference; a repeat answers what
	// became of the first and finishes it where it was left half done.
	// [ErrReferenceReused] where payer, payee or amount differ from the first.
	Charge(ctx context.Context, c Charge) (Outcome, error)
	// Lookup tells what became of a reference; [Unseen] where nothing did.
	Lookup(ctx context.Context, reference string) (Outcome, error)
}

// Starter is a [Rail] with background work; it ends with Close.
type Starter interface {
	Start(ctx context.Context) error
}

// Disconnecter is a [Rail] that can end an instrument: no charge with it moves
// money any more. Ending one twice, or one that never was, does nothing.
type Disconnecter interface {
	Disconnect(ctx context.Context, in Instrument) error
}

// Networked is a [Rail] on a chain, which has a CAIP-2 name: "eip155:8453".
type Networked interface{ Network() string }

// Binder is a [Rail] that is told which mandate an instrument was connected for,
// once that is known. Binding one twice to the same mandate does nothing.
type Binder interface {
	Bind(ctx context.Context, in Instrument, mandateID string) error
}

// ErrUndecided is what a [Watcher] is answered where it is not known yet which mandate
// an instrument will be of.
var ErrUndecided = errors.New("rail: the session of the instrument is not decided")

// Watcher is a [Rail] on which a payer can end an instrument by itself. It tells
// of each, at least once, from Start on; where that fails, or answers [ErrUndecided],
// it tells again.
type Watcher interface {
	OnRevoked(tell func(ctx context.Context, e Ended) error)
}

// Ended is an instrument that its payer has ended.
type Ended struct {
	Method    string // the instrument's
	MandateID string // of the mandate that it was bound to; empty: of none yet
	Session   string // that it was connected for
}

// Reversible is a [Rail] whose successes can be taken back, as by a reorganization of
// its chain. It reports each payment that was, at least once, from Start on, until tell
// returns nil.
type Reversible interface {
	OnUndone(tell func(ctx context.Context, u Undone) error)
}

// Undone is a payment that a rail answered as succeeded and that was taken back.
type Undone struct {
	Rail      Name
	Reference string // of the charge, as [Reference] returns it; empty: it was no charge
	TxHash    string // that was answered
}

// Gauge is a figure for those who run the service, as of when it is asked for.
type Gauge struct {
	Name  string // "chain_head_block"
	Help  string
	Value func() float64
}

// Gauger is a [Rail] that has such figures.
type Gauger interface{ Gauges() []Gauge }

// Method is a payment method that a person can choose on the setup page.
type Method struct {
	Name    string // what Connection.Method takes
	Label   string // "Visa"
	Number  string // "4242 4242 4242 4242", or empty
	Summary string // one line on what it does, or empty
}

// Offerer is a [Rail] whose payment methods can be chosen from a list.
type Offerer interface{ Methods() []Method }

// Wallets is a [Rail] to which people connect wallets of their own. A wallet signs
// what it is given; the rail brings that to the chain, so that the person pays no
// gas.
type Wallets interface {
	// Propose makes what the wallet of an owner must sign to be charged within the
	// limits. A [RefusedError] where that would be of no use: [InsufficientFunds]
	// where the wallet has less than one payment may be, [Unavailable] where nobody
	// who may be paid has a wallet. [ErrUnknownMethod] where the owner is no address.
	Propose(ctx context.Context, owner string, l Limits) (WalletProposal, error)
	// Accept keeps the signatures of a proposal, in the order of its messages, and
	// returns the method to connect. Again with the same ones it returns the same.
	// [ErrNoProposal] if there is none that waits, or one for other limits or of
	// another session;
	// [ErrSignature] where one is not the owner's.
	Accept(ctx context.Context, id string, l Limits, signatures []string) (method string, err error)
	// RevokeCall is the call by which the owner of an instrument ends it without
	// asking anybody; false for an instrument of another rail.
	RevokeCall(in Instrument) (WalletCall, bool)
	// ChainID is the chain that the wallet must be on.
	ChainID() uint64
}

// WalletProposal is what a wallet is asked to sign.
type WalletProposal struct {
	ID string
	// Messages are typed data (EIP-712), as eth_signTypedData_v4 takes them.
	Messages []json.RawMessage
}

// WalletCall is a transaction for a wallet to send.
type WalletCall struct{ From, To, Data string }

// ErrNoProposal tells that there is no proposal that waits to be signed.
var ErrNoProposal = errors.New("rail: no such proposal")

// ErrSignature tells that a signature is not the wallet's.
var ErrSignature = errors.New("rail: not signed by the wallet")
