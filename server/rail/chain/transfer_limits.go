package chain

import (
	"context"
	"log/slog"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/gasbudget"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/relayer"
	"github.com/paywarrant/paywarrant/x402"
)

// Reasons beyond those of the protocol.
const (
	// ReasonDust refuses an amount below Authorizations.Least.
	ReasonDust x402.Reason = "invalid_exact_evm_payload_authorization_value_too_low"
	// ReasonUndeployed refuses a wallet that is not deployed: the relayer calls no
	// factory that a payload names, unless Authorizations.Factories names it as well.
	ReasonUndeployed x402.Reason = "invalid_exact_evm_payload_undeployed_smart_wallet"
	// ReasonSimulation refuses a transfer that the token would not make.
	ReasonSimulation x402.Reason = "invalid_exact_evm_transaction_simulation_failed"
	// ReasonBlocked refuses a transfer of an account that the token's issuer has blocked.
	ReasonBlocked x402.Reason = "account_blocked_by_token_issuer"
	// ReasonGasBudget refuses a settlement that would cost the relayer too much.
	ReasonGasBudget = x402.ReasonGasBudget
)

// Authorizations limits the signed transfers that the rail settles, and what they may
// cost.
type Authorizations struct {
	// Least is the smallest amount. Default: a tenth of a cent.
	Least rail.Micros
	// LeastWindow is how long an authorization must still be valid: at least this, and
	// at least two blocks and the average time of recent settlements. Default: 12
	// seconds.
	LeastWindow time.Duration
	// BlockTime is the time between two blocks. Default: two seconds.
	BlockTime time.Duration
	// KeyGas is the most gas that a settlement may use if the payer signed with a key,
	// WalletGas if the payer is a contract. Defaults: 150,000 and 500,000.
	KeyGas, WalletGas uint64
	// PayerGas and PayeeGas are the most gas that the settlements of one payer, and to
	// one payee, may use in an hour, and the fundings of one wallet's purchases;
	// WalletPayerGas is that of a payer that is a contract. Each settlement counts with
	// the most that it may use. One that reverts counts tenfold for its payer, and not
	// for its payee. Defaults: 1,500, 15,000 and 150 million.
	PayerGas, PayeeGas, WalletPayerGas uint64
	// RelayerWei is the most that all settlements may cost in an hour; PayerWei,
	// PayeeWei and CallerWei those of one payer, to one payee and for one caller, counted
	// as gas is. Defaults: 10, 1, 5 and 5 ether.
	RelayerWei, PayerWei, PayeeWei, CallerWei *big.Int
	// Lookback is how many blocks back the rail looks for a transfer that another sender
	// broadcast. Default: 1,800, an hour of blocks.
	Lookback uint64
	// Factories may be called to deploy the wallet of a payer whose signature names them
	// (ERC-6492). A factory must do nothing for its caller but deploy wallets. Default:
	// none, and such payers are refused.
	Factories []common.Address
	// DeployGas is the most gas that deploying a wallet may use. Default: 2,000,000.
	DeployGas uint64
}

func (a Authorizations) orDefault() Authorizations {
	if a.Least <= 0 {
		a.Least = 1000
	}
	if a.LeastWindow <= 0 {
		a.LeastWindow = 12 * time.Second
	}
	if a.BlockTime <= 0 {
		a.BlockTime = 2 * time.Second
	}
	for n, value := range map[*uint64]uint64{
		&a.KeyGas: 150_000, &a.WalletGas: 500_000, &a.PayerGas: 1_500_000_000, &a.PayeeGas: 15_000_000_000,
		&a.WalletPayerGas: 150_000_000, &a.Lookback: 1800, &a.DeployGas: 2_000_000,
	} {
		if *n == 0 {
			*n = value
		}
	}
	for wei, ether := range map[**big.Int]int64{&a.RelayerWei: 10, &a.PayerWei: 1, &a.PayeeWei: 5, &a.CallerWei: 5} {
		if *wei == nil {
			*wei = new(big.Int).Mul(big.NewInt(ether), big.NewInt(params.Ether))
		}
	}
	return a
}

// trusts reports whether the relayer may call a factory. The call's data is the
// payload's, so a trusted factory must do nothing for a caller but deploy wallets.
func (a Authorizations) trusts(factory common.Address) bool {
	return slices.Contains(a.Factories, factory)
}

// limitOf returns the budget of a role in an hour.
func (a Authorizations) limitOf(role gasbudget.Role) gasbudget.Cost {
	wei, gas := a.RelayerWei, uint64(1<<62)
	switch role {
	case gasbudget.Payer:
		wei, gas = a.PayerWei, a.PayerGas
	case gasbudget.ContractPayer:
		wei, gas = a.PayerWei, min(a.WalletPayerGas, a.PayerGas)
	case gasbudget.Payee:
		wei, gas = a.PayeeWei, a.PayeeGas
	case gasbudget.Caller:
		wei = a.CallerWei
	case gasbudget.Relayer:
	}
	return gasbudget.Cost{Gas: gas, Gwei: gasbudget.CostOf(1, wei).Gwei}
}

// expenseOf returns the expense of an authorization's transaction. The payer's budget
// depends on whether the payer is a contract, which can revert at will.
func expenseOf(c gasbudget.Cost, a authorization, contract bool) gasbudget.Expense {
	payer := gasbudget.Party{Role: gasbudget.Payer, Name: a.From.Hex()}
	if contract {
		payer.Role = gasbudget.ContractPayer
	}
	e := gasbudget.Expense{Cost: c, Parties: []gasbudget.Party{
		payer, {Role: gasbudget.Payee, Name: a.To.Hex()}, {Role: gasbudget.Relayer},
	}}
	if a.from != "" {
		e.Parties = append(e.Parties, gasbudget.Party{Role: gasbudget.Caller, Name: a.from})
	}
	return e
}

// bringsFee reports whether the payee of a charge owes the operator a fee. A merchant does; a
// wallet of no merchant and the session account of a purchase do not.
func bringsFee(payee string) bool { return strings.HasPrefix(payee, id.Merchant) }

// spendWithoutFee counts a charge that brings no fee against the budgets of its wallet, its payee
// and the relayer, and reports whether they allow it. An agent can name a wallet of its own, or let
// a funding lapse, so such charges cost it nothing.
func (r *Rail) spendWithoutFee(ctx context.Context, job relayer.Job, c chargeRecord) bool {
	return r.spend(ctx, job.Task, gasbudget.Expense{Cost: gasbudget.CostOf(job.Gas, job.Offer.Cap), Parties: []gasbudget.Party{
		{Role: gasbudget.Payer, Name: c.Owner.Hex()}, {Role: gasbudget.Payee, Name: c.Charge.Payee.Hex()}, {Role: gasbudget.Relayer},
	}}) == nil
}

// spend counts an expense against its budgets. If one of them does not allow it, spend
// raises an alarm and returns a [*refusedError].
func (r *Rail) spend(ctx context.Context, task string, e gasbudget.Expense) error {
	short, ok := r.budget.Take(r.config.Clock(), task, e, r.config.Authorizations.limitOf)
	if ok {
		return nil
	}
	r.gauges.overBudget.Add(1)
	if r.alarms.Due("budget of "+string(short), r.config.Clock()) {
		r.config.Logger.ErrorContext(ctx, "relayer's budget of this hour is used up", slog.String("of", string(short)),
			slog.String("payer", e.Parties[0].Name), slog.String("payee", e.Parties[1].Name))
	}
	return refuseAuthorization(ReasonGasBudget, "settlements have used up the budget of the %s in this hour", short)
}
