package ledger

import (
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
)

const (
	flatFee    Micros = 3 * money.MicrosPerCent
	minimumFee Micros = money.MicrosPerCent / 2
)

// Fee returns the fee that a payee owes for a charge under a mandate: nothing by card; on the
// chain, 3 % of an amount below one dollar, rounded up, at least half a cent, and three cents
// from one dollar.
func Fee(name rail.Name, amount Micros) Micros {
	switch {
	case name != rail.Chain:
		return 0
	case amount >= money.MicrosPerDollar:
		return flatFee
	default:
		return max((amount*3+99)/100, minimumFee)
	}
}

// directFee returns the fee that a payee owes for a direct charge on the chain: 3 % of an
// amount below one dollar, rounded down, and three cents from one dollar. It has no minimum:
// anybody can pay a merchant's wallet a small amount, and the merchant must not owe more than
// it was paid.
func directFee(amount Micros) Micros { return min(amount*3/100, flatFee) }

// fee returns the fee of the charge. A payee that is not a merchant owes none.
func (c Charge) fee() Micros {
	switch {
	case IsWallet(c.MerchantID):
		return 0
	case c.Direct() && c.Rail == rail.Chain:
		return directFee(c.Amount)
	default:
		return Fee(c.Rail, c.Amount)
	}
}
