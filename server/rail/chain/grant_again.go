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

// errGrantMissing reports a relayed grant that is not on the chain at present.
var errGrantMissing = errors.New("chain: the grant is not on the chain now")

// checkRelayed returns [errGrantMissing] if a connected grant or its permit is not on the
// chain because of a reorganization. The relayer sends its transaction again. If another
// program used the nonce of the grant's transaction, checkRelayed submits the grant again.
func (r *Rail) checkRelayed(ctx context.Context, id common.Hash, grant grantRecord) error {
	for _, task := range []string{permitTask(id), grantTask(id)} {
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
		case relayer.Final:
			if task == grantTask(id) {
				return nil
			}
		}
	}
	return r.relayAgain(ctx, id, grant)
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
