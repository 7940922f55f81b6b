package relayer

import (
	"context"
	"fmt"
	"log/slog"
	"math/big"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
)

// Fees are what a transaction offers for a unit of gas, in wei.
type Fees struct {
	// Tip is the most that goes to the block's producer, Cap the most in all.
	Tip, Cap *big.Int

	base *big.Int // the newest block's base fee, which is not offered
}

func weiOf(gas uint64, price *big.Int) *big.Int {
	return new(big.Int).Mul(price, new(big.Int).SetUint64(gas))
}

// suggest returns what the network asks now, with a cap that lets the base fee
// double.
func (r *Relayer) suggest(ctx context.Context) (Fees, error) {
	tip, err := r.config.Node.SuggestGasTipCap(ctx)
	if err != nil {
		return Fees{}, fmt.Errorf("read fees: %w", err)
	}
	header, err := r.config.Chain.Newest(ctx)
	if err != nil {
		return Fees{}, err
	}
	base := header.BaseFee
	if base == nil {
		base = new(big.Int)
	}
	most := new(big.Int).Add(tip, new(big.Int).Lsh(base, 1))
	f := Fees{Tip: tip, Cap: most, base: base}
	return f.within(r.config.MaxFeeWei), nil
}

func (f Fees) within(limit *big.Int) Fees {
	if f.Cap.Cmp(limit) > 0 {
		f.Cap = limit
	}
	if f.Tip.Cmp(f.Cap) > 0 {
		f.Tip = f.Cap
	}
	return f
}

// outbid returns more than a slot's newest transaction offers, and at most
// Config.MaxFeeWei. It reports false if that is too little for nodes to take a
// replacement.
func (r *Relayer) outbid(ctx context.Context, s Slot) (Fees, bool, error) {
	offer, err := r.suggest(ctx)
	if err != nil {
		return Fees{}, false, err
	}
	least := raised(new(big.Int), s.last().FeeCap)
	if least.Cmp(r.config.MaxFeeWei) > 0 {
		return Fees{}, false, nil
	}
	offer = Fees{Tip: raised(offer.Tip, s.last().TipCap), Cap: raised(offer.Cap, s.last().FeeCap)}.within(r.config.MaxFeeWei)
	return offer, offer.Tip.Cmp(raised(new(big.Int), s.last().TipCap)) >= 0, nil
}

// raised returns the suggested fee, but at least an eighth more than before: nodes
// take no replacement that offers less than a tenth more.
func raised(suggested, before *big.Int) *big.Int {
	least := new(big.Int).Rsh(before, 3)
	least.Add(least, before).Add(least, common.Big1)
	if suggested.Cmp(least) > 0 {
		return suggested
	}
	return least
}

// Estimate returns the gas that a job may use. It adds a margin for the storage that
// other transactions may write first. The error wraps an [*eth.RevertError] if the
// call reverts.
func (r *Relayer) Estimate(ctx context.Context, j Job) (uint64, error) {
	gas, err := r.config.Node.EstimateGas(ctx, ethereum.CallMsg{From: r.address, To: &j.To, Data: j.Data})
	if err != nil {
		return 0, fmt.Errorf("estimate gas: %w", eth.AsRevert(err))
	}
	return gas + gas/4 + 25_000, nil
}

// Afford sets what a job offers for its gas, and reports whether the relayer can pay
// it. It cannot if gas costs more than Config.MaxFeeWei, or more than the balance
// beside the transactions that are not in a block yet.
func (r *Relayer) Afford(ctx context.Context, j *Job) (bool, error) {
	offer, err := r.suggest(ctx)
	if err != nil {
		return false, err
	}
	j.Offer = offer
	if rising := new(big.Int).Add(offer.base, new(big.Int).Rsh(offer.base, 3)); rising.Cmp(r.config.MaxFeeWei) > 0 {
		if r.alarms.Due("base fee", r.config.Clock()) {
			r.config.Logger.ErrorContext(ctx, "gas costs more than the highest fee: nothing is sent",
				slog.String("baseFeeWei", offer.base.String()), slog.String("maxFeeWei", r.config.MaxFeeWei.String()))
		}
		return false, nil
	}
	balance, err := r.config.Node.BalanceAt(ctx, r.address, nil)
	if err != nil {
		return false, fmt.Errorf("read relayer's balance: %w", err)
	}
	need := r.committed.sum()
	if balance.Cmp(need.Add(need, weiOf(j.Gas, offer.Cap))) < 0 {
		if r.alarms.Due("relayer's balance", r.config.Clock()) {
			r.config.Logger.ErrorContext(ctx, "relayer cannot pay for gas",
				slog.String("balanceWei", balance.String()), slog.String("neededWei", need.String()))
		}
		return false, nil
	}
	return true, nil
}
