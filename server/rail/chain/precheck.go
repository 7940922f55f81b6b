package chain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/vault"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// prepareCharge signs a charge and asks the chain whether it would go through. The
// reason where it would not; an error where nobody knows.
func (r *Rail) prepareCharge(ctx context.Context, grant grantRecord, c evm.Charge) (work, rail.Reason, error) {
	if why, err := r.afford(ctx, grant, c); err != nil || why != "" {
		return work{}, why, err
	}
	signature, err := r.signCharge(ctx, grant, c)
	if errors.Is(err, vault.ErrSealed) {
		return work{}, "", fmt.Errorf("session key: %w", err)
	}
	if err != nil {
		return work{}, "", err
	}
	failpoint.Hit(failpoint.TransferSigned)
	call := r.router.PackCharge(c.GrantID, c.Payee, new(big.Int).SetUint64(c.Amount), c.Ref, new(big.Int).SetUint64(c.Deadline), signature)
	w := work{to: r.config.Router, data: call, stored: failpoint.TransferStored, sent: failpoint.TransferSent}
	w.gas, err = r.estimate(ctx, w)
	var refusal *revertError
	if errors.As(err, &refusal) {
		why, err := r.whyReverted(ctx, refusal, grant.Grant.Owner, c.Payee)
		return work{}, why, err
	}
	if err != nil {
		return work{}, "", err
	}
	why, err := r.affordGas(ctx, &w)
	return w, why, err
}

// afford tells what the owner's wallet does not give, in the words that people
// know; the estimate after it finds everything else.
func (r *Rail) afford(ctx context.Context, grant grantRecord, c evm.Charge) (rail.Reason, error) {
	amount := new(big.Int).SetUint64(c.Amount)
	balance, err := r.balance(ctx, grant.Grant.Owner)
	if err != nil {
		return "", err
	}
	if balance.Cmp(amount) < 0 {
		return rail.InsufficientFunds, nil
	}
	allowance, err := r.allowance(ctx, grant.Grant.Owner)
	if err != nil {
		return "", err
	}
	if allowance.Cmp(amount) < 0 {
		return rail.AllowanceMissing, nil
	}
	return "", nil
}

// signCharge signs with the grant's session key, which is in memory no longer than that.
func (r *Rail) signCharge(ctx context.Context, grant grantRecord, c evm.Charge) ([]byte, error) {
	secret, err := r.config.Vault.Open(ctx, sessionKeyLabel(c.GrantID), grant.Sealed)
	if err != nil {
		return nil, err
	}
	defer clear(secret)
	key, err := crypto.ToECDSA(secret)
	if err != nil {
		return nil, fmt.Errorf("session key of %s is damaged", c.GrantID)
	}
	defer clear(key.D.Bits()) //nolint:staticcheck // nothing is done with it but to make it zero
	return evm.Sign(evm.Digest(r.routerDomain, c), key)
}

// estimate is the gas that a call may use, with room: what other charges do
// meanwhile can make it dearer by some storage. A [*revertError] where it reverts.
func (r *Rail) estimate(ctx context.Context, w work) (uint64, error) {
	gas, err := r.config.RPC.EstimateGas(ctx, ethereum.CallMsg{From: r.relayer, To: &w.to, Data: w.data})
	if err != nil {
		return 0, fmt.Errorf("estimate gas: %w", reverted(err))
	}
	return gas + gas/4 + 25_000, nil
}

// affordGas sets what a transaction offers for its gas, and reports why the relayer
// does not send it: gas costs more than Config.MaxFeeWei, or more than the relayer
// has beside the transactions under way.
func (r *Rail) affordGas(ctx context.Context, w *work) (rail.Reason, error) {
	offer, err := r.suggest(ctx)
	if err != nil {
		return "", err
	}
	w.offer = offer
	if rising := new(big.Int).Add(offer.base, new(big.Int).Rsh(offer.base, 3)); rising.Cmp(r.config.MaxFeeWei) > 0 {
		if r.alarms.due("base fee", r.config.Clock()) {
			r.config.Logger.ErrorContext(ctx, "gas costs more than the highest fee: nothing is sent",
				slog.String("baseFeeWei", offer.base.String()), slog.String("maxFeeWei", r.config.MaxFeeWei.String()))
		}
		return rail.Unavailable, nil
	}
	balance, err := r.config.RPC.BalanceAt(ctx, r.relayer, nil)
	if err != nil {
		return "", fmt.Errorf("read relayer's balance: %w", err)
	}
	need := r.committed.sum()
	if balance.Cmp(need.Add(need, weiOf(w.gas, offer.cap))) < 0 {
		if r.alarms.due("relayer's balance", r.config.Clock()) {
			r.config.Logger.ErrorContext(ctx, "relayer cannot pay for gas",
				slog.String("balanceWei", balance.String()), slog.String("neededWei", need.String()))
		}
		return rail.Unavailable, nil
	}
	return "", nil
}

// whyReverted returns the reason for the router's or the token's refusal of a charge.
// A grant that is not on the chain yet, or no longer, is no refusal: its transaction
// is sent again. A paused token is none either.
func (r *Rail) whyReverted(ctx context.Context, e *revertError, payer, payee common.Address) (rail.Reason, error) {
	unpacked, err := r.router.UnpackError(e.data)
	if err != nil { // the token's
		return r.whyTokenRefused(ctx, rail.Reverted, payer, payee)
	}
	switch unpacked.(type) {
	case *contracts.MandateRouterNoGrant:
		return "", e
	case *contracts.MandateRouterOverMonthCap:
		return rail.AllowanceMissing, r.checkMonth(ctx)
	case *contracts.MandateRouterOverChargeCap, *contracts.MandateRouterPayeeNotAllowed:
		return rail.AllowanceMissing, nil
	case *contracts.MandateRouterRevoked, *contracts.MandateRouterExpired, *contracts.MandateRouterEnforcedPause, *contracts.MandateRouterNotOperator:
		return rail.Unavailable, nil
	default:
		return rail.Reverted, nil
	}
}

// errMonth reports that the chain has no block of the new month yet.
var errMonth = errors.New("chain: the newest block is of the last month")

// checkMonth is [errMonth] if a month's cap is that of the month before, because the
// chain has no block of the new one.
func (r *Rail) checkMonth(ctx context.Context) error {
	header, err := r.newest(ctx)
	if err != nil {
		return err
	}
	head, now := time.Unix(int64(header.Time), 0).UTC(), r.config.Clock().UTC() // not before the year 292 billion
	if now.After(head) && (now.Year() != head.Year() || now.Month() != head.Month()) {
		return errMonth
	}
	return nil
}
