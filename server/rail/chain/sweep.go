package chain

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// sweepRecord is the transfer of a session account's free money to the owner's wallet. It is
// written before the transfer is sent. An account has one at a time.
type sweepRecord struct {
	Reference     string             `json:"reference"`
	MandateID     string             `json:"mandateId"`
	GrantID       common.Hash        `json:"grantId"`
	Amount        rail.Micros        `json:"amount"`
	Authorization x402.Authorization `json:"authorization"`
	Signature     string             `json:"signature"`
	Since         uint64             `json:"since"`
	Outcome       *rail.Outcome      `json:"outcome,omitempty"`
}

func (s sweepRecord) transfer() (signedTransfer, error) {
	t, err := evm.ParseAuthorization(s.Authorization)
	return signedTransfer{TransferAuthorization: t}, err
}

func (s sweepRecord) result() rail.Sweep {
	result := rail.Sweep{Reference: s.Reference, MandateID: s.MandateID, Amount: s.Amount, Outcome: rail.Outcome{Status: rail.Pending}}
	if s.Outcome != nil {
		result.Outcome = *s.Outcome
	}
	return result
}

// Sweep implements [rail.Buyer]. The relayer pays for the gas. Less than Authorizations.Least
// stays in the account.
func (r *Rail) Sweep(ctx context.Context, method string) (rail.Sweep, error) {
	result, err := r.sweep(ctx, method)
	if err != nil {
		return rail.Sweep{}, fmt.Errorf("sweep session account of %s: %w", method, err)
	}
	return result, nil
}

func (r *Rail) sweep(ctx context.Context, method string) (rail.Sweep, error) {
	grantID, ok := parseHash(method)
	if !ok {
		return rail.Sweep{}, nil
	}
	a, found, err := records.Load[accountRecord](ctx, r.config.Store, kindAccount, grantID.Hex())
	if err != nil || !found || a.Sweep == "" && a.Free < r.config.Authorizations.Least {
		return rail.Sweep{}, err
	}
	if a.Sweep == "" {
		if a, err = r.openSweep(ctx, grantID, a); err != nil || a.Sweep == "" {
			return rail.Sweep{}, err
		}
	}
	record, found, err := records.Load[sweepRecord](ctx, r.config.Store, kindSweep, a.Sweep)
	if err != nil || !found {
		return rail.Sweep{}, errors.Join(err, missingRecord(found))
	}
	return r.followSweep(ctx, a.Sweep, record)
}

func missingRecord(found bool) error {
	if found {
		return nil
	}
	return records.ErrDamaged
}

// openSweep stores a signed sweep of all free money, unless another call has stored one.
func (r *Rail) openSweep(ctx context.Context, grantID common.Hash, seen accountRecord) (a accountRecord, err error) {
	header, err := r.chain.Newest(ctx)
	if err != nil {
		return a, err
	}
	t := evm.TransferAuthorization{
		From: seen.Address, To: seen.Owner, Value: evm.Uint64(uint64(seen.Free)), ValidBefore: evm.Uint64(r.deadline(header.Time)),
	}
	_, _ = rand.Read(t.Nonce[:]) // never fails
	signature, err := r.signFromAccount(ctx, grantID, seen, t)
	if err != nil {
		return a, err
	}
	record := sweepRecord{
		Reference: id.New(id.Sweep, r.config.Clock()), MandateID: seen.MandateID, GrantID: grantID, Amount: seen.Free,
		Authorization: t.Wire(), Signature: hexutil.Encode(signature), Since: header.Number.Uint64(),
	}
	key, _ := keyOf(record.Reference)
	err = r.config.Store.Update(ctx, func(tx Tx) error {
		if a, err = getAccount(tx, grantID); err != nil || a.Sweep != "" || a.Free != seen.Free {
			return err // a purchase was faster: the next call sweeps what is left
		}
		if err := a.add(-record.Amount, r.config.Clock()); err != nil {
			return err
		}
		a.Sweep = key
		if err := putAccount(tx, grantID, a); err != nil {
			return err
		}
		return records.Put(tx, kindSweep, key, record)
	})
	if err != nil {
		return a, fmt.Errorf("store sweep: %w", err)
	}
	failpoint.Hit(failpoint.SweepOpened)
	return a, nil
}

// followSweep sends a sweep, or reads its outcome from the chain once.
func (r *Rail) followSweep(ctx context.Context, key string, record sweepRecord) (rail.Sweep, error) {
	if record.Outcome != nil {
		return record.result(), nil
	}
	t, err := record.transfer()
	if err != nil {
		return rail.Sweep{}, err
	}
	signature, err := hexutil.Decode(record.Signature)
	if err != nil {
		return rail.Sweep{}, fmt.Errorf("sweep %s: %w", record.Reference, records.ErrDamaged)
	}
	why := fingerprint("sweep", record.Reference)
	a := authorization{
		signedTransfer: t, wire: t.Wire(), signature: signature, resource: why, caller: why, key: authorizationKey(t.From, t.Nonce),
	}
	var no *refusedError
	if _, err := r.findOrSubmit(ctx, a); err != nil && !errors.As(err, &no) && !errors.Is(err, errPaused) && !errors.Is(err, errNoGas) {
		return rail.Sweep{}, err
	}
	if _, _, err := r.followRelayed(ctx, t); err != nil {
		return rail.Sweep{}, err
	}
	outcome, err := r.outcomeOfUse(ctx, t, record.Since)
	if err != nil || outcome.Status == rail.Pending {
		return record.result(), err
	}
	return r.endSweep(ctx, key, outcome)
}

// endSweep stores the outcome of a sweep. If nothing moved, the money is free again.
func (r *Rail) endSweep(ctx context.Context, key string, outcome rail.Outcome) (rail.Sweep, error) {
	var record sweepRecord
	err := r.config.Store.Update(ctx, func(tx Tx) error {
		var found bool
		var err error
		record, found, err = records.Get[sweepRecord](tx, kindSweep, key)
		if err != nil || !found || record.Outcome != nil {
			return errors.Join(err, missingRecord(found))
		}
		record.Outcome = &outcome
		if outcome.Status == rail.Refused {
			a, err := getAccount(tx, record.GrantID)
			if err != nil {
				return err
			}
			if err := a.add(record.Amount, r.config.Clock()); err != nil {
				return err
			}
			if err := putAccount(tx, record.GrantID, a); err != nil {
				return err
			}
		}
		return records.Put(tx, kindSweep, key, record)
	})
	if err != nil {
		return rail.Sweep{}, fmt.Errorf("store outcome of sweep: %w", err)
	}
	failpoint.Hit(failpoint.SweepEnded)
	return record.result(), nil
}

// SweepRecorded implements [rail.Buyer].
func (r *Rail) SweepRecorded(ctx context.Context, reference string) error {
	key, _ := keyOf(reference)
	err := r.config.Store.Update(ctx, func(tx Tx) error {
		record, found, err := records.Get[sweepRecord](tx, kindSweep, key)
		if err != nil || !found || record.Outcome == nil {
			return err
		}
		a, err := getAccount(tx, record.GrantID)
		if err != nil || a.Sweep != key {
			return err
		}
		a.Sweep = ""
		return putAccount(tx, record.GrantID, a)
	})
	if err != nil {
		return fmt.Errorf("store that sweep %s is recorded: %w", reference, err)
	}
	return nil
}
