package chain

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/server/rail"
)

// kindPermit records tell which grant a permit is of: keyed by its owner and nonce.
const kindPermit = "permit"

func permitTask(id common.Hash) string { return "permit/" + id.Hex() }

// checkAllowance connects a grant that is on the chain once its permit has worked in
// full, and brings the permit to the token if the grant came without it: whoever
// brought the grant can have left it out. It refuses a wallet whose permit does not
// work, and returns [errPaused] while the token is paused. The receipt is that of the grant's transaction, nil if somebody else sent it.
func (r *Rail) checkAllowance(ctx context.Context, key string, id common.Hash, grant grantRecord, receipt *types.Receipt) error {
	if grant.Consent.Permit == nil { // the sandbox's wallet without an allowance
		return r.decideConnection(ctx, key, "")
	}
	ok, err := r.permitted(ctx, grant, receipt)
	if err != nil {
		return err
	}
	if !ok {
		if receipt, err = r.bringPermit(ctx, id, grant); err != nil {
			return err
		}
		if receipt != nil {
			ok, err = r.permitted(ctx, grant, receipt)
		}
	}
	var why rail.Reason
	if err == nil && !ok {
		why, err = r.whyTokenRefused(ctx, rail.AllowanceMissing, grant.Grant.Owner)
	}
	if err != nil {
		return err
	}
	return r.decideConnection(ctx, key, why)
}

// permitted reports whether a permit has worked: the allowance is as high as it says
// after a transaction's block, or the transaction has set it. A node can have a receipt
// before its newest state has it, so the block's own state is asked for.
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

// bringPermit sends a grant's permit to the token and waits until it is in a block.
// It returns no receipt if the token does not take it.
func (r *Rail) bringPermit(ctx context.Context, id common.Hash, grant grantRecord) (*types.Receipt, error) {
	s, found, err := r.taskSlot(ctx, permitTask(id))
	if err != nil {
		return nil, err
	}
	if !found {
		p := grant.Consent.Permit
		w := work{task: permitTask(id), to: r.config.Token.Address, data: r.token.PackPermit0(
			grant.Grant.Owner, r.config.Router, p.Value.Big(), new(big.Int).SetUint64(min(p.Deadline, math.MaxInt64)),
			p.Signature[64], [32]byte(p.Signature[:32]), [32]byte(p.Signature[32:64]))}
		w.gas, err = r.estimate(ctx, w)
		var refusal *revertError
		if errors.As(err, &refusal) {
			return nil, nil //nolint:nilnil // the token does not take it
		}
		if err != nil {
			return nil, err
		}
		if why, err := r.affordGas(ctx, &w); err != nil || why != "" {
			return nil, errors.Join(err, errNoGas)
		}
		if s, err = r.submit(ctx, w); err != nil {
			return nil, err
		}
	}
	for {
		next := r.nextBlock()
		became, receipt, err := r.examine(ctx, s)
		if err != nil {
			return nil, err
		}
		switch became {
		case final, included:
			return receipt, nil
		case displaced:
			return nil, errors.Join(r.leave(ctx, s), errOutcome) // the next try takes another nonce
		case waiting:
			if err := r.push(ctx, s); err != nil {
				return nil, err
			}
		}
		if err := pause(ctx, next, r.config.Poll); err != nil {
			return nil, err
		}
	}
}

// claimPermit has a permit serve one grant: of two that were signed with one nonce,
// one alone has worked, and the other grant has no allowance of its own. One without
// a limit is enough for all.
func claimPermit(tx Tx, id common.Hash) (rail.Reason, error) {
	grant, found, err := read[grantRecord](tx, kindGrant, id.Hex())
	if err != nil || !found || grant.Consent == nil || grant.Consent.Permit == nil {
		return "", err
	}
	if unlimited := new(big.Int).Lsh(common.Big1, 256); grant.Consent.Permit.Value.Big().Cmp(unlimited.Sub(unlimited, common.Big1)) == 0 {
		return "", nil
	}
	key := fmt.Sprintf("%s/%s", grant.Grant.Owner.Hex(), grant.Permit.Nonce.String())
	by, claimed, err := read[common.Hash](tx, kindPermit, key)
	switch {
	case err != nil:
		return "", err
	case claimed && by != id:
		return rail.AllowanceMissing, nil
	}
	return "", write(tx, kindPermit, key, id)
}
