package rail

import (
	"context"
	"time"

	"github.com/paywarrant/paywarrant/internal/money"
)

// TransferQuery identifies a signed transfer that a rail settled.
type TransferQuery struct {
	// TxHash is the hash of the transaction.
	TxHash string
	// PayTo is the wallet address of the payee.
	PayTo string
	// Amount is the amount that was transferred.
	Amount money.Micros
	// Resource is the URL that was paid for.
	Resource string
}

// SettleRequest describes the settlement of a signed transfer.
type SettleRequest struct {
	// Resource is the URL that is paid for. It may be empty.
	Resource string
	// IdempotencyKey identifies the settlement: a repeated call with the same key returns
	// the first result. If it is empty, every repeated call is refused.
	IdempotencyKey string
	// Caller identifies whose budget the gas counts against, such as a client address.
	// If it is empty, the gas counts against no caller's.
	Caller string
	// Ledger records the transfer. Default: no ledger does.
	Ledger TransferLedger
}

// SignedTransfer is a transfer that its payer has signed.
type SignedTransfer struct {
	// Key identifies the transfer on its chain: no other one has the same key.
	Key string
	// Payer is the wallet address that signed.
	Payer string
	// PayTo is the wallet address of the payee.
	PayTo string
	// Amount is the amount to move.
	Amount money.Micros
}

// TransferLedger records the transfers that a rail settles. All methods must be safe for
// repeated calls.
type TransferLedger interface {
	// Begin records a transfer before the rail stores or submits it, and returns the
	// reference of the record. If Begin returns an error, the rail submits nothing.
	Begin(ctx context.Context, t SignedTransfer) (reference string, err error)
	// End records the outcome of the transfer before the rail reports it. If End returns an
	// error, the rail reports nothing. A [Pending] outcome asks for [TransferFollower]
	// calls.
	End(ctx context.Context, reference string, o Outcome) error
}

// TransferFollower is a [Rail] that settles signed transfers for a [TransferLedger].
type TransferFollower interface {
	// TransferOutcome returns the outcome of the transfer that was recorded under a
	// reference, and continues one that was interrupted. It returns [Unseen] if the rail
	// has stored no transfer of this reference.
	TransferOutcome(ctx context.Context, reference string) (Outcome, error)
}

// Transfer is a transfer that was settled.
type Transfer struct {
	// Payer is the wallet address that signed.
	Payer string
	// SettledAt is when the transfer was settled.
	SettledAt time.Time
	// Differs names the field of the query that does not match: "payTo", "amount" or
	// "resource". It is empty if all match.
	Differs string
}

// TransferReader is a [Rail] that records which signed transfers it settled.
type TransferReader interface {
	// SettledTransfer returns the transfer of a transaction that matches the query best,
	// and false if this rail settled, finally, no transfer of the transaction.
	SettledTransfer(ctx context.Context, q TransferQuery) (Transfer, bool, error)
}
