package conformance

import (
	"context"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/x402"
)

const scope = "X402SCOPE (USENIX Security 2026)"

func facilitatorRules() []Rule {
	rules := []Rule{
		{
			ID: "facilitator.proof", Title: "Each declared field matches what was signed", Source: "x402, scheme exact on EVM; EIP-712; " + scope,
			Remedy:  "Compare payee, amount, token, network and the token's domain with the signed authorization, and recover the signer.",
			conform: conformProof,
		},
		{
			ID: "facilitator.window", Title: "A payment outside its time window is refused", Source: "EIP-3009; " + scope,
			Remedy:  "Require a remaining validity that covers the settlement, at verify and again right before the transaction is sent.",
			conform: conformWindow,
		},
		{
			ID: "facilitator.funds", Title: "Empty, unfunded and twice promised payments are refused before they are sent", Source: "attacks on x402; " + scope,
			Remedy:  "Refuse zero and dust, read the balance, and reserve what is being settled for each payer.",
			conform: conformFunds,
		},
		{
			ID: "facilitator.calls", Title: "The relayer calls no address that a payload names", Source: "ERC-6492; " + scope,
			Remedy:  "Verify ERC-6492 signatures by eth_call only, and deploy wallets only by factories on your own list.",
			conform: conformCalls,
		},
		{
			ID: "facilitator.settled", Title: "Settled means that the chain has the exact transfer", Source: "x402 v2 §5.3; EIP-3009",
			Remedy:  "Answer success:true only after the receipt has the Transfer log with token, payer, payee and value.",
			conform: conformSettled,
		},
		{
			ID: "facilitator.lifted", Title: "A transfer that others sent pays only if it was known before", Source: "EIP-3009; attacks on x402",
			Remedy:  "Record authorizations at verify, and accept a used one only if it was recorded before the block that used it.",
			conform: conformLifted,
		},
		{
			ID: "facilitator.once", Title: "One authorization settles once", Source: "x402 v2 §10; measured with official middlewares",
			Remedy:  "Answer a repeated settlement with success:false and duplicate_settlement, unless it has the Idempotency-Key of the first.",
			conform: conformOnce,
		},
		{
			ID: "facilitator.limits", Title: "A flood is limited, and other callers are not", Source: scope,
			Remedy:  "Count what fails cheap checks against the caller's address, and believe X-Forwarded-For only from your own proxies.",
			conform: conformLimits,
		},
	}
	for i := range rules {
		rules[i].Pays = true
	}
	return rules
}

// refuses verifies and settles a payment, both of which must refuse it.
func (b *bench) refuses(ctx context.Context, name string, t test) (verdict, bool) {
	if found := b.verify(ctx, t).refusal(); found != "" {
		return fail("verify: %s %s", name, found), false
	}
	if found := b.settle(ctx, t).refusal(); found != "" {
		return fail("settle: %s %s", name, found), false
	}
	return verdict{}, true
}

// refusesEach is refuses for several payments of a cent.
func (b *bench) refusesEach(ctx context.Context, cases []forgery) verdict {
	for _, c := range cases {
		t, err := b.payment(ctx, b.cfg.Wallet, c.before)
		if err != nil {
			return skip("sign: %v", err)
		}
		if c.after != nil {
			c.after(&t)
		}
		if v, ok := b.refuses(ctx, c.name, t); !ok {
			return v
		}
	}
	return pass("%d payments refused", len(cases))
}

// forgery is a payment that must be refused: changed before or after it is signed.
type forgery struct {
	name          string
	before, after func(*test)
}

