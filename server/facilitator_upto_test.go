package server_test

import (
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/devchain/devchaintest"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// facilitateUpto is a service whose merchant is the payee, and whose payer lets Permit2 move
// tokens.
func facilitateUpto(t *testing.T) facilitated {
	t.Helper()
	f := facilitate(t)
	f.payee = f.Merchant.PayTo
	devchaintest.AllowPermit2(t, f.Chain.RPCURL, f.payer)
	return f
}

func (f facilitated) credentials() http.Header {
	return http.Header{"X-Service-Merchant-Id": {f.Merchant.ID}, "X-Service-Api-Key": {f.Merchant.APIKey}}
}

// permit returns a permit of ten cents for the service's relayer, good for ten minutes.
func (f facilitated) permit() evm.UptoPermit {
	p := evm.UptoPermit{
		From: f.payer.Address, Token: devchain.USDC(), Amount: evm.Uint64(100_000), Spender: evm.UptoProxy(),
		Deadline: evm.Uint64(uint64(f.Clock.Now().Unix()) + 600), To: common.HexToAddress(f.payee), Facilitator: devchain.Relayer().Address,
	}
	_, _ = rand.Read(p.Nonce[:]) // never fails
	return p
}

// uptoOf returns a payment of the scheme upto, as a server sends it with an amount to settle.
func (f facilitated) uptoOf(t *testing.T, p evm.UptoPermit, amount string) map[string]any {
	t.Helper()
	accepted := map[string]any{
		"scheme": "upto", "network": f.Chain.Network, "amount": "100000", "asset": f.asset.Address, "payTo": f.payee, "maxTimeoutSeconds": 60,
		"extra": map[string]any{"name": f.asset.Name, "version": f.asset.Version, "assetTransferMethod": "permit2", "facilitatorAddress": devchain.Relayer().Address.Hex()},
	}
	asked := maps.Clone(accepted)
	asked["amount"] = amount
	return map[string]any{
		"x402Version": 2, "paymentRequirements": asked, "paymentPayload": map[string]any{
			"x402Version": 2, "resource": map[string]any{"url": sold}, "accepted": accepted, "payload": devchaintest.SignUpto(t, f.payer, p),
		},
	}
}

func (f facilitated) askUpto(t *testing.T, path string, request map[string]any, header http.Header, key ...string) answer {
	t.Helper()
	text, err := json.Marshal(request)
	require.NoError(t, err)
	header = header.Clone()
	if len(key) > 0 {
		header.Set("Idempotency-Key", key[0])
	}
	return f.askWith(t, path, string(text), header)
}

// TestUptoIsAChargeOfTheMerchant: for what was metered, and once.
func TestUptoIsAChargeOfTheMerchant(t *testing.T) {
	t.Parallel()
	f := facilitateUpto(t)
	resp, err := http.Get(f.URL + "/v1/x402/supported")
	require.NoError(t, err)
	defer resp.Body.Close()
	var supported map[string]any
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&supported))
	require.Contains(t, supported["kinds"], map[string]any{
		"x402Version": 2.0, "scheme": "upto", "network": f.Chain.Network, "extra": map[string]any{"facilitatorAddress": devchain.Relayer().Address.Hex()},
	})
	p := f.permit()
	require.Equal(t, true, f.askUpto(t, "verify", f.uptoOf(t, p, "100000"), f.credentials()).Body["isValid"])
	require.Equal(t, "permit2_amount_mismatch", f.askUpto(t, "verify", f.uptoOf(t, p, "40000"), f.credentials()).str("invalidReason"))

	settled := f.askUpto(t, "settle", f.uptoOf(t, p, "40000"), f.credentials(), "one")
	require.Equal(t, []any{true, "40000"}, []any{settled.Body["success"], settled.Body["amount"]}, settled.Text)
	require.EqualValues(t, 40_000, f.paid(t))
	again := f.askUpto(t, "settle", f.uptoOf(t, p, "40000"), f.credentials(), "one")
	require.Equal(t, []any{true, "true", settled.str("transaction")}, []any{again.Body["success"], again.Header.Get("Idempotency-Replayed"), again.str("transaction")})
	f.askUpto(t, "settle", f.uptoOf(t, p, "40000"), f.credentials(), "two").refusedPayment(t, "duplicate_settlement")
	f.askUpto(t, "settle", f.uptoOf(t, p, "50000"), f.credentials(), "one").refusedPayment(t, "permit2_invalid_nonce")
	require.EqualValues(t, 40_000, f.paid(t))

	page, err := f.Client().TransactionsPage(t.Context(), client.ListParams{})
	require.NoError(t, err)
	require.Len(t, page.Data, 1)
	require.Equal(t, []any{client.SourceX402, int64(4), client.Succeeded}, []any{page.Data[0].Source, page.Data[0].AmountCents, page.Data[0].Status})
	report, err := f.CheckLedger(t.Context())
	require.NoError(t, err)
	require.Equal(t, []any{1, []string(nil)}, []any{report.Charges, report.Faults})
}

