package chain

import (
	"context"
	"errors"
	"math"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/relayer"
)

func grantTask(id common.Hash) string { return "grant/" + id.Hex() }

// relayGrant sends a grant to the chain, and decides the connection.
func (r *Rail) relayGrant(ctx context.Context, key string, record connectionRecord, grant grantRecord) error {
	if grant.Consent == nil || grant.State != signed {
		return r.decideConnection(ctx, key, rail.Unavailable)
	}
	s, found, err := r.relayer.SlotOf(ctx, grantTask(record.GrantID))
	if err != nil {
		return err
	}
	if !found {
		if there, err := r.onChain(ctx, record.GrantID, grant); err == nil && there { // another sender brought it
			return r.checkAllowance(ctx, key, record.GrantID, grant, nil)
		}
		if why, err := r.tokenRefusal(ctx, "", grant.Grant.Owner); err != nil || why != "" {
			if err != nil {
				return err
			}
			return r.decideConnection(ctx, key, why)
		}
		j := r.grantJob(record.GrantID, grant)
		j.Gas, err = r.relayer.Estimate(ctx, j)
		var refusal *eth.RevertError
		if errors.As(err, &refusal) {
			return r.refuseUnlessOnChain(ctx, key, record, grant, r.grantRefusal(refusal))
		}
		if err != nil {
			return err
		}
		ok, err := r.relayer.Afford(ctx, &j)
		if err != nil {
			return err
		}
		if !ok {
			return r.decideConnection(ctx, key, rail.Unavailable)
		}
		if s, err = r.relayer.Submit(ctx, j); err != nil {
			return err
		}
	}
	return r.awaitGrant(ctx, key, record, grant, s)
}

func (r *Rail) grantJob(id common.Hash, grant grantRecord) relayer.Job {
	return relayer.Job{
		Task: grantTask(id), To: r.config.Router, Data: r.grantCall(grant),
		Stored: failpoint.GrantStored, Sent: failpoint.GrantSent,
	}
}

// grantCall returns the call that brings a signed grant to the router.
func (r *Rail) grantCall(record grantRecord) []byte {
	g, c := record.Grant, record.Consent
	packed := contracts.MandateRouterGrant{
		Owner: g.Owner, Token: g.Token, SessionKey: g.SessionKey, MaxPerCharge: new(big.Int).SetUint64(g.MaxPerCharge),
		MaxPerMonth: new(big.Int).SetUint64(g.MaxPerMonth), ExpiresAt: g.ExpiresAt, AnyPayee: g.AnyPayee(), Payees: g.Payees, Salt: g.Salt,
	}
	if c.Permit == nil {
		return r.router.PackGrantWithSignature(packed, c.Signature)
	}
	s := c.Permit.Signature
	return r.router.PackGrantWithPermit(packed, c.Signature, contracts.MandateRouterPermit{
		Value: c.Permit.Value.Big(), Deadline: new(big.Int).SetUint64(min(c.Permit.Deadline, math.MaxInt64)),
		V: s[64], R: [32]byte(s[:32]), S: [32]byte(s[32:64]),
	})
}

// refuseUnlessOnChain refuses a connection whose grant the router does not take, unless
// the router has the grant by now because another instance was faster.
func (r *Rail) refuseUnlessOnChain(ctx context.Context, key string, record connectionRecord, grant grantRecord, why rail.Reason) error {
	s, found, err := r.relayer.SlotOf(ctx, grantTask(record.GrantID))
	if err != nil {
		return err
	}
	if found {
		return r.awaitGrant(ctx, key, record, grant, s)
	}
	there, err := r.onChain(ctx, record.GrantID, grant)
	if err != nil {
		return err
	}
	if there {
		return r.checkAllowance(ctx, key, record.GrantID, grant, nil)
	}
	return r.decideConnection(ctx, key, why)
}

// awaitGrant waits until the transaction of a grant is in a block. The block need not
// be final: if a reorganization undoes it, the relayer sends the transaction again.
func (r *Rail) awaitGrant(ctx context.Context, key string, record connectionRecord, grant grantRecord, s relayer.Slot) error {
	receipt, err := r.relayer.Await(ctx, s, time.Time{})
	if err != nil {
		return err
	}
	failpoint.Hit(failpoint.GrantLanded)
	there := receipt.Status == types.ReceiptStatusSuccessful
	if !there {
		if there, err = r.onChain(ctx, record.GrantID, grant); err != nil {
			return err
		}
	}
	if !there {
		return r.decideConnection(ctx, key, rail.Reverted)
	}
	return r.checkAllowance(ctx, key, record.GrantID, grant, receipt)
}

// onChain reports whether the router holds a grant.
func (r *Rail) onChain(ctx context.Context, id common.Hash, grant grantRecord) (bool, error) {
	m, err := eth.View(ctx, r.chain, r.config.Router, r.router.PackMandate(id), r.router.UnpackMandate)
	return err == nil && m.State == contracts.StateActive && m.SessionKey == grant.Grant.SessionKey, err
}

// grantRefusal returns the reason for the router's refusal of a grant.
func (r *Rail) grantRefusal(e *eth.RevertError) rail.Reason {
	unpacked, err := r.router.UnpackError(e.Data)
	if err != nil {
		return rail.Reverted
	}
	switch unpacked.(type) {
	case *contracts.MandateRouterBadSignature:
		return rail.AllowanceMissing // the owner did not sign
	case *contracts.MandateRouterEnforcedPause:
		return rail.Unavailable
	default:
		return rail.Reverted
	}
}
