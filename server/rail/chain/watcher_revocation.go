package chain

import (
	"context"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

// Revocation is a grant that ended on the chain.
type Revocation struct {
	// GrantID is the grant's id.
	GrantID common.Hash
	// MandateID is the mandate that charged the grant. Empty: none has.
	MandateID string
	// Session is the setup session that connected the grant.
	Session string
	// Owner is the wallet that gave the grant.
	Owner common.Address
	// By is the sender of the transaction: the owner, or the bearer of the owner's
	// signature.
	By common.Address
	// TxHash is the transaction that revoked the grant.
	TxHash common.Hash
}

// Method returns the grant's name in a mandate's instrument.
func (r Revocation) Method() string { return r.GrantID.Hex() }

var _ rail.Watcher = (*Rail)(nil)

// OnRevoked sets the function that is called for each instrument that ended on the
// chain. It is called before Start, and replaces Config.OnRevoked.
func (r *Rail) OnRevoked(report func(ctx context.Context, e rail.Ended) error) {
	r.config.OnRevoked = func(ctx context.Context, seen Revocation) error {
		return report(ctx, rail.Ended{Method: seen.Method(), MandateID: seen.MandateID, Session: seen.Session})
	}
}

// handleRevocation destroys the session key of a revoked grant that the rail knows,
// and reports it.
func (r *Rail) handleRevocation(ctx context.Context, seen Revocation) error {
	known := false
	err := r.config.Store.Update(ctx, func(tx Tx) error {
		known = false
		grant, found, err := records.Get[grantRecord](tx, kindGrant, seen.GrantID.Hex())
		if err != nil || !found {
			return err
		}
		connection, _, err := records.Get[connectionRecord](tx, kindConnection, grant.Connected)
		if err != nil {
			return err
		}
		known, seen.MandateID, seen.Session = true, grant.MandateID, connection.Session
		return destroyKey(tx, seen.GrantID)
	})
	if err != nil {
		return fmt.Errorf("destroy session key: %w", err)
	}
	if !known || r.config.OnRevoked == nil {
		return nil
	}
	failpoint.Hit(failpoint.WatcherDestroyed)
	err = r.config.OnRevoked(ctx, seen)
	if errors.Is(err, rail.ErrUndecided) {
		err = r.config.Store.Update(ctx, func(tx Tx) error { return records.Put(tx, kindUndecided, seen.GrantID.Hex(), seen) })
	}
	if err != nil {
		return fmt.Errorf("report revocation of %s: %w", seen.GrantID, err)
	}
	failpoint.Hit(failpoint.WatcherReported)
	return nil
}

// retryRevocations reports the revocations again whose sessions were undecided, and
// returns their number.
func (r *Rail) retryRevocations(ctx context.Context) (undecided int, err error) {
	if r.config.OnRevoked == nil {
		return 0, nil
	}
	waiting, err := records.List(ctx, r.config.Store, kindUndecided, "", page)
	if err != nil {
		return 0, fmt.Errorf("list undecided revocations: %w", err)
	}
	var errs []error
	for _, one := range waiting {
		if err := r.retryRevocation(ctx, one); err != nil {
			errs = append(errs, fmt.Errorf("report revocation of %s again: %w", one.Key, err))
		}
	}
	return len(waiting), errors.Join(errs...)
}

func (r *Rail) retryRevocation(ctx context.Context, one Record) error {
	seen, err := records.Decode[Revocation](kindUndecided, one)
	if err != nil {
		return err
	}
	err = r.config.OnRevoked(ctx, seen)
	switch {
	case errors.Is(err, rail.ErrUndecided):
		return nil
	case err != nil:
		return err
	}
	return r.config.Store.Update(ctx, func(tx Tx) error { return tx.Delete(kindUndecided, one.Key) })
}
