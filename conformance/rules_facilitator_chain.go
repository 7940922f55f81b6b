package conformance

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// conformCalls wraps the signature of an account: its factory is the token, and the call
// approves a random spender. If the relayer makes the call, the token logs the approval.
func conformCalls(ctx context.Context, b *bench) verdict {
	spender := stranger()
	call, err := hex.DecodeString("095ea7b3" + strings.Repeat("0", 24) + strings.ToLower(spender[2:]) + strings.Repeat("0", 63) + "7")
	if err != nil {
		return skip("%v", err)
	}
	t, err := b.payment(ctx, b.cfg.Wallet, nil)
	if err != nil {
		return skip("sign: %v", err)
	}
	inner, err := hex.DecodeString(strings.TrimPrefix(t.exact.Signature, "0x"))
	if err == nil {
		t.exact.Signature, err = wrap(b.asset.Address, call, inner)
	}
	if err != nil {
		return skip("%v", err)
	}
	b.signed += testMicros
	r := b.settle(ctx, t)
	if r.err != nil {
		return warn("a signature with a factory was not answered")
	}
	if b.cfg.Chain == nil {
		if r.ok {
			return warn("a signature with an unknown factory was settled; without access to the chain it is not known whether the factory was called")
		}
		return pass("refused, %s", r)
	}
	called, err := b.cfg.Chain.Approved(ctx, b.asset.Address, spender)
	switch {
	case err != nil:
		return skip("read the chain: %v", err)
	case called:
		return fail("the relayer made the call that the signature names")
	}
	return pass("%s", r)
}

// wrap returns an ERC-6492 signature.
func wrap(factory string, call, inner []byte) (string, error) {
	address, err := hex.DecodeString(factory[2:])
	if err != nil {
		return "", err
	}
	w := evm.Wrapped{FactoryCall: call, Signature: inner}
	copy(w.Factory[:], address)
	return "0x" + hex.EncodeToString(w.Wrap()), nil
}

func conformSettled(ctx context.Context, b *bench) verdict {
	t, err := b.payment(ctx, b.cfg.Wallet, nil)
	if err != nil {
		return skip("sign: %v", err)
	}
	b.signed += testMicros
	r := b.settle(ctx, t)
	switch {
	case !r.ok:
		return fail("an honest payment was not settled: %s", r)
	case !x402.IsTransactionHash(r.transaction):
		return fail("transaction is %s", quote(r.transaction))
	case b.cfg.Chain == nil:
		b.settled += testMicros
		return warn("the chain was not asked for transaction %s: give its JSON-RPC address", r.transaction)
	}
	found, err := b.cfg.Chain.Transferred(ctx, r.transaction, b.asset.Address, t.exact.Authorization)
	switch {
	case err != nil:
		return skip("read the chain: %v", err)
	case !found:
		return fail("transaction %s has no such transfer", r.transaction)
	}
	b.settled += testMicros
	return pass("transaction %s", r.transaction)
}

func conformLifted(ctx context.Context, b *bench) verdict {
	if b.cfg.Chain == nil {
		return skip("needs the chain's JSON-RPC address")
	}
	unknown, err := b.payment(ctx, b.cfg.Wallet, nil)
	if err != nil {
		return skip("sign: %v", err)
	}
	b.signed += testMicros
	if _, err := b.cfg.Chain.Broadcast(ctx, b.asset.Address, unknown.exact); err != nil {
		return skip("send a transaction: %v", err)
	}
	if found := b.settle(ctx, unknown).refusal(); found != "" {
		return fail("a transfer that was on the chain before the facilitator knew it %s", found)
	}
	known, err := b.payment(ctx, b.cfg.Wallet, nil)
	if err != nil {
		return skip("sign: %v", err)
	}
	b.signed += testMicros
	if r := b.verify(ctx, known); !r.ok {
		return fail("an honest payment is not valid: %s", r)
	}
	transaction, err := b.cfg.Chain.Broadcast(ctx, b.asset.Address, known.exact)
	if err != nil {
		return skip("send a transaction: %v", err)
	}
	r := b.settle(ctx, known)
	switch {
	case !r.ok:
		return warn("a payment that others sent after it was verified is lost to the payer: %s", r)
	case !strings.EqualFold(r.transaction, transaction):
		return fail("the settlement names %s, the transfer is %s", quote(r.transaction), transaction)
	}
	b.settled += testMicros
	return pass("")
}
