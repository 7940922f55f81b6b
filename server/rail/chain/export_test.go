package chain

import (
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// MaxParties is how many parties of an hour the gas budget remembers.
const MaxParties = maxParties

// Budget is a gas budget of its own.
type Budget struct{ gasBudget }

// Take counts a settlement that uses an amount of gas at a gwei each, and reports
// whether the limits allow it.
func (b *Budget) Take(now time.Time, task string, gas uint64, payer, payee common.Address, limits Authorizations) bool {
	e := expenseOf(costOf(gas, big.NewInt(weiPerGwei)), payer, payee, false, "")
	_, ok := b.take(now, task, e, limits.orDefault())
	return ok
}
