package chain

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// refundRecord is a refund that was opened or refused.
type refundRecord struct {
	Fingerprint   string             `json:"print"` // of the arguments
	Reference     string             `json:"reference"`
	Charge        string             `json:"charge"` // key of the charge
	Amount        rail.Micros        `json:"amount"`
	Authorization x402.Authorization `json:"authorization"`
	Since         uint64             `json:"since"` // the newest block when the refund was opened
	Outcome       *rail.Outcome      `json:"outcome,omitempty"`
}

// transfer returns what the payee signs.
func (r refundRecord) transfer() (evm.TransferAuthorization, error) {
	return evm.ParseAuthorization(r.Authorization)
}

// signedWith returns the refund's authorization with a signature.
func (r refundRecord) signedWith(signature []byte) (authorization, error) {
	t, err := r.transfer()
	if err != nil {
		return authorization{}, err
	}
	id := fingerprint("refund", r.Reference)
	return authorization{
		TransferAuthorization: t, wire: t.Wire(), signature: signature, resource: id, caller: id, key: authorizationKey(t.From, t.Nonce),
	}, nil
}

// openRefund records a refund for the payee to sign, or its refusal, unless another call
// recorded it first.
func (r *Rail) openRefund(ctx context.Context, key, asked string, q rail.Refund) (refundRecord, error) {
	header, err := r.chain.Newest(ctx)
	if err != nil {
		return refundRecord{}, err
	}
	var nonce common.Hash
	copy(nonce[:], refundNonce)
	if _, err := rand.Read(nonce[len(refundNonce):]); err != nil {
		return refundRecord{}, fmt.Errorf("make a nonce: %w", err)
	}
	before := max(header.Time, uint64(max(r.config.Clock().Unix(), 0))) + uint64(refundLifetime.Seconds())
	chargeKey, _ := keyOf(q.Charge)
	var record refundRecord
	err = r.config.Store.Update(ctx, func(tx Tx) error {
		now, found, err := records.Get[refundRecord](tx, kindRefund, key)
		if record = now; err != nil || found {
			return err
		}
		record = refundRecord{Fingerprint: asked, Reference: q.Reference, Charge: chargeKey, Amount: q.Amount, Since: header.Number.Uint64()}
		c, sum, able, err := r.refundable(tx, chargeKey, q.Amount)
		if err != nil {
			return err
		}
		if !able {
			outcome := refused(rail.Unavailable)
			record.Outcome = &outcome
			return records.Put(tx, kindRefund, key, record)
		}
		record.Authorization = evm.TransferAuthorization{
			From: c.Charge.Payee, To: c.Owner, Value: evm.Uint64(uint64(q.Amount)), ValidBefore: evm.Uint64(before), Nonce: nonce,
		}.Wire()
		if err := records.Put(tx, kindRefunded, chargeKey, sum+q.Amount); err != nil {
			return err
		}
		return records.Put(tx, kindRefund, key, record)
	})
	if err != nil {
		return refundRecord{}, fmt.Errorf("store refund: %w", err)
	}
	failpoint.Hit(failpoint.RefundProposed)
	return record, nil
}

// refundable reports whether an amount of a charge can be given back, and returns the charge
// and the sum of its refunds.
func (r *Rail) refundable(tx Tx, chargeKey string, amount rail.Micros) (c chargeRecord, sum rail.Micros, able bool, err error) {
	c, found, err := records.Get[chargeRecord](tx, kindCharge, chargeKey)
	if err != nil || !found {
		return c, 0, false, err
	}
	if sum, _, err = records.Get[rail.Micros](tx, kindRefunded, chargeKey); err != nil {
		return c, 0, false, err
	}
	able = c.Outcome != nil && c.Outcome.Status == rail.Succeeded && !c.Undone && c.Owner != c.Charge.Payee &&
		amount >= r.config.Authorizations.Least && amount <= rail.Micros(c.Charge.Amount)-sum
	return c, sum, able, nil
}

// storeRefundOutcome records an outcome, unless the refund has one, and returns the recorded
// one. A refusal releases the amount for other refunds of the charge.
func (r *Rail) storeRefundOutcome(ctx context.Context, key string, decided rail.Outcome) (outcome rail.Outcome, err error) {
	err = r.config.Store.Update(ctx, func(tx Tx) error {
		record, found, err := records.Get[refundRecord](tx, kindRefund, key)
		if err == nil && !found {
			err = fmt.Errorf("refund %s: %w", key, records.ErrDamaged)
		}
		if err != nil {
			return err
		}
		if record.Outcome != nil {
			outcome = *record.Outcome
			return nil
		}
		outcome = decided
		record.Outcome = &outcome
		if outcome.Status == rail.Refused {
			sum, _, err := records.Get[rail.Micros](tx, kindRefunded, record.Charge)
			if err != nil {
				return err
			}
			if err := records.Put(tx, kindRefunded, record.Charge, sum-record.Amount); err != nil {
				return err
			}
		}
		return records.Put(tx, kindRefund, key, record)
	})
	if err != nil {
		return rail.Outcome{}, fmt.Errorf("store outcome: %w", err)
	}
	failpoint.Hit(failpoint.RefundConcluded)
	return outcome, nil
}
