package chain

import (
	"context"
	"errors"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/x402"
)

// transferDead implements [relayer.Task] for authorizations: one that has expired
// cannot be used.
func (r *Rail) transferDead(ctx context.Context, key string, head *types.Header) (bool, error) {
	record, found, err := records.Load[authorizationRecord](ctx, r.config.Store, kindAuthorization, key)
	if err != nil || !found {
		return false, err
	}
	before, ok := new(big.Int).SetString(record.Authorization.ValidBefore, 10)
	return ok && before.Cmp(new(big.Int).SetUint64(head.Time)) <= 0, nil
}

// judgeTransfer implements [relayer.Task] for authorizations. A reorganization deeper
// than Config.Confirmations can take back a transfer that was reported as settled.
func (r *Rail) judgeTransfer(ctx context.Context, key string, receipt *types.Receipt) error {
	record, found, err := records.Load[authorizationRecord](ctx, r.config.Store, kindAuthorization, key)
	if err != nil || !found || record.Settled == (common.Hash{}) || record.Undone {
		return err
	}
	t, err := record.transfer()
	if err != nil || (receipt != nil && r.madeTransfer(receipt, t)) {
		return err
	}
	_, err = r.findTransfer(ctx, t, record.Since)
	var no *refusedError
	switch {
	case !errors.As(err, &no):
		return err // another transaction made it, or the node does not answer
	case no.reason == x402.ReasonPending:
		return nil // another transaction made it, and is not final yet
	}
	reference := ""
	if record.Charge != "" {
		reference = rail.Reference(record.Charge, rail.Chain)
	}
	return r.undoTransfer(ctx, key, Undone{
		Reference: reference, TxHash: record.Settled.Hex(), Payer: t.From, Payee: t.To, Amount: rail.Micros(t.Value.Big().Int64()),
	})
}

// undoTransfer marks a settled authorization as undone. It changes nothing else of the
// record.
func (r *Rail) undoTransfer(ctx context.Context, key string, u Undone) error {
	return r.undo(ctx, authorizationTask(key), u, func(tx Tx) (marked bool, err error) {
		now, found, err := records.Get[authorizationRecord](tx, kindAuthorization, key)
		if err != nil || !found || now.Undone || now.Settled.Hex() != u.TxHash {
			return false, err
		}
		now.Undone = true
		return true, records.Put(tx, kindAuthorization, key, now)
	})
}

// transferEnded implements [relayer.Task] for authorizations: it ends the transaction's
// expense. If a transaction of another sender made the transfer, the payer is not to
// blame for a revert: anyone can bring the signature first.
func (r *Rail) transferEnded(ctx context.Context, key string, receipt *types.Receipt) error {
	if receipt.Status == types.ReceiptStatusSuccessful {
		r.budget.End(authorizationTask(key), false)
		return nil
	}
	elsewhere, err := r.madeElsewhere(ctx, key)
	if err != nil {
		return err
	}
	r.budget.End(authorizationTask(key), !elsewhere)
	return nil
}

// madeElsewhere reports whether a transaction of another sender made a transfer.
func (r *Rail) madeElsewhere(ctx context.Context, key string) (bool, error) {
	record, found, err := records.Load[authorizationRecord](ctx, r.config.Store, kindAuthorization, key)
	if err != nil || !found {
		return false, err
	}
	t, err := record.transfer()
	if err != nil {
		return false, err
	}
	_, err = r.findTransfer(ctx, t, record.Since)
	var no *refusedError
	if errors.As(err, &no) {
		return no.reason == x402.ReasonPending, nil // it is in a block that is not final
	}
	return err == nil, err
}

// deploymentEnded implements [relayer.Task] for deployments: it ends the transaction's
// expense.
func (r *Rail) deploymentEnded(_ context.Context, key string, receipt *types.Receipt) error {
	r.budget.End(deployPrefix+key, receipt.Status != types.ReceiptStatusSuccessful)
	return nil
}
