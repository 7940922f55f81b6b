package chain

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

var _ rail.Binder = (*Rail)(nil)

// termsOf returns the terms for a mandate's limits: its payees are those that have a
// wallet. It returns a [*rail.RefusedError] if none of them has one.
func (r *Rail) termsOf(ctx context.Context, l rail.Limits) (Terms, error) {
	if l.MaxPerCharge == 0 {
		return r.sandboxTerms(ctx)
	}
	t := Terms{MaxPerCharge: l.MaxPerCharge, MaxPerMonth: l.MaxPerMonth, ExpiresAt: l.ExpiresAt, Session: l.Session}
	if l.AnyPayee {
		return t, nil
	}
	for _, wallet := range l.PayTo {
		t.Payees = append(t.Payees, common.HexToAddress(wallet))
	}
	if len(t.Payees) == 0 {
		return t, &rail.RefusedError{Reason: rail.Unavailable}
	}
	return t, nil
}

// Bind records the mandate that may charge a grant, unless there is one. If the grant
// has already ended, Bind reports the revocation, which the watcher could not assign to
// a mandate.
func (r *Rail) Bind(ctx context.Context, in rail.Instrument, mandateID string) error {
	id, ok := parseHash(in.Method)
	if !ok || in.Rail != rail.Chain {
		return nil
	}
	var ended *Revocation
	err := r.config.Store.Update(ctx, func(tx Tx) error {
		ended = nil
		grant, found, err := records.Get[grantRecord](tx, kindGrant, id.Hex())
		if err != nil || !found || grant.MandateID != "" {
			return err
		}
		grant.MandateID = mandateID
		if grant.State == revoked {
			ended = &Revocation{GrantID: id, MandateID: mandateID, Owner: grant.Grant.Owner}
		}
		return records.Put(tx, kindGrant, id.Hex(), grant)
	})
	if err == nil && ended != nil && r.config.OnRevoked != nil {
		err = r.config.OnRevoked(ctx, *ended)
	}
	if err != nil {
		return fmt.Errorf("bind grant %s: %w", id, err)
	}
	return nil
}
