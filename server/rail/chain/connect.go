package chain

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail"
)

// connectionRecord is a connection that was begun.
type connectionRecord struct {
	Print   string      `json:"print"`
	GrantID common.Hash `json:"grantId"`
	Session string      `json:"session,omitempty"`
	Relayed bool        `json:"relayed,omitempty"` // the grant is on the chain
	Refused rail.Reason `json:"refused,omitempty"`
}

// Connect relays a signed grant and its permit to the router, and waits until it
// is in a block. The method is what [Rail.Consent] returned, or one of the
// sandbox's. A [*rail.RefusedError] where the router does not take it, or where it
// gives the router no allowance, and it stays refused under the reference;
// [rail.ErrUnknownMethod]; [rail.ErrReferenceReused]. After any other error the same
// call may be made again.
func (r *Rail) Connect(ctx context.Context, c rail.Connection) (rail.Instrument, error) {
	instrument, err := r.connect(ctx, c)
	if err != nil {
		return rail.Instrument{}, fmt.Errorf("connect %s on chain: %w", c.Reference, err)
	}
	return instrument, nil
}

func (r *Rail) connect(ctx context.Context, c rail.Connection) (rail.Instrument, error) {
	if err := ctx.Err(); err != nil {
		return rail.Instrument{}, err
	}
	key, seed := keyOf(c.Reference)
	unlock, err := r.locks.lock(ctx, "connect/"+key)
	if err != nil {
		return rail.Instrument{}, err
	}
	defer unlock()
	record, err := r.begin(ctx, key, seed, c)
	if err != nil {
		return rail.Instrument{}, err
	}
	if record.Refused != "" {
		return rail.Instrument{}, &rail.RefusedError{Reason: record.Refused}
	}
	grant, found, err := view[grantRecord](ctx, r.config.Store, kindGrant, record.GrantID.Hex())
	if err != nil || !found {
		return rail.Instrument{}, errors.Join(err, errRecord)
	}
	if !record.Relayed {
		if err := r.relay(ctx, key, record, grant); err != nil {
			return rail.Instrument{}, err
		}
	}
	owner := grant.Grant.Owner.Hex()
	return rail.Instrument{
		Rail: rail.Chain, Customer: owner, Method: record.GrantID.Hex(), Brand: "USDC", LastFour: owner[len(owner)-4:],
	}, nil
}

// begin returns the record of a reference, and makes it where there is none.
func (r *Rail) begin(ctx context.Context, key string, seed common.Hash, c rail.Connection) (connectionRecord, error) {
	asked := printOf(c.Method, c.Email)
	record, found, err := view[connectionRecord](ctx, r.config.Store, kindConnection, key)
	if err != nil {
		return record, err
	}
	if found {
		if record.Print != asked {
			return record, rail.ErrReferenceReused
		}
		return record, nil
	}
	fresh := connectionRecord{Print: asked, Session: c.Session}
	if fresh.GrantID, err = r.grantOf(ctx, c, seed); err != nil {
		return record, err
	}
	err = r.config.Store.Update(ctx, func(tx Tx) error {
		record, found, err = read[connectionRecord](tx, kindConnection, key)
		if err != nil || found {
			return err
		}
		if err := claim(tx, fresh.GrantID, key); err != nil {
			return err
		}
		record = fresh
		return write(tx, kindConnection, key, fresh)
	})
	if err != nil {
		return record, fmt.Errorf("store connection: %w", err)
	}
	failpoint.Hit(failpoint.ConnectBegun)
	if record.Print != asked {
		return record, rail.ErrReferenceReused
	}
	return record, nil
}

// claim has a grant serve one connection, and no other: its id is no secret once it
// is on the chain. [rail.ErrUnknownMethod] where another one has it.
func claim(tx Tx, id common.Hash, key string) error {
	grant, found, err := read[grantRecord](tx, kindGrant, id.Hex())
	switch {
	case err != nil:
		return err
	case !found || (grant.Connected != "" && grant.Connected != key):
		return rail.ErrUnknownMethod
	}
	grant.Connected = key
	return write(tx, kindGrant, id.Hex(), grant)
}

// grantOf is the grant that a method means; a sandbox's wallet signs one.
func (r *Rail) grantOf(ctx context.Context, c rail.Connection, seed common.Hash) (common.Hash, error) {
	method := c.Method
	if text, ok := strings.CutPrefix(method, methodPrefix); ok {
		id, ok := parseHash(text)
		if !ok {
			return common.Hash{}, rail.ErrUnknownMethod
		}
		grant, found, err := view[grantRecord](ctx, r.config.Store, kindGrant, id.Hex())
		if err == nil && (!found || grant.State != signed || grant.Session != "" && grant.Session != c.Session) {
			err = rail.ErrUnknownMethod
		}
		return id, err
	}
	if r.signer(method, seed) == nil {
		return common.Hash{}, rail.ErrUnknownMethod
	}
	terms, err := r.termsOf(ctx, c.Limits)
	if err != nil {
		return common.Hash{}, err
	}
	return r.sandboxConsent(ctx, method, terms, seed)
}

