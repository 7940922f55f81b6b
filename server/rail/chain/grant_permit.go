package chain

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/relayer"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

func permitTask(id common.Hash) string { return "permit/" + id.Hex() }

// checkAllowance connects a grant that is on the chain if its permit has worked in
// full, and refuses it otherwise. It sends the permit to the token if the grant landed
// without it: any sender can bring a grant and leave the permit out. It returns
// [errPaused] while the token is paused. The receipt is that of the grant's
// transaction, nil if another sender brought the grant.
func (r *Rail) checkAllowance(ctx context.Context, key string, id common.Hash, grant grantRecord, receipt *types.Receipt) error {
	if grant.Consent.Permit == nil { // the sandbox's wallet without an allowance
		return r.decideConnection(ctx, key, "")
	}
	ok, err := r.permitted(ctx, grant, receipt)
	if err != nil {
		return err
	}
	if !ok {
		if receipt, err = r.relayPermit(ctx, id, grant); err != nil {
			return err
		}
		if receipt != nil {
			ok, err = r.permitted(ctx, grant, receipt)
		}
	}
	var why rail.Reason
	if err == nil && !ok {
		why, err = r.tokenRefusal(ctx, rail.AllowanceMissing, grant.Grant.Owner)
	}
	if err != nil {
		return err
	}
	return r.decideConnection(ctx, key, why)
}

// permitted reports whether a permit has worked: a transaction has set the allowance,
// or the allowance after its block is at least the permit's value. It reads the state
// of that block, since a node can have a receipt before its newest state has it.
func (r *Rail) permitted(ctx context.Context, grant grantRecord, receipt *types.Receipt) (bool, error) {
	var block *big.Int
	want := grant.Consent.Permit.Value.Big()
	if receipt != nil {
		block = receipt.BlockNumber
		for _, l := range receipt.Logs {
			if l.Address != r.config.Token.Address {
				continue
			}
			e, err := r.token.UnpackApprovalEvent(l)
			if err == nil && e.Owner == grant.Grant.Owner && e.Spender == r.config.Router && e.Value.Cmp(want) >= 0 {
				return true, nil
			}
		}
	}
	allowance, err := r.allowanceAt(ctx, grant.Grant.Owner, block)
	if err != nil {
		return false, err
	}
	return allowance.Cmp(want) >= 0, nil
}

// relayPermit sends a grant's permit to the token and waits until it is in a block. It
// returns no receipt if the token does not take the permit.
func (r *Rail) relayPermit(ctx context.Context, id common.Hash, grant grantRecord) (*types.Receipt, error) {
	s, found, err := r.relayer.SlotOf(ctx, permitTask(id))
	if err != nil {
		return nil, err
	}
	if !found {
		if s, found, err = r.submitPermit(ctx, id, grant); err != nil || !found {
			return nil, err
		}
	}
	return r.relayer.Await(ctx, s, time.Time{})
}

// submitPermit submits a transaction that brings a grant's permit to the token. It
// reports false if the token does not take the permit.
func (r *Rail) submitPermit(ctx context.Context, id common.Hash, grant grantRecord) (s relayer.Slot, taken bool, err error) {
	p := grant.Consent.Permit
	j := relayer.Job{Task: permitTask(id), To: r.config.Token.Address, Data: r.token.PackPermit0(
		grant.Grant.Owner, r.config.Router, p.Value.Big(), new(big.Int).SetUint64(min(p.Deadline, math.MaxInt64)),
		p.Signature[64], [32]byte(p.Signature[:32]), [32]byte(p.Signature[32:64]))}
	j.Gas, err = r.relayer.Estimate(ctx, j)
	var refusal *eth.RevertError
	if errors.As(err, &refusal) {
		return s, false, nil
	}
	if err != nil {
		return s, false, err
	}
	if ok, err := r.relayer.Afford(ctx, &j); err != nil || !ok {
		return s, false, errors.Join(err, errNoGas)
	}
	j.Also = func(tx Tx) error { return markPermitSent(tx, id) }
	s, err = r.relayer.Submit(ctx, j)
	return s, err == nil, err
}

// markPermitSent records that the relayer has sent a grant's permit.
func markPermitSent(tx Tx, id common.Hash) error {
	grant, found, err := records.Get[grantRecord](tx, kindGrant, id.Hex())
	if err != nil || !found || grant.PermitSent {
		return err
	}
	grant.PermitSent = true
	return records.Put(tx, kindGrant, id.Hex(), grant)
}

// claimPermit reserves a permit for one grant, and returns a reason if another grant
// has it: of two permits that were signed with one nonce, only one has worked. A permit
// without a limit is enough for every grant.
func claimPermit(tx Tx, id common.Hash) (rail.Reason, error) {
	grant, found, err := records.Get[grantRecord](tx, kindGrant, id.Hex())
	if err != nil || !found || grant.Consent == nil || grant.Consent.Permit == nil {
		return "", err
	}
	if unlimited := new(big.Int).Lsh(common.Big1, 256); grant.Consent.Permit.Value.Big().Cmp(unlimited.Sub(unlimited, common.Big1)) == 0 {
		return "", nil
	}
	key := fmt.Sprintf("%s/%s", grant.Grant.Owner.Hex(), grant.Permit.Nonce.String())
	by, claimed, err := records.Get[common.Hash](tx, kindPermit, key)
	switch {
	case err != nil:
		return "", err
	case claimed && by != id:
		return rail.AllowanceMissing, nil
	}
	return "", records.Put(tx, kindPermit, key, id)
}