// TestUptoIsSettledForItsPayeeAlone: the caller chooses the amount, so neither the payer nor
// another merchant can settle the payment for less before the payee does.
func TestUptoIsSettledForItsPayeeAlone(t *testing.T) {
	t.Parallel()
	f := facilitateUpto(t)
	other, err := f.CreateMerchant(t.Context(), server.MerchantParams{Name: "Other", PayTo: devchain.Payee(5).Address.Hex()})
	require.NoError(t, err)
	p := f.permit()
	for name, header := range map[string]http.Header{
		"the payer":        {},
		"another merchant": {"X-Service-Merchant-Id": {other.ID}, "X-Service-Api-Key": {other.APIKey}},
	} {
		for _, amount := range []string{"0", "1000", "100000"} {
			a := f.askUpto(t, "settle", f.uptoOf(t, p, amount), header)
			require.Equal(t, "upto_merchant_required", a.str("errorReason"), name)
		}
		require.Equal(t, "upto_merchant_required", f.askUpto(t, "verify", f.uptoOf(t, p, "100000"), header).str("invalidReason"), name)
	}
	require.Zero(t, f.paid(t))
	require.Equal(t, true, f.askUpto(t, "settle", f.uptoOf(t, p, "100000"), f.credentials()).Body["success"])
}

// TestUptoForNothing: nothing moves, and nothing can be settled later.
func TestUptoForNothing(t *testing.T) {
	t.Parallel()
	f := facilitateUpto(t)
	p := f.permit()
	settled := f.askUpto(t, "settle", f.uptoOf(t, p, "0"), f.credentials())
	require.Equal(t, []any{true, "", "0"}, []any{settled.Body["success"], settled.Body["transaction"], settled.Body["amount"]})
	f.askUpto(t, "settle", f.uptoOf(t, p, "40000"), f.credentials()).refusedPayment(t, "permit2_invalid_nonce")
	require.Zero(t, f.paid(t))
	page, err := f.Client().TransactionsPage(t.Context(), client.ListParams{})
	require.NoError(t, err)
	require.Empty(t, page.Data)
}

// TestUptoThatDiffersFromWhatWasSigned: each field of the request is compared.
func TestUptoThatDiffersFromWhatWasSigned(t *testing.T) {
	t.Parallel()
	f := facilitateUpto(t)
	both := func(request map[string]any) []map[string]any {
		return []map[string]any{request["paymentRequirements"].(map[string]any), request["paymentPayload"].(map[string]any)["accepted"].(map[string]any)}
	}
	for name, tc := range map[string]struct {
		permit func(*evm.UptoPermit)
		change func(request map[string]any)
		reason string
	}{
		"above the maximum":  {nil, func(r map[string]any) { both(r)[0]["amount"] = "100001" }, "invalid_upto_evm_payload_settlement_exceeds_amount"},
		"accepted is more":   {nil, func(r map[string]any) { both(r)[1]["amount"] = "100001" }, "permit2_amount_mismatch"},
		"permitted is more":  {func(p *evm.UptoPermit) { p.Amount = evm.Uint64(100_001) }, nil, "permit2_amount_mismatch"},
		"other payee":        {func(p *evm.UptoPermit) { p.To = devchain.Payee(5).Address }, nil, "invalid_permit2_recipient_mismatch"},
		"other token":        {func(p *evm.UptoPermit) { p.Token = devchain.Payee(5).Address }, nil, "permit2_token_mismatch"},
		"other facilitator":  {func(p *evm.UptoPermit) { p.Facilitator = devchain.Payee(5).Address }, nil, "upto_facilitator_mismatch"},
		"other spender":      {func(p *evm.UptoPermit) { p.Spender = evm.Permit2() }, nil, "invalid_permit2_spender"},
		"expired":            {func(p *evm.UptoPermit) { p.Deadline = evm.Uint64(1) }, nil, "permit2_deadline_expired"},
		"too early":          {func(p *evm.UptoPermit) { p.ValidAfter = p.Deadline }, nil, "permit2_not_yet_valid"},
		"accepted otherwise": {nil, func(r map[string]any) { both(r)[1]["maxTimeoutSeconds"] = 61 }, "invalid_payment_requirements"},
		"other method": {nil, func(r map[string]any) {
			for _, q := range both(r) {
				q["extra"] = map[string]any{"assetTransferMethod": "eip3009"}
			}
		}, "invalid_payment_requirements"},
		"other network": {nil, func(r map[string]any) {
			for _, q := range both(r) {
				q["network"] = "eip155:8453"
			}
		}, "invalid_network"},
		"scheme of the server is exact": {nil, func(r map[string]any) { both(r)[0]["scheme"] = "exact" }, "unsupported_scheme"},
	} {
		p := f.permit()
		if tc.permit != nil {
			tc.permit(&p)
		}
		request := f.uptoOf(t, p, "40000")
		if tc.change != nil {
			tc.change(request)
		}
		settled := f.askUpto(t, "settle", request, f.credentials())
		require.Equal(t, tc.reason, settled.str("errorReason"), name)
	}
	poor := f
	poor.payer = devchain.Wallets()[3]
	f2 := poor.askUpto(t, "verify", poor.uptoOf(t, poor.permit(), "100000"), f.credentials())
	require.Equal(t, "permit2_allowance_required", f2.str("invalidReason"))
	require.Zero(t, f.paid(t))
}
