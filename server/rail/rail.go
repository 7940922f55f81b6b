// Package rail is the interface between the ledger and the networks that move money. A
// [Rail] is a card processor or a chain. [Router] asks the preferred rail first, and
// another one at most once, only after a definite refusal.
//
// Every call that moves money carries a reference. A rail moves money at most once per
// reference, however often and from however many processes it is called. That is why a
// crashed charge can be finished by repeating the call.
package rail

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/paywarrant/paywarrant/internal/money"
)

// Micros is an amount in millionths of a US dollar. Its methods convert to and from cents
// and decimals, and add and subtract with an overflow check.
type Micros = money.Micros

// Name is the wire name of a rail.
type Name string

// The rails.
const (
	Card  Name = "fiatrail"
	Chain Name = "chainrail"
)

// Status is the state of a charge on a rail.
type Status string

const (
	// Succeeded: the money has moved, and the result is final.
	Succeeded Status = "succeeded"
	// Refused: the money has not moved, and never will under this reference.
	Refused Status = "refused"
	// Pending: the rail has accepted the charge and does not know the result yet.
	// [Rail.Lookup] returns it later.
	Pending Status = "pending"
	// Held: the amount is held and has not moved. Only an [Authorizer] returns it.
	Held Status = "held"
	// Unseen: the rail does not know the reference. Only Lookup returns it. It is no
	// promise: a charge that was sent before may still arrive. To get a final result,
	// repeat the [Charge].
	Unseen Status = "unseen"
)

// Reason is the reason for a refused charge. Its values are those of failureReason on the wire.
type Reason string

// The reasons for a refused charge.
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
	Expired           Reason = "expired" // of a refund: the payee did not sign in time; of a purchase: the seller did not settle in time
)

// Instrument is a payment method that is connected to a mandate.
type Instrument struct {
	// Rail is the rail that the instrument belongs to.
	Rail Name `json:"rail"`
	// Customer is the rail's id of the payer.
	Customer string `json:"customer"`
	// Method is the rail's id of the payment method.
	Method string `json:"method"`
	// Brand is the card's brand, such as "Visa", for people. It may be empty.
	Brand string `json:"brand,omitempty"`
	// LastFour are the last four digits of the card, for people. It may be empty.
	LastFour string `json:"lastFour,omitempty"`
}

// Connection asks a rail to connect a payment method to a mandate.
type Connection struct {
	// Reference identifies the connection: the same reference connects once.
	Reference string
	// Method is the payment method that the person chose, as the rail names it.
	Method string
	// Email is the person's email address. It may be empty.
	Email string
	// Session identifies the setup session. A [Watcher] returns it in [Ended].
	Session string
	// Limits are what the mandate will allow.
	Limits Limits
}

// Limits are what a mandate allows. A rail that can enforce them itself does, so that not
// even the service can exceed them.
type Limits struct {
	// MaxPerCharge limits one charge.
	MaxPerCharge Micros
	// MaxPerMonth limits the sum of a calendar month in UTC.
	MaxPerMonth Micros
	// ExpiresAt is when the mandate expires.
	ExpiresAt time.Time
	// PayTo are the wallet addresses of the payees that have one.
	PayTo []string
	// AnyPayee reports whether the mandate may pay any merchant.
	AnyPayee bool
	// Session is the setup session in which a wallet is asked to sign. A
	// [WalletProposal] is valid only in that session. Empty: none.
	Session string
}

// RefusedError reports that a rail refused a connection, or a signature of a refund.
type RefusedError struct {
	// Reason is the reason for the refusal.
	Reason Reason
}

// Error returns the reason.
func (e *RefusedError) Error() string { return "rail: refused: " + string(e.Reason) }

