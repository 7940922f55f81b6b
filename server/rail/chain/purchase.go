package chain

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// A purchase from a seller outside of the service goes through these steps, each of which is
// in the records before the next begins:
//
//	opened → funded → signed → settled by the seller
//	            ↘ ended unsigned  ↘ ended unused: the money is free again
//
// The seller's facilitator checks the balance of the session account, so the transfer is
// signed only when the funding is final.

// unsignedFor is how long a purchase may be signed after it was opened.
const unsignedFor = 2 * time.Minute

// longestWindow limits how long a seller may settle, whatever it asks for.
const longestWindow = 10 * time.Minute

var _ rail.Buyer = (*Rail)(nil)

// CheckPayee implements [rail.Buyer].
func (r *Rail) CheckPayee(payTo string) error {
	a, err := address(payTo)
	if err != nil || a == r.config.Router || a == r.config.Token.Address || a == r.relayer.Address() {
		return rail.ErrPayee
	}
	return nil
}

// Buy implements [rail.Buyer]. It refuses as [rail.Unavailable], and moves nothing, a purchase
// of a mandate that the instrument does not serve, from the payer itself or its session
// account, with a nonce that another purchase has, or of less than Authorizations.Least, whose
// gas costs more than it moves. A funding that the router refuses refuses the purchase with
// its reason.
func (r *Rail) Buy(ctx context.Context, p rail.Purchase) (rail.Purchased, error) {
	result, err := r.buy(ctx, p)
	if err != nil {
		return rail.Purchased{}, fmt.Errorf("buy %s on chain: %w", p.Reference, err)
	}
	return result, nil
}

func (r *Rail) buy(ctx context.Context, p rail.Purchase) (rail.Purchased, error) {
	if err := ctx.Err(); err != nil {
		return rail.Purchased{}, err
	}
	key, _ := keyOf(p.Reference)
	asked := fingerprint("purchase", p.MandateID, p.Instrument.Customer, p.Instrument.Method, p.PayTo, p.Amount, p.Window, p.Nonce)
	record, found, err := records.Load[purchaseRecord](ctx, r.config.Store, kindPurchase, key)
	if err == nil && !found {
		var refusal bool
		if record, refusal, err = r.beginPurchase(ctx, key, asked, p); refusal {
			return rail.Purchased{Outcome: refused(rail.Unavailable)}, nil
		}
	}
	if err != nil {
		return rail.Purchased{}, err
	}
	if record.Fingerprint != asked && record.Fingerprint != "" { // empty: refused before it began
		return rail.Purchased{}, rail.ErrReferenceReused
	}
	if record.Outcome != nil || record.Signed != nil {
		return r.followPurchase(ctx, key, record)
	}
	return r.fundAndSign(ctx, key, record, p)
}

// beginPurchase opens a purchase. It reports whether it was refused without a record, because
// there is no grant for it.
func (r *Rail) beginPurchase(ctx context.Context, key, asked string, p rail.Purchase) (purchaseRecord, bool, error) {
	payee, err := address(p.PayTo)
	grantID, ok := parseHash(p.Instrument.Method)
	if err != nil || !ok || p.Amount < r.config.Authorizations.Least || p.Window <= 0 || r.CheckPayee(p.PayTo) != nil {
		return purchaseRecord{}, true, nil //nolint:nilerr // a payee without a wallet
	}
	grant, found, err := records.Load[grantRecord](ctx, r.config.Store, kindGrant, grantID.Hex())
	if err != nil {
		return purchaseRecord{}, false, err
	}
	if !found || p.Instrument.Customer != grant.Grant.Owner.Hex() || !grant.serves(p.MandateID) {
		return purchaseRecord{}, true, nil
	}
	account, err := r.findOrMakeAccount(ctx, grantID, grant, p.MandateID)
	if err != nil {
		return purchaseRecord{}, false, err
	}
	fresh := purchaseRecord{
		Owner: grant.Grant.Owner, Fingerprint: asked, Reference: p.Reference, MandateID: p.MandateID, GrantID: grantID, Payee: payee, Amount: p.Amount,
		Window: int64(min(p.Window, longestWindow) / time.Second), SignBy: r.config.Clock().Add(unsignedFor).Unix(),
	}
	if p.Nonce == "" {
		_, _ = rand.Read(fresh.Nonce[:]) // never fails
	} else if fresh.Nonce, ok = parseHash(p.Nonce); !ok {
		return purchaseRecord{}, true, nil
	}
	if payee == account.Address || payee == grant.Grant.Owner {
		outcome := refused(rail.Unavailable)
		fresh.Outcome = &outcome
	}
	record, err := r.openPurchase(ctx, key, fresh)
	return record, false, err
}

