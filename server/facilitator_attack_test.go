package server_test

import (
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// attempt is one payment that an attacker puts together: first what is signed,
// then for which domain, then what is sent.
type attempt struct {
	order  evm.TransferAuthorization
	domain evm.Domain
	signer account
	exact  x402.Exact
	amount string
	body   map[string]any
}

// attack spoils an attempt at one or several of its stages.
type attack struct {
	name    string
	reason  string
	order   func(now uint64, a *attempt)
	exact   func(t *testing.T, a *attempt)
	demands func(demand map[string]any) // each set of requirements in the body
	body    func(body map[string]any)
	only    int // a version; zero for both
}

func (c *chainside) attempt(t *testing.T, version int, from account, k attack) *attempt {
	t.Helper()
	now := uint64(c.Clock.Now().Unix())
	a := &attempt{domain: tokenDomain(), signer: from, amount: "10000", order: evm.TransferAuthorization{
		From: from.address, To: common.HexToAddress(c.payee), Value: evm.Uint64(10_000), ValidBefore: evm.Uint64(now + 600),
	}}
	_, _ = rand.Read(a.order.Nonce[:]) // never fails
	if k.order != nil {
		k.order(now, a)
	}
	a.exact = a.signer.sign(t, a.domain, a.order)
	if k.exact != nil {
		k.exact(t, a)
	}
	a.body = c.requestOf(version, a.exact, a.amount)
	if k.demands != nil {
		demand(a.body, version, k.demands)
	}
	if k.body != nil {
		k.body(a.body)
	}
	return a
}

// demand changes what is required, and what the payer says to have accepted.
func demand(body map[string]any, version int, change func(map[string]any)) {
	change(body["paymentRequirements"].(map[string]any))
	payload := body["paymentPayload"].(map[string]any)
	if version == x402.Version2 {
		change(payload["accepted"].(map[string]any))
		return
	}
	change(payload)
	for name := range payload { // what version 1's payload does not have
		if name != "x402Version" && name != "scheme" && name != "network" && name != "payload" {
			delete(payload, name)
		}
	}
}

func put(name string, value any) func(map[string]any) {
	return func(m map[string]any) { m[name] = value }
}

// wire changes what is sent after it was signed.
func wire(change func(*x402.Authorization)) func(*testing.T, *attempt) {
	return func(_ *testing.T, a *attempt) { change(&a.exact.Authorization) }
}

const (
	badSignature = "invalid_exact_evm_payload_signature"
	badWindow    = "invalid_exact_evm_payload_authorization_valid_before"
	badRecipient = "invalid_exact_evm_payload_recipient_mismatch"
	badDemand    = "invalid_payment_requirements"
	badValue     = "invalid_exact_evm_payload_authorization_value"
	dust         = "invalid_exact_evm_payload_authorization_value_too_low"
)

// attacks are those that every kind of payer may try.
func attacks() []attack {
	other := devchain.Payee(7).Address
	until := func(seconds int64) func(uint64, *attempt) {
		return func(now uint64, a *attempt) { a.order.ValidBefore = evm.Uint64(uint64(int64(now) + seconds)) }
	}
	worth := func(value uint64) func(uint64, *attempt) {
		return func(_ uint64, a *attempt) { a.order.Value, a.amount = evm.Uint64(value), fmt.Sprint(value) }
	}
	return []attack{
		{name: "expired", reason: badWindow, order: until(-1)},
		{name: "expires in a second", reason: badWindow, order: until(1)},
		{name: "expires before it can land", reason: badWindow, order: until(11)},
		{name: "not valid yet", reason: "invalid_exact_evm_payload_authorization_valid_after", order: func(now uint64, a *attempt) { a.order.ValidAfter = evm.Uint64(now + 120) }},
		{name: "window that never opens", reason: badWindow, order: func(now uint64, a *attempt) {
			a.order.ValidAfter, a.order.ValidBefore = evm.Uint64(now-5), evm.Uint64(now-10)
		}},
		{name: "nothing", reason: dust, order: worth(0)},
		{name: "dust", reason: dust, order: worth(999)},
		{name: "more than the payer has", reason: "insufficient_funds", order: worth(2 * devchain.WalletMicros)},
		{name: "more than there is", reason: "insufficient_funds", order: func(_ uint64, a *attempt) {
			for i := range a.order.Value {
				a.order.Value[i] = 0xff
			}
			a.amount = a.order.Value.String()
		}},
		{name: "less than the price", reason: badValue, order: func(_ uint64, a *attempt) { a.order.Value = evm.Uint64(9_999) }},
		{name: "more than the price", reason: badValue, only: 2, order: func(_ uint64, a *attempt) { a.order.Value = evm.Uint64(10_001) }},
		{name: "signed for another payee", reason: badRecipient, order: func(_ uint64, a *attempt) { a.order.To = other }},
		{name: "paid to nobody", reason: badRecipient, order: func(_ uint64, a *attempt) { a.order.To = common.Address{} }, demands: put("payTo", common.Address{}.Hex())},
		{name: "signed for the main network", reason: badSignature, order: func(_ uint64, a *attempt) { a.domain.ChainID = 8453 }},
		{name: "signed for another token", reason: badSignature, order: func(_ uint64, a *attempt) { a.domain.Contract = other }},
		{name: "signed under another name", reason: badSignature, order: func(_ uint64, a *attempt) { a.domain.Name = "USD Coin" }},
		{name: "signed under another version", reason: badSignature, order: func(_ uint64, a *attempt) { a.domain.Version = "1" }},
		{name: "signed by another key", reason: badSignature, order: func(_ uint64, a *attempt) { a.signer.key = crook().Key() }},
		{name: "amount raised", reason: badSignature, exact: func(_ *testing.T, a *attempt) { a.exact.Authorization.Value, a.amount = "20000", "20000" }},
		{name: "nonce changed", reason: badSignature, exact: wire(func(w *x402.Authorization) { w.Nonce = common.Hash{1}.Hex() })},
		{name: "window prolonged", reason: badSignature, exact: wire(func(w *x402.Authorization) { w.ValidBefore += "0" })},
		{name: "window opened early", reason: badSignature, exact: wire(func(w *x402.Authorization) { w.ValidAfter = "1" })},
		{name: "somebody else's money", reason: badSignature, exact: wire(func(w *x402.Authorization) { w.From = devchain.Wallets()[5].Address.Hex() })},
		{name: "the token's own money", reason: badSignature, exact: wire(func(w *x402.Authorization) { w.From = devchain.USDC().Hex() })},
		{name: "signature of zeros", reason: badSignature, exact: func(_ *testing.T, a *attempt) { a.exact = a.signer.seal(a.order, make([]byte, 65)) }},
		{name: "signature cut off", reason: badSignature, exact: func(t *testing.T, a *attempt) {
			signature, err := evm.Sign(evm.Digest(a.domain.Separator(), a.order), a.signer.key)
			require.NoError(t, err)
			a.exact = a.signer.seal(a.order, signature[:64])
		}},
		{name: "signature in its other form", reason: badSignature, exact: func(t *testing.T, a *attempt) {
			signature, err := evm.Sign(evm.Digest(a.domain.Separator(), a.order), a.signer.key)
			require.NoError(t, err)
			a.exact = a.signer.seal(a.order, highS(signature))
		}},
		{name: "another scheme", reason: "unsupported_scheme", demands: put("scheme", "later")},
		{name: "another network", reason: "invalid_network", demands: put("network", "eip155:8453")},
		{name: "another token", reason: badDemand, demands: put("asset", other.Hex())},
		{name: "another token's name", reason: badDemand, demands: put("extra", map[string]any{"name": "USD Coin", "version": "2"})},
		{name: "another token's version", reason: badDemand, demands: put("extra", map[string]any{"name": "USDC", "version": "1"})},
		{name: "another payee asked for", reason: badRecipient, demands: put("payTo", other.Hex())},
		{name: "accepted for less", reason: badDemand, only: 2, body: func(b map[string]any) {
			b["paymentPayload"].(map[string]any)["accepted"].(map[string]any)["amount"] = "1"
		}},
		{name: "accepted for another payee", reason: badDemand, only: 2, body: func(b map[string]any) {
			b["paymentPayload"].(map[string]any)["accepted"].(map[string]any)["payTo"] = other.Hex()
		}},
		{name: "payload for another network", reason: "invalid_network", only: 1, body: func(b map[string]any) {
			b["paymentPayload"].(map[string]any)["network"] = "base"
		}},
	}
}

// TestFacilitatorAttacks: each attack, in both versions, by a key, by a wallet that
// is a contract, and by one whose signature says how to deploy it.
func TestFacilitatorAttacks(t *testing.T) {
	t.Parallel()
	c := besides(t, facilitate(t))
	payers := map[string]account{
		"key":     {address: c.payer.Address, key: c.payer.Key()},
		"ERC1271": c.wallet(t, devchain.Wallets()[1], true, false),
		"ERC6492": c.wallet(t, devchain.Wallets()[2], true, true),
	}
	t.Run("all", func(t *testing.T) {
		for kind, payer := range payers {
			for _, version := range []int{x402.Version1, x402.Version2} {
				for _, k := range attacks() {
					if k.only != 0 && k.only != version {
						continue
					}
					t.Run(fmt.Sprintf("%s v%d %s", k.name, version, kind), func(t *testing.T) {
						a := c.attempt(t, version, payer, k)
						verified, settled := c.ask(t, "verify", a.body), c.ask(t, "settle", a.body)
						require.Equal(t, []any{200, false, k.reason}, []any{verified.Status, verified.Body["isValid"], verified.Body["invalidReason"]}, verified.Text)
						require.Equal(t, []any{200, false, k.reason}, []any{settled.Status, settled.Body["success"], settled.Body["errorReason"]}, settled.Text)
						require.Empty(t, settled.Body["transaction"])
					})
				}
			}
		}
	})
	require.Zero(t, c.paid(t))
	for kind, payer := range payers { // and without an attack all of them pay
		for _, version := range []int{x402.Version1, x402.Version2} {
			a := c.attempt(t, version, payer, attack{})
			require.Equal(t, true, c.ask(t, "verify", a.body).Body["isValid"], kind)
			settled := c.ask(t, "settle", a.body)
			require.Equal(t, true, settled.Body["success"], "%s: %s", kind, settled.Text)
		}
	}
	require.EqualValues(t, 60_000, c.paid(t))
}
