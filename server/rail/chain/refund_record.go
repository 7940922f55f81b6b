package chain

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

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
func (r refundRecord) transfer() (signedTransfer, error) {
	t, err := evm.ParseAuthorization(r.Authorization)
	return signedTransfer{TransferAuthorization: t}, err
}

// signedWith returns the refund's authorization with a signature.
func (r refundRecord) signedWith(signature []byte) (authorization, error) {
	t, err := r.transfer()
	if err != nil {
		return authorization{}, err
	}
	id := fingerprint("refund", r.Reference)
	return authorization{
		signedTransfer: t, wire: t.Wire(), signature: signature, resource: id, caller: id, key: authorizationKey(t.From, t.Nonce),
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
	copy(nonce[:], evm.RefundNonce)
	if _, err := rand.Read(nonce[len(evm.RefundNonce):]); err != nil {
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
		c, sum, err := refundableOf(tx, q.Charge)
		if err != nil {
			return err
		}
		if c == nil || q.Amount < r.config.Authorizations.Least || q.Amount > c.amount-sum {
			outcome := refused(rail.Unavailable)
			record.Outcome = &outcome
			return records.Put(tx, kindRefund, key, record)
		}
		record.Authorization = evm.TransferAuthorization{
			From: c.payee, To: c.payer, Value: evm.Uint64(uint64(q.Amount)), ValidBefore: evm.Uint64(before), Nonce: nonce,
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

// refundablePayment is a payment that can be given back.
type refundablePayment struct {
	payer, payee common.Address
	amount       rail.Micros
}

// refundableOf returns the payment of a charge's reference, with the sum of its refunds. It
// returns nil if there is nothing to give back.
func refundableOf(tx Tx, reference string) (*refundablePayment, rail.Micros, error) {
	chargeKey, _ := keyOf(reference)
	c, found, err := records.Get[chargeRecord](tx, kindCharge, chargeKey)
	if err != nil {
		return nil, 0, err
	}
	var p *refundablePayment
	switch {
	case !found:
		p, err = refundableTransfer(tx, strings.TrimSuffix(reference, rail.Reference("", rail.Chain)))
	case c.Outcome != nil && c.Outcome.Status == rail.Succeeded && !c.Undone:
		p = &refundablePayment{payer: c.Owner, payee: c.Charge.Payee, amount: rail.Micros(c.Charge.Amount)}
	}
	if err != nil || p == nil || p.payer == p.payee {
		return nil, 0, err
	}
	sum, _, err := records.Get[rail.Micros](tx, kindRefunded, chargeKey)
	return p, sum, err
}

// refundableTransfer is refundableOf for a payment that is a signed transfer.
func refundableTransfer(tx Tx, chargeID string) (*refundablePayment, error) {
	key, found, err := records.Get[string](tx, kindTransferCharge, chargeID)
	if err != nil || !found {
		return nil, err
	}
	record, found, err := records.Get[authorizationRecord](tx, kindAuthorization, key)
	if err != nil || !found || record.outcome().Status != rail.Succeeded {
		return nil, err
	}
	t, err := record.transfer()
	if err != nil || !t.Value.Big().IsInt64() {
		return nil, err
	}
	return &refundablePayment{payer: t.From, payee: t.To, amount: rail.Micros(t.Value.Big().Int64())}, nil
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
