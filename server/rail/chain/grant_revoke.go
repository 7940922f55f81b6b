package chain

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/relayer"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

var _ rail.Disconnecter = (*Rail)(nil)

// Disconnect ends an instrument. It destroys the session key at once and broadcasts
// the revocation of the grant, without waiting for it to land. It does nothing for an
// instrument that has ended or never existed. After an error the caller must call it
// again: nothing is broadcast for a grant that the chain does not have now, because of
// a reorganization or a late node, and such a grant would be active again later.
func (r *Rail) Disconnect(ctx context.Context, in rail.Instrument) error {
	id, ok := parseHash(in.Method)
	if !ok || in.Rail != rail.Chain {
		return nil
	}
	var connection connectionRecord
	known := false
	err := r.config.Store.Update(ctx, func(tx Tx) error {
		var grant grantRecord
		var err error
		if grant, known, err = records.Get[grantRecord](tx, kindGrant, id.Hex()); err != nil || !known {
			return err
		}
		if connection, _, err = records.Get[connectionRecord](tx, kindConnection, grant.Connected); err != nil {
			return err
		}
		return destroyKey(tx, id)
	})
	if err == nil && known {
		failpoint.Hit(failpoint.KeyDestroyed)
		err = r.revokeOnChain(ctx, id, connection.Relayed)
	}
	if err != nil {
		return fmt.Errorf("disconnect %s: %w", id, err)
	}
	return nil
}

// destroyKey marks a grant as revoked in the store, and destroys its session key.
func destroyKey(tx Tx, id common.Hash) error {
	grant, found, err := records.Get[grantRecord](tx, kindGrant, id.Hex())
	if err != nil || !found {
		return err
	}
	grant.State, grant.Sealed, grant.Consent = revoked, nil, nil
	return records.Put(tx, kindGrant, id.Hex(), grant)
}

func (r *Rail) revokeOnChain(ctx context.Context, id common.Hash, relayed bool) error {
	j := relayer.Job{
		Task: "revoke/" + id.Hex(), To: r.config.Router, Data: r.router.PackRevoke(id),
		Stored: failpoint.RevokeStored, Sent: failpoint.RevokeSent,
	}
	if _, found, err := r.relayer.SlotOf(ctx, j.Task); err != nil || found {
		return err
	}
	m, err := eth.View(ctx, r.chain, r.config.Router, r.router.PackMandate(id), r.router.UnpackMandate)
	if err == nil && relayed && m.State == contracts.StateNone {
		err = r.checkMissing(ctx, id)
	}
	if err != nil || m.State != contracts.StateActive {
		return err // the grant was never on the chain, or has ended there
	}
	if j.Gas, err = r.relayer.Estimate(ctx, j); err != nil {
		return err
	}
	_, err = r.relayer.Submit(ctx, j)
	return err
}

// checkMissing returns [errGrantMissing] if the relayer still tends the transaction of
// a grant that is not on the chain: the grant will be there again.
func (r *Rail) checkMissing(ctx context.Context, id common.Hash) error {
	_, ours, err := r.relayer.SlotOf(ctx, grantTask(id))
	if err == nil && ours {
		err = errGrantMissing
	}
	return err
}
