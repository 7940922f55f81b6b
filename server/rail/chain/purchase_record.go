package chain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// purchaseRecord is a purchase from a seller outside of the service. It is written before
// any money moves.
type purchaseRecord struct {
	Fingerprint string         `json:"print"` // of the arguments
	Reference   string         `json:"reference"`
	MandateID   string         `json:"mandateId"`
	GrantID     common.Hash    `json:"grantId"`
	Owner       common.Address `json:"owner"`
	Account     common.Address `json:"account"`
	Payee       common.Address `json:"payee"`
	Amount      rail.Micros    `json:"amount"`
	Window      int64          `json:"window"` // seconds from the signature
	Nonce       common.Hash    `json:"nonce"`
	// Drawn is the part that was in the session account already.
	Drawn rail.Micros `json:"drawn"`
	// SignBy is when an unsigned purchase ends, in Unix seconds.
	SignBy int64 `json:"signBy"`
	// Signed is the signed transfer, and Since the newest block before it was signed.
	Signed *x402.Exact `json:"signed,omitempty"`
	Since  uint64      `json:"since,omitempty"`
	// Funded is what the router has moved for the purchase, once it has ended.
	Funded  rail.Micros   `json:"funded,omitempty"`
	Outcome *rail.Outcome `json:"outcome,omitempty"`
}

// missing returns the part that the router moves into the session account.
func (p purchaseRecord) missing() rail.Micros { return p.Amount - p.Drawn }

func (p purchaseRecord) result() rail.Purchased {
	result := rail.Purchased{Outcome: rail.Outcome{Status: rail.Pending}, Signed: p.Signed}
	if p.Outcome != nil {
		result.Outcome, result.Funded = *p.Outcome, p.Funded
	}
	return result
}

// transfer returns what was signed.
func (p purchaseRecord) transfer() (signedTransfer, error) {
	t, err := evm.ParseAuthorization(p.Signed.Authorization)
	return signedTransfer{TransferAuthorization: t}, err
}

// funding returns the router's charge that moves what is missing into the session account.
func (p purchaseRecord) funding() rail.Charge {
	return rail.Charge{
		Reference: rail.FundingReference(p.Reference), MandateID: p.MandateID, MerchantID: "session:" + p.MandateID, PayTo: p.Account.Hex(),
		Amount: p.missing(), Instrument: rail.Instrument{Rail: rail.Chain, Customer: p.Owner.Hex(), Method: p.GrantID.Hex()},
	}
}

// openPurchase stores a purchase, which takes the free money of the session account first,
// unless another call has stored it.
func (r *Rail) openPurchase(ctx context.Context, key string, fresh purchaseRecord) (record purchaseRecord, err error) {
	err = r.config.Store.Update(ctx, func(tx Tx) error {
		var found bool
		if record, found, err = records.Get[purchaseRecord](tx, kindPurchase, key); err != nil || found {
			return err
		}
		record = fresh
		a, err := getAccount(tx, record.GrantID)
		if err != nil {
			return err
		}
		record.Account = a.Address
		if record.Outcome != nil {
			return records.Put(tx, kindPurchase, key, record)
		}
		if record, err = claimNonce(tx, key, record); err != nil || record.Outcome != nil {
			return errors.Join(err, records.Put(tx, kindPurchase, key, record))
		}
		record.Drawn = min(a.Free, record.Amount)
		if err := a.add(-record.Drawn, r.config.Clock()); err != nil {
			return err
		}
		if err := putAccount(tx, record.GrantID, a); err != nil {
			return err
		}
		return records.Put(tx, kindPurchase, key, record)
	})
	if err != nil {
		return record, fmt.Errorf("store purchase: %w", err)
	}
	failpoint.Hit(failpoint.PurchaseOpened)
	return record, nil
}

// claimNonce reserves the nonce of a purchase, so that the token makes its transfer and no
// other. A purchase with a nonce that another one has is refused.
func claimNonce(tx Tx, key string, record purchaseRecord) (purchaseRecord, error) {
	nonce := authorizationKey(record.Account, record.Nonce)
	other, taken, err := records.Get[string](tx, kindPurchaseNonce, nonce)
	switch {
	case err != nil:
		return record, err
	case taken && other != key:
		outcome := refused(rail.Unavailable)
		record.Outcome = &outcome
		return record, nil
	}
	return record, records.Put(tx, kindPurchaseNonce, nonce, key)
}

// changePurchase runs a change of a purchase that has not ended, and stores it. A purchase
// that has ended is returned as it is.
func (r *Rail) changePurchase(ctx context.Context, key string, change func(Tx, *purchaseRecord) error) (record purchaseRecord, err error) {
	err = r.config.Store.Update(ctx, func(tx Tx) error {
		if record, err = getPurchase(tx, key); err != nil || record.Outcome != nil {
			return err
		}
		if err := change(tx, &record); err != nil {
			return err
		}
		return records.Put(tx, kindPurchase, key, record)
	})
	if err != nil {
		return record, fmt.Errorf("store purchase: %w", err)
	}
	return record, nil
}

