package rail

import (
	"context"
	"time"

	"github.com/paywarrant/paywarrant/internal/money"
)

// TransferQuery asks for a transfer that somebody signed and a rail settled.
type TransferQuery struct {
	// TxHash is the transaction.
	TxHash string
	// PayTo was paid Amount for Resource.
	PayTo    string
	Amount   money.Micros
	Resource string
}

// SettleRequest says what a signed transfer is to be settled for, and for whom.
type SettleRequest struct {
	// Resource is what is paid for. May be empty.
	Resource string
	// IdempotencyKey lets a repeat with the same key get the first result again.
	// Empty: every repeat is refused.
	IdempotencyKey string
	// Caller is whose budget the gas counts against, such as a client address.
	// Empty: nobody's.
	Caller string
}

// Transfer is a transfer that was settled.
type Transfer struct {
	// Payer is the wallet that signed.
	Payer     string
	SettledAt time.Time
	// Differs names what is not as it was asked for: "payTo", "amount" or "resource".
	// Empty where all of it is.
	Differs string
}

// TransferReader is a [Rail] that remembers which signed transfers it settled, and
// for what.
type TransferReader interface {
	// SettledTransfer finds the transfer of a transaction that fits best, and false
	// where none of its transfers was settled here, for good.
	SettledTransfer(ctx context.Context, q TransferQuery) (Transfer, bool, error)
}