func grantTask(id common.Hash) string { return "grant/" + id.Hex() }

// relay brings a grant to the chain, and decides the connection.
func (r *Rail) relay(ctx context.Context, key string, record connectionRecord, grant grantRecord) error {
	if grant.Consent == nil || grant.State != signed {
		return r.decideConnection(ctx, key, rail.Unavailable)
	}
	s, found, err := r.taskSlot(ctx, grantTask(record.GrantID))
	if err != nil {
		return err
	}
	if !found {
		if there, err := r.onChain(ctx, record.GrantID, grant); err == nil && there { // somebody else brought it
			return r.checkAllowance(ctx, key, record.GrantID, grant, nil)
		}
		if why, err := r.whyTokenRefused(ctx, "", grant.Grant.Owner); err != nil || why != "" {
			if err != nil {
				return err
			}
			return r.decideConnection(ctx, key, why)
		}
		w := work{
			task: grantTask(record.GrantID), to: r.config.Router, data: r.relayCall(grant),
			stored: failpoint.GrantStored, sent: failpoint.GrantSent,
		}
		w.gas, err = r.estimate(ctx, w)
		var refusal *revertError
		if errors.As(err, &refusal) {
			return r.refuseUnlessBrought(ctx, key, record, grant, r.whyRefused(refusal))
		}
		if err != nil {
			return err
		}
		why, err := r.affordGas(ctx, &w)
		if err != nil {
			return err
		}
		if why != "" {
			return r.decideConnection(ctx, key, why)
		}
		if s, err = r.submit(ctx, w); err != nil {
			return err
		}
	}
	return r.awaitGrant(ctx, key, record, grant, s)
}

// refuseUnlessBrought refuses a connection whose grant the router would not take,
// unless that is because it has it by now: another instance was faster.
func (r *Rail) refuseUnlessBrought(ctx context.Context, key string, record connectionRecord, grant grantRecord, why rail.Reason) error {
	s, found, err := r.taskSlot(ctx, grantTask(record.GrantID))
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

// awaitGrant waits until the transaction of a grant is in a block. It need not be
// deep: should it come undone, it is sent again.
func (r *Rail) awaitGrant(ctx context.Context, key string, record connectionRecord, grant grantRecord, s slot) error {
	for {
		next := r.nextBlock()
		became, receipt, err := r.examine(ctx, s)
		if err != nil {
			return err
		}
		switch became {
		case final, included:
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
		case displaced:
			return errors.Join(r.leave(ctx, s), errOutcome) // the next try takes another nonce
		case waiting:
			if err := r.push(ctx, s); err != nil {
				return err
			}
		}
		if err := pause(ctx, next, r.config.Poll); err != nil {
			return err
		}
	}
}

// onChain tells whether the router holds this grant.
func (r *Rail) onChain(ctx context.Context, id common.Hash, grant grantRecord) (bool, error) {
	m, err := viewOf(ctx, r, r.config.Router, r.router.PackMandate(id), r.router.UnpackMandate)
	return err == nil && m.State == contracts.StateActive && m.SessionKey == grant.Grant.SessionKey, err
}

// whyRefused puts the router's refusal of a grant in the seam's terms.
func (r *Rail) whyRefused(e *revertError) rail.Reason {
	unpacked, err := r.router.UnpackError(e.data)
	if err != nil {
		return rail.Reverted
	}
	switch unpacked.(type) {
	case *contracts.MandateRouterBadSignature:
		return rail.AllowanceMissing // the owner gave none
	case *contracts.MandateRouterEnforcedPause:
		return rail.Unavailable
	default:
		return rail.Reverted
	}
}

// decideConnection keeps how a connection ended; with a reason it is refused, and
// its session key destroyed.
func (r *Rail) decideConnection(ctx context.Context, key string, why rail.Reason) error {
	err := r.config.Store.Update(ctx, func(tx Tx) error {
		record, found, err := read[connectionRecord](tx, kindConnection, key)
		if err == nil && !found {
			err = errRecord
		}
		if err != nil {
			return err
		}
		if record.Relayed || record.Refused != "" { // the first stands
			why = record.Refused
			return nil
		}
		if why == "" {
			if why, err = claimPermit(tx, record.GrantID); err != nil {
				return err
			}
		}
		record.Relayed, record.Refused = why == "", why
		if why != "" {
			if err := destroy(tx, record.GrantID); err != nil {
				return err
			}
		}
		return write(tx, kindConnection, key, record)
	})
	if err != nil {
		return fmt.Errorf("store connection: %w", err)
	}
	failpoint.Hit(failpoint.ConnectDecided)
	if why != "" {
		return &rail.RefusedError{Reason: why}
	}
	return nil
}

// destroy ends a grant in the store, and its session key for good.
func destroy(tx Tx, id common.Hash) error {
	grant, found, err := read[grantRecord](tx, kindGrant, id.Hex())
	if err != nil || !found {
		return err
	}
	grant.State, grant.Sealed, grant.Consent = revoked, nil, nil
	return write(tx, kindGrant, id.Hex(), grant)
}
