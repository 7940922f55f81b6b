package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/relayer"
	"github.com/paywarrant/paywarrant/server/vault"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// prepareCharge signs a charge and asks the node whether it would succeed. It returns
// the reason if it would not, and an error if that is unknown.
func (r *Rail) prepareCharge(ctx context.Context, grant grantRecord, c evm.Charge) (relayer.Job, rail.Reason, error) {
	if why, err := r.checkWallet(ctx, grant, c); err != nil || why != "" {
		return relayer.Job{}, why, err
	}
	signature, err := r.signCharge(ctx, grant, c)
	if errors.Is(err, vault.ErrSealed) {
		return relayer.Job{}, "", fmt.Errorf("session key: %w", err)
	}
	if err != nil {
		return relayer.Job{}, "", err
	}
	failpoint.Hit(failpoint.TransferSigned)
	call := r.router.PackCharge(c.GrantID, c.Payee, new(big.Int).SetUint64(c.Amount), c.Ref, new(big.Int).SetUint64(c.Deadline), signature)
	j := relayer.Job{To: r.config.Router, Data: call, Stored: failpoint.TransferStored, Sent: failpoint.TransferSent}
	j.Gas, err = r.relayer.Estimate(ctx, j)
	var refusal *eth.RevertError
	if errors.As(err, &refusal) {
		why, err := r.chargeRefusal(ctx, refusal, grant, c)
		return relayer.Job{}, why, err
	}
	if err != nil {
		return relayer.Job{}, "", err
	}
	ok, err := r.relayer.Afford(ctx, &j)
	if err == nil && !ok {
		return relayer.Job{}, rail.Unavailable, nil
	}
	return j, "", err
}

// checkWallet returns the reason if the owner's wallet does not allow a charge, as
// people know it. The estimate that follows finds every other reason. A missing
// allowance is an error and no reason while the grant is not on the chain.
func (r *Rail) checkWallet(ctx context.Context, grant grantRecord, c evm.Charge) (rail.Reason, error) {
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
		return rail.AllowanceMissing, r.checkRelayed(ctx, c.GrantID, grant)
	}
	return "", nil
}

// signCharge signs with the grant's session key, and clears the key from memory.
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

// chargeRefusal returns the reason for the router's or the token's refusal of a charge.
// It returns an error if the refusal is temporary: the token is paused, or the grant is
// not on the chain, at first or after a reorganization, and the relayer sends its
// transaction again.
func (r *Rail) chargeRefusal(ctx context.Context, e *eth.RevertError, grant grantRecord, c evm.Charge) (rail.Reason, error) {
	unpacked, err := r.router.UnpackError(e.Data)
	if err != nil { // the token's
		return r.tokenRefusal(ctx, rail.Reverted, grant.Grant.Owner, c.Payee)
	}
	switch unpacked.(type) {
	case *contracts.MandateRouterNoGrant:
		return "", cmp.Or[error](r.checkRelayed(ctx, c.GrantID, grant), e)
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

// checkMonth returns [errMonth] if the chain still counts the month before, because it
// has no block of the new one.
func (r *Rail) checkMonth(ctx context.Context) error {
	header, err := r.chain.Newest(ctx)
	if err != nil {
		return err
	}
	head, now := eth.Time(header), r.config.Clock().UTC()
	if now.After(head) && (now.Year() != head.Year() || now.Month() != head.Month()) {
		return errMonth
	}
	return nil
}
