package chain

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/x402"
)

// submitTimeout limits the time from the ledger's record of a transfer to its record here.
// Recovery waits longer before a transfer counts as unseen.
const submitTimeout = 15 * time.Second

// begin has the ledger record a new transfer, and keeps the reference.
func (a authorization) begin(ctx context.Context, kept, record *authorizationRecord) (err error) {
	if a.ledger == nil || kept != nil {
		return nil
	}
	record.Charge, err = a.ledger.Begin(ctx, rail.SignedTransfer{
		Key: a.ledgerKey(), Payer: a.From.Hex(), PayTo: a.To.Hex(), Amount: rail.Micros(a.Value.Big().Int64()),
	})
	if err != nil {
		return fmt.Errorf("record transfer in the ledger: %w", err)
	}
	return nil
}

// ledgerKey identifies the transfer in the ledger. Another amount of a permit is another
// transfer, of which the rail submits one.
func (a authorization) ledgerKey() string {
	if a.permit == nil {
		return a.key
	}
	return fingerprint(a.key, a.Value.String())
}

// end has the ledger record an outcome. Each caller that is not answered yet does so again.
func (a authorization) end(ctx context.Context, record authorizationRecord, o rail.Outcome) error {
	if a.ledger == nil || record.Charge == "" {
		return nil
	}
	if err := a.ledger.End(ctx, record.Charge, o); err != nil {
		return fmt.Errorf("record outcome of transfer in the ledger: %w", err)
	}
	return nil
}

// outcome returns the recorded outcome of an authorization for the ledger.
func (r authorizationRecord) outcome() rail.Outcome {
	switch {
	case r.Settled != common.Hash{} && !r.Undone:
		return rail.Outcome{Status: rail.Succeeded, TxHash: r.Settled.Hex()}
	case r.Undone, r.Failed == x402.ReasonTransactionState:
		return rail.Outcome{Status: rail.Refused, Reason: rail.Reverted}
	case r.Failed != "":
		return rail.Outcome{Status: rail.Refused, Reason: rail.Unavailable}
	}
	return rail.Outcome{Status: rail.Pending}
}

var _ rail.TransferFollower = (*Rail)(nil)

// TransferOutcome implements [rail.TransferFollower].
func (r *Rail) TransferOutcome(ctx context.Context, reference string) (rail.Outcome, error) {
	key, found, err := records.Load[string](ctx, r.config.Store, kindTransferCharge, reference)
	if err != nil || !found {
		return rail.Outcome{Status: rail.Unseen}, err
	}
	record, found, err := records.Load[authorizationRecord](ctx, r.config.Store, kindAuthorization, key)
	if err == nil && !found {
		err = fmt.Errorf("authorization %s: %w", key, records.ErrDamaged)
	}
	if err != nil {
		return rail.Outcome{}, err
	}
	a, err := record.authorization(key)
	if err != nil {
		return rail.Outcome{}, fmt.Errorf("authorization %s: %w", key, err)
	}
	if !record.decided() {
		record, _, err = r.followTransfer(ctx, a, record)
	} else {
		record, err = r.checkFailure(ctx, a, record)
	}
	var no *refusedError
	if errors.As(err, &no) {
		return rail.Outcome{Status: rail.Pending}, nil
	}
	return record.outcome(), err
}

// authorization returns the authorization that was submitted.
func (r authorizationRecord) authorization(key string) (authorization, error) {
	t, err := r.transfer()
	if err != nil {
		return authorization{}, err
	}
	signature, err := hex.DecodeString(r.Signature)
	if err != nil {
		return authorization{}, err
	}
	return authorization{
		signedTransfer: t, wire: r.Authorization, signature: signature, resource: r.Resource, key: key, caller: r.Caller,
	}, nil
}
