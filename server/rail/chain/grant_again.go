package chain

import (
	"context"
	"errors"
	"log/slog"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/relayer"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

// errGrantMissing reports a relayed grant or permit that is not on the chain at present.
var errGrantMissing = errors.New("chain: the grant or its permit is not on the chain now")

// checkRelayed returns [errGrantMissing] if a connected grant or its permit is not on the
// chain because of a reorganization. The relayer sends its transaction again. If another
// program used the nonce of that transaction, checkRelayed submits the grant or the
// permit again.
func (r *Rail) checkRelayed(ctx context.Context, id common.Hash, grant grantRecord) error {
	final := false
	for _, task := range []string{grantTask(id), permitTask(id)} {
		s, found, err := r.relayer.SlotOf(ctx, task)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		state, _, err := r.relayer.Examine(ctx, s)
		if err != nil {
			return err
		}
		switch state {
		case relayer.Waiting, relayer.Included:
			return errGrantMissing
		case relayer.NonceTaken:
			if err := r.relayer.Close(ctx, s); err != nil {
				return err
			}
			grant.PermitSent = grant.PermitSent || task == permitTask(id) // older records lack it
		case relayer.Final:
			final = final || task == grantTask(id)
		}
	}
	if !final {
		if err := r.relayAgain(ctx, id, grant); err != nil {
			return err
		}
	}
	return r.permitAgain(ctx, id, grant)
}

// permitAgain submits a permit that was sent before and has no transaction. It returns
// [errGrantMissing] if it did. It returns nil if the grant is not active or the token
// does not take the permit. A permit that was never sent stays unsent: the owner's
// allowance was enough without it, and less of it now is what the owner wants.
func (r *Rail) permitAgain(ctx context.Context, id common.Hash, grant grantRecord) error {
	if !grant.PermitSent || grant.Consent == nil || grant.Consent.Permit == nil {
		return nil
	}
	if _, found, err := r.relayer.SlotOf(ctx, permitTask(id)); err != nil || found {
		return err
	}
	if there, err := r.onChain(ctx, id, grant); err != nil || !there {
		return err
	}
	s, taken, err := r.submitPermit(ctx, id, grant)
	if err != nil || !taken {
		return err
	}
	r.config.Logger.WarnContext(ctx, "permit broadcast under another nonce", slog.Uint64("nonce", s.Nonce), slog.String("grant", id.Hex()))
	return errGrantMissing
}

// relayAgain submits a connected grant that is not on the chain and has no transaction.
// It returns [errGrantMissing] if it did, and nil if the router does not take the grant.
func (r *Rail) relayAgain(ctx context.Context, id common.Hash, grant grantRecord) error {
	connection, found, err := records.Load[connectionRecord](ctx, r.config.Store, kindConnection, grant.Connected)
	if err != nil || !found || !connection.Relayed || grant.Consent == nil {
		return err
	}
	if there, err := r.onChain(ctx, id, grant); err != nil || there {
		return err
	}
	j := r.grantJob(id, grant)
	j.Gas, err = r.relayer.Estimate(ctx, j)
	var refusal *eth.RevertError
	if errors.As(err, &refusal) {
		return nil
	}
	if err != nil {
		return err
	}
	if ok, err := r.relayer.Afford(ctx, &j); err != nil || !ok {
		return errors.Join(err, errNoGas)
	}
	s, err := r.relayer.Submit(ctx, j)
	if err != nil {
		return err
	}
	r.config.Logger.WarnContext(ctx, "grant broadcast under another nonce", slog.Uint64("nonce", s.Nonce), slog.String("grant", id.Hex()))
	return errGrantMissing
}