// Charge asks a rail to move money once.
type Charge struct {
	// Reference identifies the charge: money moves at most once per reference.
	Reference string
	// MandateID is the id of the mandate that pays.
	MandateID string
	// MerchantID is the id of the payee.
	MerchantID string
	// PayTo is the payee's wallet address. It is empty if the payee has none.
	PayTo string
	// Instrument is the payment method to charge.
	Instrument Instrument
	// Amount is the amount to move.
	Amount Micros
	// Description appears on the payer's statement.
	Description string
	// NoWait makes the rail return [Pending] at once if the result is not known yet. It
	// is not one of the parameters that must not change between calls with the same reference.
	NoWait bool
}

// Outcome is the result of a charge.
type Outcome struct {
	// Status is the state of the charge.
	Status Status
	// Reason is set if Status is Refused.
	Reason Reason
	// ProcessorID is the card processor's id of the payment. It is empty on a chain.
	ProcessorID string
	// TxHash is the hash of the transaction on chain. It is empty for a card.
	TxHash string
	// SettledAt is set if Status is Succeeded.
	SettledAt time.Time
}

// ErrUnknownMethod reports that a rail has no payment method with that name.
var ErrUnknownMethod = errors.New("rail: unknown payment method")

// ErrReferenceReused reports that a reference was used before with other parameters. The
// first use is not affected, and Lookup returns its outcome. Repeating the call with these
// parameters never succeeds.
var ErrReferenceReused = errors.New("rail: reference used before with other parameters")

// Rail moves money over one network. All methods must be safe for concurrent use. An error
// from any of them means that the outcome is unknown, never that nothing happened. A
// definite refusal is an [Outcome], or a [RefusedError] from Connect.
type Rail interface {
	// Name returns the rail's wire name.
	Name() Name
	// Connect connects a payment method. It returns a [RefusedError] if the rail refuses
	// it, [ErrUnknownMethod] if there is no such method, and [ErrReferenceReused] if the
	// reference connected something else.
	Connect(ctx context.Context, c Connection) (Instrument, error)
	// Charge moves money at most once per reference. A repeated call returns the outcome
	// of the first, and finishes it if it was interrupted. It returns
	// [ErrReferenceReused] if payer, payee or amount differ from the first call.
	Charge(ctx context.Context, c Charge) (Outcome, error)
	// Lookup returns the outcome of a reference, or [Unseen].
	Lookup(ctx context.Context, reference string) (Outcome, error)
}

// Starter is a [Rail] with background work.
type Starter interface {
	// Start starts the background work. It ends when the rail is closed.
	Start(ctx context.Context) error
}

// Timed is a [Rail] that has a clock of its own in a sandbox, such as that of a simulated
// processor.
type Timed interface {
	// UseClock sets the clock, before the first other call.
	UseClock(now func() time.Time)
}

// Disconnecter is a [Rail] that can end an instrument.
type Disconnecter interface {
	// Disconnect ends an instrument: no later charge with it moves money. Ending an
	// instrument again, or one that does not exist, has no effect.
	Disconnect(ctx context.Context, in Instrument) error
}

// Networked is a [Rail] on a chain.
type Networked interface {
	// Network returns the chain's CAIP-2 id, such as "eip155:8453".
	Network() string
}

// Binder is a [Rail] that needs to know which mandate an instrument belongs to.
type Binder interface {
	// Bind assigns an instrument to its mandate, once that exists. Binding it again to the
	// same mandate has no effect.
	Bind(ctx context.Context, in Instrument, mandateID string) error
}

// ErrUndecided is returned to a [Watcher] if it is not known yet which mandate an
// instrument will belong to.
var ErrUndecided = errors.New("rail: the session of the instrument is not decided")

// Watcher is a [Rail] on which a payer can end an instrument without the service.
type Watcher interface {
	// OnRevoked sets the function that receives each instrument that its payer ended, at
	// least once, after Start. If report returns an error, such as [ErrUndecided], it is
	// called again later.
	OnRevoked(report func(ctx context.Context, e Ended) error)
}

// Ended is an instrument that its payer has ended.
type Ended struct {
	// Method is the instrument's [Instrument.Method].
	Method string
	// MandateID is the id of the mandate that the instrument is bound to. It is empty if
	// the instrument is not bound yet.
	MandateID string
	// Session is the session that the instrument was connected in.
	Session string
}