// getPurchase returns a purchase that must exist.
func getPurchase(tx Tx, key string) (purchaseRecord, error) {
	record, found, err := records.Get[purchaseRecord](tx, kindPurchase, key)
	if err == nil && !found {
		err = fmt.Errorf("purchase %s: %w", key, records.ErrDamaged)
	}
	return record, err
}

// rest returns what a purchase that has ended left in the session account.
func (p purchaseRecord) rest() rail.Micros {
	if p.Outcome == nil || p.Outcome.Status == rail.Succeeded {
		return 0
	}
	return p.Drawn + p.Funded
}

// endPurchase stores the outcome of a purchase, and what the router has moved for it. It
// changes nothing if the purchase was signed meanwhile.
func (r *Rail) endPurchase(ctx context.Context, key string, outcome rail.Outcome, funded rail.Micros, signed bool) (purchaseRecord, error) {
	record, err := r.changePurchase(ctx, key, func(tx Tx, p *purchaseRecord) error {
		if signed != (p.Signed != nil) {
			return nil
		}
		if p.Outcome, p.Funded = &outcome, funded; p.rest() == 0 {
			return nil
		}
		return records.Put(tx, kindEnded, key, p.Reference)
	})
	if err == nil {
		failpoint.Hit(failpoint.PurchaseEnded)
	}
	return record, err
}

// PurchaseRecorded implements [rail.Buyer].
func (r *Rail) PurchaseRecorded(ctx context.Context, reference string) error {
	key, _ := keyOf(reference)
	err := r.config.Store.Update(ctx, func(tx Tx) error {
		if _, waits, err := records.Get[string](tx, kindEnded, key); err != nil || !waits {
			return err
		}
		record, err := getPurchase(tx, key)
		if err != nil {
			return err
		}
		a, err := getAccount(tx, record.GrantID)
		if err != nil {
			return err
		}
		if err := a.add(record.rest(), r.config.Clock()); err != nil {
			return err
		}
		if err := putAccount(tx, record.GrantID, a); err != nil {
			return err
		}
		return tx.Delete(kindEnded, key)
	})
	if err != nil {
		return fmt.Errorf("free the rest of purchase %s: %w", reference, err)
	}
	return nil
}

// EndedPurchases implements [rail.Buyer].
func (r *Rail) EndedPurchases(ctx context.Context, after string, limit int) (references []string, next string, err error) {
	list, err := records.List(ctx, r.config.Store, kindEnded, after, limit)
	if err != nil {
		return nil, "", fmt.Errorf("list ended purchases: %w", err)
	}
	for _, one := range list {
		reference, err := records.Decode[string](kindEnded, one)
		if err != nil {
			return nil, "", err
		}
		references = append(references, reference)
	}
	if len(list) == limit && limit > 0 {
		next = list[limit-1].Key
	}
	return references, next, nil
}

// refuseUnknown stores that a purchase was refused, unless there is a record of it.
func (r *Rail) refuseUnknown(ctx context.Context, key, reference string) (record purchaseRecord, err error) {
	err = r.config.Store.Update(ctx, func(tx Tx) error {
		var found bool
		if record, found, err = records.Get[purchaseRecord](tx, kindPurchase, key); err != nil || found {
			return err
		}
		outcome := refused(rail.Unavailable)
		record = purchaseRecord{Reference: reference, Outcome: &outcome}
		return records.Put(tx, kindPurchase, key, record)
	})
	if err != nil {
		return record, fmt.Errorf("store refusal of purchase: %w", err)
	}
	return record, nil
}

// errTooLate reports a purchase that was not signed in time, and errGrantEnded one whose
// grant has ended meanwhile.
var (
	errTooLate    = errors.New("chain: the purchase may not be signed any more")
	errGrantEnded = errors.New("chain: the grant of the purchase has ended")
)

// storeSigned stores the signed transfer of a purchase, unless it has one.
func (r *Rail) storeSigned(ctx context.Context, key string, signed x402.Exact, since uint64) (purchaseRecord, error) {
	record, err := r.changePurchase(ctx, key, func(tx Tx, p *purchaseRecord) error {
		grant, _, err := records.Get[grantRecord](tx, kindGrant, p.GrantID.Hex())
		switch {
		case err != nil || p.Signed != nil:
			return err
		case !grant.serves(p.MandateID):
			return errGrantEnded
		case !r.config.Clock().Before(time.Unix(p.SignBy, 0)):
			return errTooLate
		}
		p.Signed, p.Since = &signed, since
		return nil
	})
	if err == nil {
		failpoint.Hit(failpoint.PurchaseSigned)
	}
	return record, err
}
