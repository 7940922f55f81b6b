package ledger

import (
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
)

const (
	flatFee    Micros = 3 * money.MicrosPerCent
	minimumFee Micros = money.MicrosPerCent / 2
)

// Fee is what a payee owes for a charge on a rail: nothing for cards. On chain,
// below one dollar 3 % of the amount, rounded up, but at least half a cent; from
// one dollar on three cents.
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

// fee is what the charge's payee owes: nothing where it is no merchant.
func (c Charge) fee() Micros {
	if IsWallet(c.MerchantID) {
		return 0
	}
	return Fee(c.Rail, c.Amount)
}