// fundAndSign moves what is missing into the session account, and signs the transfer.
func (r *Rail) fundAndSign(ctx context.Context, key string, record purchaseRecord, p rail.Purchase) (rail.Purchased, error) {
	outcome, err := r.fund(ctx, record, p.NoWait)
	if err != nil {
		return rail.Purchased{}, err
	}
	switch outcome.Status {
	case rail.Succeeded:
	case rail.Refused:
		record, err = r.endPurchase(ctx, key, refused(outcome.Reason), 0, false)
		return record.result(), err
	default:
		return record.result(), nil
	}
	failpoint.Hit(failpoint.PurchaseFunded)
	signed, since, err := r.signPurchase(ctx, record)
	if err != nil {
		return rail.Purchased{}, err
	}
	stored, err := r.storeSigned(ctx, key, signed, since)
	switch {
	case errors.Is(err, errTooLate):
		return r.followPurchase(ctx, key, record)
	case errors.Is(err, errGrantEnded):
		stored, err = r.endPurchase(ctx, key, refused(rail.Unavailable), record.missing(), false)
	}
	return stored.result(), err
}

// fund moves what is missing, at most once. Nothing missing is a success.
func (r *Rail) fund(ctx context.Context, record purchaseRecord, noWait bool) (rail.Outcome, error) {
	if record.missing() == 0 {
		return rail.Outcome{Status: rail.Succeeded}, nil
	}
	c := record.funding()
	c.NoWait = noWait
	return r.charge(ctx, c)
}

// signPurchase signs the seller's transfer, with the window from now on by the later one of
// the chain's clock and the rail's. It returns the newest block as well.
func (r *Rail) signPurchase(ctx context.Context, record purchaseRecord) (signed x402.Exact, since uint64, err error) {
	header, err := r.chain.Newest(ctx)
	if err != nil {
		return signed, 0, err
	}
	a, found, err := records.Load[accountRecord](ctx, r.config.Store, kindAccount, record.GrantID.Hex())
	if err != nil || !found {
		return signed, 0, errors.Join(err, records.ErrDamaged)
	}
	// The later clock: the chain may be behind the rail, or ahead of it.
	now := max(header.Time, uint64(max(r.config.Clock().Unix(), 0)))
	t := evm.TransferAuthorization{
		From: a.Address, To: record.Payee, Value: evm.Uint64(uint64(record.Amount)),
		ValidBefore: evm.Uint64(now + uint64(record.Window)), Nonce: record.Nonce,
	}
	signature, err := r.signFromAccount(ctx, record.GrantID, a, t)
	if err != nil {
		return signed, 0, err
	}
	return x402.Exact{Signature: hexutil.Encode(signature), Authorization: t.Wire()}, header.Number.Uint64(), nil
}

// PurchaseOutcome implements [rail.Buyer].
func (r *Rail) PurchaseOutcome(ctx context.Context, reference string) (rail.Purchased, error) {
	key, _ := keyOf(reference)
	record, found, err := records.Load[purchaseRecord](ctx, r.config.Store, kindPurchase, key)
	if err == nil && !found {
		record, err = r.refuseUnknown(ctx, key, reference)
	}
	result := rail.Purchased{}
	if err == nil {
		result, err = r.followPurchase(ctx, key, record)
	}
	if err != nil {
		return rail.Purchased{}, fmt.Errorf("follow purchase %s on chain: %w", reference, err)
	}
	return result, nil
}

// followPurchase ends a purchase that the seller has settled, or can no longer settle, and
// one that was not signed in time.
func (r *Rail) followPurchase(ctx context.Context, key string, record purchaseRecord) (rail.Purchased, error) {
	switch {
	case record.Outcome != nil:
		return record.result(), nil
	case record.Signed == nil:
		return r.abandon(ctx, key, record)
	}
	t, err := record.transfer()
	if err != nil {
		return rail.Purchased{}, err
	}
	outcome, err := r.outcomeOfUse(ctx, t, record.Since)
	if err == nil && outcome.Reason == rail.Reverted { // the account's key signs no two transfers of a nonce, and cancels none
		err = fmt.Errorf("authorization of purchase %s was used for something else: %w", record.Reference, errContradiction)
	}
	if err != nil || outcome.Status == rail.Pending {
		return record.result(), err
	}
	record, err = r.endPurchase(ctx, key, outcome, record.missing(), true)
	return record.result(), err
}

// abandon ends a purchase that was not signed in time. First the funding gets an outcome: if
// it was not broadcast, a refusal, which stops a call that is about to broadcast it.
func (r *Rail) abandon(ctx context.Context, key string, record purchaseRecord) (rail.Purchased, error) {
	if r.config.Clock().Before(time.Unix(record.SignBy, 0)) {
		return record.result(), nil
	}
	funded := rail.Micros(0)
	if record.missing() > 0 {
		c := record.funding()
		fundingKey, _ := keyOf(c.Reference)
		none := chargeRecord{Reference: c.Reference, Owner: record.Owner, Fingerprint: chargeFingerprint(c, record.Account)}
		funding, err := r.refuseCharge(ctx, fundingKey, none, rail.Expired)
		if err != nil {
			return rail.Purchased{}, err
		}
		outcome, err := r.awaitCharge(ctx, fundingKey, funding, time.Time{})
		if err != nil || outcome.Status == rail.Pending {
			return record.result(), err
		}
		if outcome.Status == rail.Succeeded {
			funded = record.missing()
		}
	}
	record, err := r.endPurchase(ctx, key, refused(rail.Expired), funded, false)
	return record.result(), err
}
