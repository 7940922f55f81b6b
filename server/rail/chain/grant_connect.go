package chain

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

// connectionRecord is a connection that was begun.
type connectionRecord struct {
	Fingerprint string      `json:"print"` // of the arguments
	GrantID     common.Hash `json:"grantId"`
	Session     string      `json:"session,omitempty"`
	Relayed     bool        `json:"relayed,omitempty"` // the grant is on the chain
	Refused     rail.Reason `json:"refused,omitempty"`
}

// Connect relays a signed grant and its permit to the router, and waits until the grant
// is in a block. The method is one that [Rail.Consent] returned, or one of the
// sandbox's. Connect returns a [*rail.RefusedError] if the router does not take the
// grant or gets no allowance from it; the reference stays refused. It returns
// [rail.ErrUnknownMethod] for any other method, and [rail.ErrReferenceReused] if the
// arguments differ from the first call's. After any other error the same call may be
// made again.
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
	record, err := r.beginConnection(ctx, key, seed, c)
	if err != nil {
		return rail.Instrument{}, err
	}
	if record.Refused != "" {
		return rail.Instrument{}, &rail.RefusedError{Reason: record.Refused}
	}
	grant, found, err := records.Load[grantRecord](ctx, r.config.Store, kindGrant, record.GrantID.Hex())
	if err != nil || !found {
		return rail.Instrument{}, errors.Join(err, records.ErrDamaged)
	}
	if !record.Relayed {
		if err := r.relayGrant(ctx, key, record, grant); err != nil {
			return rail.Instrument{}, err
		}
	}
	owner := grant.Grant.Owner.Hex()
	return rail.Instrument{
		Rail: rail.Chain, Customer: owner, Method: record.GrantID.Hex(), Brand: "USDC", LastFour: owner[len(owner)-4:],
	}, nil
}

// beginConnection returns the record of a reference, and creates it if there is none.
func (r *Rail) beginConnection(ctx context.Context, key string, seed common.Hash, c rail.Connection) (connectionRecord, error) {
	asked := fingerprint(c.Method, c.Email)
	record, found, err := records.Load[connectionRecord](ctx, r.config.Store, kindConnection, key)
	if err != nil {
		return record, err
	}
	if found {
		if record.Fingerprint != asked {
			return record, rail.ErrReferenceReused
		}
		return record, nil
	}
	fresh := connectionRecord{Fingerprint: asked, Session: c.Session}
	if fresh.GrantID, err = r.grantOf(ctx, c, seed); err != nil {
		return record, err
	}
	err = r.config.Store.Update(ctx, func(tx Tx) error {
		record, found, err = records.Get[connectionRecord](tx, kindConnection, key)
		if err != nil || found {
			return err
		}
		if err := claimGrant(tx, fresh.GrantID, key); err != nil {
			return err
		}
		record = fresh
		return records.Put(tx, kindConnection, key, fresh)
	})
	if err != nil {
		return record, fmt.Errorf("store connection: %w", err)
	}
	failpoint.Hit(failpoint.ConnectBegun)
	if record.Fingerprint != asked {
		return record, rail.ErrReferenceReused
	}
	return record, nil
}

// claimGrant reserves a grant for one connection, since its id is no secret once it is
// on the chain. It returns [rail.ErrUnknownMethod] if another connection has it.
func claimGrant(tx Tx, id common.Hash, key string) error {
	grant, found, err := records.Get[grantRecord](tx, kindGrant, id.Hex())
	switch {
	case err != nil:
		return err
	case !found || (grant.Connected != "" && grant.Connected != key):
		return rail.ErrUnknownMethod
	}
	grant.Connected = key
	return records.Put(tx, kindGrant, id.Hex(), grant)
}

// grantOf returns the grant of a method. For a method of the sandbox it signs one.
func (r *Rail) grantOf(ctx context.Context, c rail.Connection, seed common.Hash) (common.Hash, error) {
	method := c.Method
	if text, ok := strings.CutPrefix(method, methodPrefix); ok {
		id, ok := parseHash(text)
		if !ok {
			return common.Hash{}, rail.ErrUnknownMethod
		}
		grant, found, err := records.Load[grantRecord](ctx, r.config.Store, kindGrant, id.Hex())
		if err == nil && (!found || grant.State != signed || grant.Session != "" && grant.Session != c.Session) {
			err = rail.ErrUnknownMethod
		}
		return id, err
	}
	if r.sandboxKey(method, seed) == nil {
		return common.Hash{}, rail.ErrUnknownMethod
	}
	terms, err := r.termsOf(ctx, c.Limits)
	if err != nil {
		return common.Hash{}, err
	}
	return r.sandboxConsent(ctx, method, terms, seed)
}

// decideConnection records that a connection succeeded, or that it was refused for a
// reason, which destroys the session key. The first decision stands.
func (r *Rail) decideConnection(ctx context.Context, key string, why rail.Reason) error {
	err := r.config.Store.Update(ctx, func(tx Tx) error {
		record, found, err := records.Get[connectionRecord](tx, kindConnection, key)
		if err == nil && !found {
			err = records.ErrDamaged
		}
		if err != nil {
			return err
		}
		if record.Relayed || record.Refused != "" {
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
			if err := destroyKey(tx, record.GrantID); err != nil {
				return err
			}
		}
		return records.Put(tx, kindConnection, key, record)
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
