package chain

import (
	"context"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// A refund is a transfer authorization (EIP-3009) from the wallet that a charge paid to, back
// to the wallet that paid. The rail proposes it, the payee signs it, and the relayer sends it.
// The chain alone decides a refund: the token makes each authorization once, from any sender,
// and none after its window.

// refundLifetime is how long a payee may take to sign.
const refundLifetime = 24 * time.Hour

var _ rail.SignedRefunder = (*Rail)(nil)

// Refund opens a refund at its first call, which the payee must sign within a day, and returns
// the outcome. It returns Pending until the signed transfer is final. It refuses as
// [rail.Unavailable] a refund of a charge that has not succeeded, of more than is left of
// it, or of less than Authorizations.Least, and as [rail.Expired] one that was not signed
// in time.
//
// Refund returns [rail.ErrReferenceReused] if charge or amount differ from the first call's.
// After any other error the outcome is unknown.
func (r *Rail) Refund(ctx context.Context, q rail.Refund) (rail.Outcome, error) {
	outcome, err := r.refund(ctx, q)
	if err != nil {
		return rail.Outcome{}, fmt.Errorf("refund %s on chain: %w", q.Reference, err)
	}
	return outcome, nil
}

func (r *Rail) refund(ctx context.Context, q rail.Refund) (rail.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return rail.Outcome{}, err
	}
	key, _ := keyOf(q.Reference)
	asked := fingerprint(q.Charge, q.Amount)
	record, found, err := records.Load[refundRecord](ctx, r.config.Store, kindRefund, key)
	if err == nil && !found {
		record, err = r.openRefund(ctx, key, asked, q)
	}
	if err != nil {
		return rail.Outcome{}, err
	}
	if record.Fingerprint != asked {
		return rail.Outcome{}, rail.ErrReferenceReused
	}
	return r.followRefund(ctx, key, record)
}

// LookupRefund returns the outcome of a refund, [rail.Unseen] if there is no record of it.
// After an error the outcome is unknown.
func (r *Rail) LookupRefund(ctx context.Context, reference string) (rail.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return rail.Outcome{}, err
	}
	key, _ := keyOf(reference)
	record, found, err := records.Load[refundRecord](ctx, r.config.Store, kindRefund, key)
	if err == nil && !found {
		return rail.Outcome{Status: rail.Unseen}, nil
	}
	outcome := rail.Outcome{}
	if err == nil {
		outcome, err = r.followRefund(ctx, key, record)
	}
	if err != nil {
		return rail.Outcome{}, fmt.Errorf("look up refund %s on chain: %w", reference, err)
	}
	return outcome, nil
}

// RefundProposal returns the transfer that the payee's wallet must sign.
func (r *Rail) RefundProposal(ctx context.Context, reference string) (rail.RefundProposal, bool, error) {
	key, _ := keyOf(reference)
	record, found, err := records.Load[refundRecord](ctx, r.config.Store, kindRefund, key)
	if err != nil || !found || record.Outcome != nil {
		return rail.RefundProposal{}, false, err
	}
	t, err := record.transfer()
	if err != nil {
		return rail.RefundProposal{}, false, err
	}
	_, submitted, err := records.Load[authorizationRecord](ctx, r.config.Store, kindAuthorization, authorizationKey(t.From, t.Nonce))
	if err != nil || submitted {
		return rail.RefundProposal{}, false, err
	}
	return rail.RefundProposal{
		Signer: t.From.Hex(), TypedData: evm.TypedData(r.tokenDomain, t), ExpiresAt: time.Unix(t.ValidBefore.Big().Int64(), 0).UTC(),
	}, true, nil
}

// SignRefund sends a refund that the payee's wallet signed, and waits for the outcome up to
// Config.Wait. Contract wallets verify their own signatures (ERC-1271).
//
// It returns [rail.ErrNoProposal] if no refund has the reference, [rail.ErrSignature] if the
// wallet did not sign, and a [*rail.RefusedError] if the transfer would fail now. Then nothing
// was stored or sent. After any other error the outcome is unknown.
func (r *Rail) SignRefund(ctx context.Context, reference, signature string) (rail.Outcome, error) {
	outcome, err := r.signRefund(ctx, reference, signature)
	if err != nil {
		return rail.Outcome{}, fmt.Errorf("sign refund %s on chain: %w", reference, err)
	}
	return outcome, nil
}

func (r *Rail) signRefund(ctx context.Context, reference, signature string) (rail.Outcome, error) {
	until := time.Now().Add(r.config.Wait)
	key, _ := keyOf(reference)
	record, found, err := records.Load[refundRecord](ctx, r.config.Store, kindRefund, key)
	if err == nil && !found {
		err = rail.ErrNoProposal
	}
	if err != nil {
		return rail.Outcome{}, err
	}
	signed, err := hexutil.Decode(signature)
	if err != nil || len(signed) == 0 {
		return rail.Outcome{}, rail.ErrSignature
	}
	if len(signed) == evm.SignatureSize && signed[64] < 2 { // as some wallets write it
		signed[64] += 27
	}
	outcome, err := r.followRefund(ctx, key, record)
	if err != nil || outcome.Status != rail.Pending || outcome.TxHash != "" {
		return outcome, err
	}
	a, err := record.signedWith(signed)
	if err != nil {
		return rail.Outcome{}, err
	}
	if _, err := r.findOrSubmit(ctx, a); err != nil {
		return r.unsignedOutcome(ctx, key, record, err)
	}
	return r.awaitRefund(ctx, key, record, until)
}
