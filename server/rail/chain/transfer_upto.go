package chain

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/internal/eth"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// A payment of x402's scheme upto is a permit: the payer lets this relayer alone move at
// most an amount to the payee through Permit2. The rail settles it once, for what
// the payee metered, with the records, reservations and relayer of exact authorizations.

// Upto has the addresses of the contracts of x402's scheme upto.
type Upto struct {
	// Permit2 is the address of Permit2. Default: that of every public chain.
	Permit2 common.Address
	// Proxy is the address of x402UptoPermit2Proxy. Default: that of every public chain.
	Proxy common.Address
}

func (u Upto) orDefault() Upto {
	return Upto{Permit2: cmp.Or(u.Permit2, evm.Permit2()), Proxy: cmp.Or(u.Proxy, evm.UptoProxy())}
}

// findUptoProxy finds out whether the chain has the contracts of the scheme upto.
func (r *Rail) findUptoProxy(ctx context.Context) error {
	permit2, err := eth.View(ctx, r.chain, r.config.Upto.Proxy, r.uptoProxy.PackPERMIT2(), func(answer []byte) (common.Address, error) {
		if len(answer) == 0 { // there is no contract
			return common.Address{}, nil
		}
		return r.uptoProxy.UnpackPERMIT2(answer)
	})
	var refused *eth.RevertError
	if err != nil && !errors.As(err, &refused) {
		return fmt.Errorf("read the proxy of the scheme upto: %w", err)
	}
	r.upto.Store(err == nil && permit2 == r.config.Upto.Permit2)
	return nil
}

// SettlesUpto reports whether the rail settles x402's scheme upto: it was started, and the
// chain has the scheme's contracts.
func (r *Rail) SettlesUpto() bool { return r.upto.Load() }

// VerifyUpto reports whether a payment of the scheme upto could be settled now for its whole
// amount. It reserves the amount until the payment is settled, canceled or expired, at most for
// an hour. Until then the payment can only be verified and settled for the same resource and
// idempotency key. It returns an error if the chain or the store does not answer.
func (r *Rail) VerifyUpto(ctx context.Context, u x402.Upto, q rail.SettleRequest) (x402.Verification, error) {
	a, err := parseUpto(u, u.Authorization.Permitted.Amount, q.Resource)
	a.verify, a.caller = true, callerOf(q)
	return r.verification(ctx, u.Authorization.From, a, err)
}

// SettleUpto settles a payment of the scheme upto for an amount in base units, like
// [Rail.SettleOnce]: one amount is settled, once. Zero is settled without a transaction, and
// ends the payment as any other amount does. Callers must make sure that the payee chose the
// amount.
func (r *Rail) SettleUpto(ctx context.Context, u x402.Upto, amount string, q rail.SettleRequest) (x402.Settlement, error) {
	a, err := parseUpto(u, amount, q.Resource)
	return r.settlement(ctx, u.Authorization.From, a, err, q)
}

// UptoSignedByKey reports whether the payer's own key signed a permit, like
// [Rail.SignedByKey].
func (r *Rail) UptoSignedByKey(u x402.Upto) bool {
	a, err := parseUpto(u, u.Authorization.Permitted.Amount, "")
	if err != nil || len(a.signature) != evm.SignatureSize {
		return false
	}
	by, err := evm.Recover(r.digest(a.signedTransfer), a.signature)
	return err == nil && by == a.From
}

// parseUpto returns the authorization of a part of a permit. Its window ends at the permit's
// deadline, exclusive.
func parseUpto(u x402.Upto, amount, resource string) (authorization, error) {
	if err := u.Validate(); err != nil {
		return authorization{}, err
	}
	p, err := evm.ParseUpto(u.Authorization)
	if err != nil {
		return authorization{}, err
	}
	value, err := evm.ParseUint256(amount)
	if err != nil {
		return authorization{}, fmt.Errorf("amount: %w", err)
	}
	signature, err := hex.DecodeString(strings.TrimPrefix(u.Signature, "0x"))
	if err != nil {
		return authorization{}, fmt.Errorf("signature: %w", err)
	}
	t := evm.TransferAuthorization{
		From: p.From, To: p.To, Value: value, ValidAfter: p.ValidAfter, ValidBefore: p.Deadline, Nonce: common.Hash(p.Nonce),
	}
	return authorization{
		signedTransfer: signedTransfer{t, &p}, wire: t.Wire(), signature: signature, resource: fingerprint(resource),
		key: uptoKey(p),
	}, nil
}

// uptoKey returns the key of a permit's records. It is no key of [authorizationKey].
func uptoKey(p evm.UptoPermit) string {
	return fingerprint("upto", p.From.Hex(), p.Nonce.String())
}

// waive records that a permit is settled for nothing, so that it is settled for nothing else
// afterwards.
func (r *Rail) waive(ctx context.Context, a authorization) (authorizationRecord, error) {
	record := authorizationRecord{
		Authorization: a.wire, Permit: a.permitWire(), Signature: hex.EncodeToString(a.signature), Resource: a.resource, Caller: a.caller,
		Waived: true,
	}
	if _, err := r.checkSigned(ctx, a); err != nil {
		return record, err
	}
	err := r.config.Store.Update(ctx, func(tx Tx) error {
		reserved, _, err := records.Get[reservations](tx, kindReserved, a.From.Hex())
		if err == nil {
			err = reserved.checkUse(a)
		}
		if err != nil {
			return err
		}
		return recordAuthorization(tx, a, &record)
	})
	if err != nil && !errors.Is(err, errRecorded) {
		return record, fmt.Errorf("store waived permit: %w", err)
	}
	return record, nil
}