// Reversible is a [Rail] whose successful payments can be undone, as by a reorganization
// of its chain.
type Reversible interface {
	// OnUndone sets the function that receives each payment that was undone, at least
	// once, after Start. If report returns an error, it is called again later.
	OnUndone(report func(ctx context.Context, u Undone) error)
}

// Undone is a payment that a rail reported as succeeded and that was undone later.
type Undone struct {
	// Rail is the rail that reported the success.
	Rail Name
	// Reference is the charge's, as [Reference] returns it. It is empty if the payment
	// is not in the ledger.
	Reference string
	// TxHash is the transaction that was reported.
	TxHash string
}

// Gauge is a metric of a rail.
type Gauge struct {
	// Name is the metric's name, such as "chain_head_block".
	Name string
	// Help describes the metric.
	Help string
	// Value returns the current value. It must be safe for concurrent use.
	Value func() float64
}

// Gauger is a [Rail] with metrics.
type Gauger interface {
	// Gauges returns the rail's metrics.
	Gauges() []Gauge
}

// Method is a payment method that a person can choose on the setup page.
type Method struct {
	// Name is the value for [Connection.Method].
	Name string
	// Label is the name for people, such as "Visa".
	Label string
	// Number is the card number for people, such as "4242 4242 4242 4242". It may be empty.
	Number string
	// Summary is one line on what the method does. It may be empty.
	Summary string
}

// Offerer is a [Rail] whose payment methods can be chosen from a list.
type Offerer interface {
	// Methods returns the payment methods.
	Methods() []Method
}

// Wallets is a [Rail] to which people connect their own wallets. A wallet only signs; the
// rail submits the signatures to the chain, so that the person pays no gas.
type Wallets interface {
	// Propose returns what the owner's wallet must sign so that it can be charged within
	// the limits. It returns a [RefusedError] if that would be useless:
	// [InsufficientFunds] if the wallet holds less than the limit per payment, or
	// [Unavailable] if no allowed payee has a wallet. It returns [ErrUnknownMethod] if
	// owner is not an address.
	Propose(ctx context.Context, owner string, l Limits) (WalletProposal, error)
	// Accept stores the signatures of a proposal, in the order of its messages, and
	// returns the value for [Connection.Method]. A repeated call with the same signatures
	// returns the same value. It returns [ErrNoProposal] if no such proposal is waiting,
	// or if it is for other limits or another session, and [ErrSignature] if the owner
	// did not sign.
	Accept(ctx context.Context, id string, l Limits, signatures []string) (method string, err error)
	// RevokeCall returns the transaction with which the owner of an instrument ends it
	// without the service, and false for an instrument of another rail.
	RevokeCall(in Instrument) (WalletCall, bool)
	// ChainID returns the id of the chain that the wallet must be connected to.
	ChainID() uint64
}

// SignatureVerifier is a [Rail] that verifies what wallets sign.
type SignatureVerifier interface {
	// VerifySigned verifies that the wallet with an address signed a text (EIP-191, the
	// method personal_sign). It returns [ErrSignature] if it did not; with any other error
	// the signature may be valid.
	VerifySigned(ctx context.Context, address, text, signature string) error
}

// WalletProposal is what a wallet is asked to sign.
type WalletProposal struct {
	// ID identifies the proposal in [Wallets.Accept].
	ID string
	// Messages are typed data (EIP-712) for eth_signTypedData_v4.
	Messages []json.RawMessage
}

// WalletCall is a transaction for a wallet to send.
type WalletCall struct {
	// From is the wallet's address.
	From string
	// To is the address of the contract.
	To string
	// Data is the call data: "0x" and hexadecimal digits.
	Data string
}

// ErrNoProposal reports that no such proposal is waiting to be signed.
var ErrNoProposal = errors.New("rail: no such proposal")

// ErrSignature reports a signature that is not the wallet's.
var ErrSignature = errors.New("rail: not signed by the wallet")