func conformProof(ctx context.Context, b *bench) verdict {
	return b.refusesEach(ctx, []forgery{
		{"a transfer to another payee", func(t *test) { t.exact.Authorization.To = t.exact.Authorization.From }, nil},
		{"a transfer of less", func(t *test) { t.exact.Authorization.Value = "9999" }, nil},
		{"less than the server asks, with accepted lowered", func(t *test) { t.exact.Authorization.Value, t.accepted.Amount = "9999", "9999" }, nil},
		{"another payee of the server, with accepted unchanged", nil, func(t *test) { t.required.PayTo = stranger() }},
		{"a transfer of another token", nil, func(t *test) { t.accepted.Asset = stranger(); t.required.Asset = t.accepted.Asset }},
		{"another name of the token's domain", nil, func(t *test) {
			t.accepted.Extra = map[string]any{x402.ExtraName: "USD Coin", x402.ExtraVersion: "2"}
			t.required.Extra = t.accepted.Extra
		}},
		{"a payment on another network", nil, func(t *test) { t.accepted.Network, t.required.Network = x402.NetworkBase, x402.NetworkBase }},
		{"a payer who did not sign", nil, func(t *test) { t.exact.Authorization.From = stranger() }},
		{"another nonce than the signed one", nil, func(t *test) { t.exact.Authorization.Nonce = "0x" + randomHex(32) }},
		{"a longer window than the signed one", nil, func(t *test) { t.exact.Authorization.ValidBefore += "0" }},
		{"a payment without a signature", nil, func(t *test) { unsigned(&t.exact) }},
	})
}

func conformWindow(ctx context.Context, b *bench) verdict {
	return b.refusesEach(ctx, []forgery{
		{"an expired payment", func(t *test) { t.exact.Authorization.ValidBefore = b.seconds(-time.Minute) }, nil},
		{"a payment that expires in three seconds", func(t *test) { t.exact.Authorization.ValidBefore = b.seconds(3 * time.Second) }, nil},
		{"a payment that is valid in an hour", func(t *test) {
			t.exact.Authorization.ValidAfter, t.exact.Authorization.ValidBefore = b.seconds(time.Hour), b.seconds(2*time.Hour)
		}, nil},
	})
}

func conformFunds(ctx context.Context, b *bench) verdict {
	of := func(amount string) func(*test) {
		return func(t *test) {
			t.exact.Authorization.Value, t.accepted.Amount, t.required.Amount = amount, amount, amount
		}
	}
	if v := b.refusesEach(ctx, []forgery{{"a payment of zero", of("0"), nil}, {"a payment of one millionth", of("1"), nil}}); v.status != Pass {
		return v
	}
	poor, err := newWallet()
	if err != nil {
		return skip("%v", err)
	}
	t, err := b.payment(ctx, poor, nil)
	if err != nil {
		return skip("sign: %v", err)
	}
	if v, ok := b.refuses(ctx, "a payment of an empty wallet", t); !ok {
		return v
	}
	// The wallet now gets one cent and promises it five times.
	if funding, v := b.settleOne(ctx, func(t *test) {
		t.exact.Authorization.To, t.accepted.PayTo, t.required.PayTo = poor.Address(), poor.Address(), poor.Address()
	}); !funding.ok {
		return v
	}
	const promises = 5
	replies := make([]reply, promises)
	var sent sync.WaitGroup
	for i := range replies {
		t, err := b.payment(ctx, poor, nil)
		if err != nil {
			return skip("sign: %v", err)
		}
		sent.Go(func() { replies[i] = b.settle(ctx, t) })
	}
	sent.Wait()
	settled, wasted := 0, 0
	for _, r := range replies {
		switch {
		case r.ok:
			settled++
		case x402.IsTransactionHash(r.transaction):
			wasted++
		}
	}
	switch {
	case settled != 1:
		return fail("%d of %d payments were settled with a balance for one", settled, promises)
	case wasted > 0:
		return fail("%d transactions were sent for payments without funds", wasted)
	}
	return pass("one of %d payments of one balance was sent", promises)
}

// settleOne settles an honest payment of a cent.
func (b *bench) settleOne(ctx context.Context, change func(*test)) (reply, verdict) {
	t, err := b.payment(ctx, b.cfg.Wallet, change)
	if err != nil {
		return reply{}, skip("sign: %v", err)
	}
	b.signed += testMicros
	r := b.settle(ctx, t)
	if !r.ok {
		return r, skip("an honest payment was not settled: %s", r)
	}
	b.settled += testMicros
	return r, verdict{}
}
