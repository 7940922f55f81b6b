package chain

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/server/rail"
)

// What ties a grant to the mandate that it is for.
var (
	_ rail.Starter      = (*Rail)(nil)
	_ rail.Disconnecter = (*Rail)(nil)
	_ rail.Binder       = (*Rail)(nil)
	_ rail.Watcher      = (*Rail)(nil)
	_ rail.Networked    = (*Rail)(nil)
)

// Network is the chain's CAIP-2 name.
func (r *Rail) Network() string { return fmt.Sprintf("eip155:%d", r.config.ChainID) }

// termsOf are what a sandbox's wallet grants: what the mandate will allow, to
// those of its payees that have a wallet. Where none has, there is nobody whom
// the chain could pay, and a [*rail.RefusedError] says so.
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

// Bind keeps which mandate may charge a grant, unless another one has it. Where the
// grant has ended already, that is told now: the watcher did not know whom to tell.
func (r *Rail) Bind(ctx context.Context, in rail.Instrument, mandateID string) error {
	id, ok := parseHash(in.Method)
	if !ok || in.Rail != rail.Chain {
		return nil
	}
	var ended *Revocation
	err := r.config.Store.Update(ctx, func(tx Tx) error {
		ended = nil
		grant, found, err := read[grantRecord](tx, kindGrant, id.Hex())
		if err != nil || !found || grant.MandateID != "" {
			return err
		}
		grant.MandateID = mandateID
		if grant.State == revoked {
			ended = &Revocation{GrantID: id, MandateID: mandateID, Owner: grant.Grant.Owner}
		}
		return write(tx, kindGrant, id.Hex(), grant)
	})
	if err == nil && ended != nil && r.config.OnRevoked != nil {
		err = r.config.OnRevoked(ctx, *ended)
	}
	if err != nil {
		return fmt.Errorf("bind grant %s: %w", id, err)
	}
	return nil
}

// OnRevoked has the watcher tell which instruments ended on the chain. It is called
// before Start, and replaces Config.OnRevoked.
func (r *Rail) OnRevoked(tell func(ctx context.Context, e rail.Ended) error) {
	r.config.OnRevoked = func(ctx context.Context, seen Revocation) error {
		return tell(ctx, rail.Ended{Method: seen.Method(), MandateID: seen.MandateID, Session: seen.Session})
	}
}
