package server_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	railchain "github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
	"github.com/paywarrant/paywarrant/x402"
)

// sellers is a service, an agent with a token, and sellers that settle by themselves.
type sellers struct {
	caller
	*chainside

	config         *server.Config
	rail           *hurriedRail
	token, mandate string
}

// hurriedRail waits for no funding while it is in a hurry.
type hurriedRail struct {
	*railchain.Rail

	hurry atomic.Bool
}

func (r *hurriedRail) Buy(ctx context.Context, p rail.Purchase) (rail.Purchased, error) {
	p.NoWait = r.hurry.Load()
	return r.Rail.Buy(ctx, p)
}

func openSellers(t *testing.T, e engine, terms servertest.Terms) *sellers {
	t.Helper()
	asset, ok := x402.USDC(devchain.ChainID)
	require.True(t, ok)
	var config *server.Config
	var hurried *hurriedRail
	c := setup(t, &servertest.Options{Chain: chain.Start, Store: e.open, Configure: func(c *server.Config) {
		config = c
		for i, one := range c.Rails {
			if r, ok := one.(*railchain.Rail); ok {
				hurried = &hurriedRail{Rail: r}
				c.Rails[i] = hurried
			}
		}
	}})
	require.NotNil(t, hurried)
	m := &sellers{caller: c, config: config, rail: hurried, chainside: besides(t, facilitated{
		Server: c.Server, payer: devchain.Wallets()[0], payee: devchain.Payee(2).Address.Hex(), asset: asset,
	})}
	terms.AllowedMerchantIDs = []string{"*"}
	if len(terms.PaymentMethods) == 0 {
		terms.PaymentMethods = []string{"wallet"}
	}
	m.mandate = c.Mandate(t, terms)
	m.token = c.token(t, client.AccessTokenParams{Scopes: []client.Scope{client.ScopePay, client.ScopeRevoke, client.ScopeBalance}}).Token
	return m
}

// Server resolves the name that both parts have.
func (m *sellers) srv() *servertest.Server { return m.caller.Server }

func (m *sellers) balanceOf(t *testing.T, who common.Address) int64 {
	t.Helper()
	usdc, token := devchain.USDC(), contracts.NewTestUSDC()
	answer, err := m.node.CallContract(t.Context(), ethereum.CallMsg{To: &usdc, Data: token.PackBalanceOf(who)}, nil)
	require.NoError(t, err)
	balance, err := token.UnpackBalanceOf(answer)
	require.NoError(t, err)
	return balance.Int64()
}

// wallets returns the sum of the development wallets, of which one is the person's.
func (m *sellers) wallets(t *testing.T) (sum int64) {
	t.Helper()
	for _, w := range devchain.Wallets() {
		sum += m.balanceOf(t, w.Address)
	}
	return sum
}

// offerV1 and offerV2 are what sellers ask for.
func (m *sellers) offerV1(amount, payTo string) map[string]any {
	return map[string]any{"x402Version": 1, "accepted": map[string]any{
		"scheme": "exact", "network": "base-sepolia", "maxAmountRequired": amount, "asset": m.asset.Address, "payTo": payTo,
		"resource": sold, "description": "", "mimeType": "application/json", "maxTimeoutSeconds": 60,
		"extra": map[string]any{"name": m.asset.Name, "version": m.asset.Version},
	}}
}

func (m *sellers) offerV2(amount, payTo string) map[string]any {
	return map[string]any{"x402Version": 2, "resource": map[string]any{"url": sold}, "accepted": map[string]any{
		"scheme": "exact", "network": m.srv().Chain.Network, "amount": amount, "asset": m.asset.Address, "payTo": payTo,
		"maxTimeoutSeconds": 60, "extra": map[string]any{"name": m.asset.Name, "version": m.asset.Version},
	}}
}

func (m *sellers) offerMPP(t *testing.T, id, amount, payTo string) map[string]any {
	t.Helper()
	request, err := json.Marshal(map[string]any{
		"amount": amount, "currency": m.asset.Address, "recipient": payTo,
		"methodDetails": map[string]any{"chainId": devchain.ChainID, "credentialTypes": []string{"authorization"}, "decimals": 6},
	})
	require.NoError(t, err)
	header, err := mpp.Challenge{
		ID: id, Realm: "api.example.com", Method: mpp.MethodEVM, Intent: mpp.IntentCharge, Request: base64.RawURLEncoding.EncodeToString(request),
	}.Header()
	require.NoError(t, err)
	return map[string]any{"challenge": header}
}

// credential asks for the header that pays an offer.
func (m *sellers) credential(t *testing.T, key string, offer map[string]any) answer {
	t.Helper()
	body, err := json.Marshal(map[string]any{"offer": offer, "resource": sold, "idempotencyKey": key})
	require.NoError(t, err)
	return m.agent(t, m.token, "POST", "/v1/mandates/"+m.mandate+"/credentials", string(body))
}

// exactOf reads the signed transfer of a header, as a seller does.
func exactOf(t *testing.T, a answer) x402.Exact {
	t.Helper()
	header, ok := a.ok(t).Body["header"].(map[string]any)
	require.True(t, ok, a.Text)
	value, _ := header["value"].(string)
	switch header["name"] {
	case x402.HeaderPaymentSignature:
		p, err := x402.DecodePayload(value)
		require.NoError(t, err)
		return p.Payload
	case x402.HeaderPayment:
		p, err := x402.DecodePayloadV1(value)
		require.NoError(t, err)
		return p.Payload
	}
	require.Equal(t, mpp.HeaderCredential, header["name"])
	c, err := mpp.ParseCredential(value)
	require.NoError(t, err)
	p, err := mpp.DecodeAuthorization(c.Payload)
	require.NoError(t, err)
	require.Equal(t, c.Challenge.Nonce(), p.Nonce)
	return x402.Exact{Signature: p.Signature, Authorization: x402.Authorization{
		From: p.From, To: p.To, Value: p.Value, ValidAfter: p.ValidAfter, ValidBefore: p.ValidBefore, Nonce: p.Nonce,
	}}
}

// ended waits until a charge is not pending any more.
func (m *sellers) ended(t *testing.T, key string, offer map[string]any) answer {
	t.Helper()
	var a answer
	require.Eventually(t, func() bool {
		a = m.credential(t, key, offer).ok(t)
		return a.str("status") != "pending"
	}, time.Minute, 100*time.Millisecond)
	return a
}

// booked requires that ledger and chain agree, with so many purchases paid.
func (m *sellers) booked(t *testing.T, succeeded int, inSessions int64) {
	t.Helper()
	r, err := m.srv().CheckLedger(t.Context())
	require.NoError(t, err)
	require.Empty(t, r.Faults)
	require.Equal(t, []any{0, succeeded, inSessions}, []any{r.Pending, r.Succeeded, int64(r.InSessions)})
}

func TestSellerThatNeverHeardOfTheServiceIsPaid(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			m := openSellers(t, e, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 1000})
			before, seller := m.wallets(t), devchain.Payee(2).Address
			offers := map[string]map[string]any{
				"v1": m.offerV1("10000", seller.Hex()), "v2": m.offerV2("20000", seller.Hex()), "mpp": m.offerMPP(t, "c1", "30000", seller.Hex()),
			}
			for key, offer := range offers {
				first := m.credential(t, key, offer)
				exact := exactOf(t, first)
				require.Equal(t, "pending", first.str("status"))
				require.Equal(t, seller.Hex(), exact.Authorization.To)
				again := m.credential(t, key, offer)
				require.Equal(t, first.Body, again.Body, "a repeat is the same credential")
				require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
				receipt := m.bring(t, exact)
				done := m.ended(t, key, offer)
				require.Equal(t, []string{"completed", receipt.TxHash.Hex()}, []string{done.str("status"), done.str("txHash")})
			}
			require.EqualValues(t, 60_000, m.balanceOf(t, seller))
			require.Equal(t, before-60_000, m.wallets(t))
			m.booked(t, 3, 0)
			require.EqualValues(t, 6, m.spentCents(t, m.mandate))
			m.reconciled(t)
			other := m.offerV1("10001", seller.Hex())
			m.credential(t, "v1", other).refused(t, 422, "idempotency_mismatch")
		})
	}
}

// reconciled requires that every movement has its charge, and every charge its movements.
func (m *sellers) reconciled(t *testing.T) {
	t.Helper()
	for _, from := range []time.Time{{}, m.srv().Clock.Now()} { // all, and then those that are looked up
		_, err := server.Reconcile(t.Context(), server.ReconcileConfig{
			Ledger: m.config.Store, Rails: m.config.Rails, Clock: m.srv().Clock.Now, From: from, Dir: t.TempDir(), Settling: time.Nanosecond,
		}, func(d server.Difference) error {
			require.Fail(t, "a difference", "%+v", d)
			return nil
		})
		require.NoError(t, err)
	}
}

func TestMoneyThatNoSellerTookPaysTheNextOrGoesBack(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			m := openSellers(t, e, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 1000})
			before, seller := m.wallets(t), devchain.Payee(2).Address
			unused := m.offerV2("1000000", seller.Hex())
			exactOf(t, m.credential(t, "unused", unused))
			m.agent(t, m.token, "POST", "/v1/mandates/"+m.mandate+"/sweep", "{}").refused(t, 404, "not_found")
			m.srv().Clock.Advance(2 * time.Minute)
			failed := m.ended(t, "unused", unused)
			require.Equal(t, []string{"failed", "expired"}, []string{failed.str("status"), failed.str("failureReason")})
			require.Zero(t, m.spentCents(t, m.mandate), "the budget is given back")
			m.booked(t, 0, 1_000_000)
			m.reconciled(t)

			next := m.offerV2("1200000", seller.Hex())
			m.bring(t, exactOf(t, m.credential(t, "next", next)))
			require.Equal(t, "completed", m.ended(t, "next", next).str("status"))
			require.Equal(t, before-1_200_000, m.wallets(t), "the rest has paid the next")
			m.booked(t, 1, 0)

			exactOf(t, m.credential(t, "on demand", m.offerV2("123457", seller.Hex())))
			m.srv().Clock.Advance(2 * time.Minute)
			m.ended(t, "on demand", m.offerV2("123457", seller.Hex()))
			var swept answer
			require.Eventually(t, func() bool {
				swept = m.agent(t, m.token, "POST", "/v1/mandates/"+m.mandate+"/sweep", "{}")
				return swept.str("status") == "completed" || swept.Status == 404
			}, time.Minute, 50*time.Millisecond)
			require.Equal(t, before-1_200_000, m.wallets(t), "to the cent")
			m.booked(t, 1, 0)

			exactOf(t, m.credential(t, "revoked", m.offerV2("77777", seller.Hex())))
			m.do(t, "POST", "/v1/mandates/"+m.mandate+"/revoke", "{}").ok(t)
			m.credential(t, "after", m.offerV2("1", seller.Hex())).refused(t, 403, "mandate_revoked")
			m.srv().Clock.Advance(2 * time.Minute)
			require.Eventually(t, func() bool { return m.wallets(t) == before-1_200_000 }, time.Minute, 100*time.Millisecond, "swept by itself")
			require.Eventually(t, func() bool {
				r, err := m.srv().CheckLedger(t.Context())
				return err == nil && r.Pending == 0 && r.InSessions == 0
			}, time.Minute, 100*time.Millisecond)
			m.booked(t, 1, 0)
			m.reconciled(t)
		})
	}
}

// TestLimitsHoldOverRacingPurchasesAtFourSellers: of 32 at once exactly those that fit are
// signed, and one wallet's dollars pay them.
func TestLimitsHoldOverRacingPurchasesAtFourSellers(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			m := openSellers(t, e, servertest.Terms{MaxPerTxCents: 100, MaxMonthlySpendCents: 1000})
			before := m.wallets(t)
			sellers := []common.Address{{0xa1}, {0xa2}, {0xa3}, {0xa4}}
			answers := make([]answer, 32)
			var all sync.WaitGroup
			var refused atomic.Int64
			for i := range answers {
				all.Go(func() {
					offer := m.offerV2("1000000", sellers[i%4].Hex())
					if i%2 == 0 {
						offer = m.offerV1("1000000", sellers[i%4].Hex())
					}
					answers[i] = m.credential(t, fmt.Sprint("race ", i), offer)
					if answers[i].Status == 402 {
						refused.Add(1)
					}
				})
			}
			all.Wait()
			require.EqualValues(t, 22, refused.Load())
			for _, a := range answers {
				if a.Status == 200 {
					m.bring(t, exactOf(t, a))
				}
			}
			var paid int64
			for _, s := range sellers {
				paid += m.balanceOf(t, s)
			}
			require.EqualValues(t, 10_000_000, paid)
			require.Equal(t, before-paid, m.wallets(t))
			require.Eventually(t, func() bool {
				r, err := m.srv().CheckLedger(t.Context())
				return err == nil && r.Pending == 0
			}, time.Minute, 100*time.Millisecond)
			m.booked(t, 10, 0)
			m.reconciled(t)
		})
	}
}

// TestRepeatAfterAPauseSignsNothing: the money of the purchase is on its way to the session account
// when the person pauses the mandate.
func TestRepeatAfterAPauseSignsNothing(t *testing.T) {
	t.Parallel()
	m := openSellers(t, onSQLite, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 1000})
	before, offer := m.wallets(t), m.offerV2("100000", devchain.Payee(2).Address.Hex())
	m.rail.hurry.Store(true)
	key, first := "", answer{Body: map[string]any{"header": "none yet"}}
	for n := 0; first.Body["header"] != nil; n++ { // the money may have been there at once
		before, key = m.wallets(t), fmt.Sprint("key-", n)
		first = m.credential(t, key, offer).ok(t)
		require.Equal(t, "pending", first.str("status"))
	}
	m.rail.hurry.Store(false)
	l, err := ledger.New(ledger.Config{Store: m.config.Store, Clock: m.srv().Clock.Now})
	require.NoError(t, err)
	t.Cleanup(l.Close)
	_, err = l.Pause(t.Context(), m.mandateID(t, m.mandate), true)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return m.wallets(t) < before }, time.Minute, 10*time.Millisecond)
	repeated := m.credential(t, key, offer).ok(t)
	require.Nil(t, repeated.Body["header"], "nothing is signed")
}

// TestNoOtherMerchantSweepsASessionAccount: another merchant has the id of a mandate that allows it.
func TestNoOtherMerchantSweepsASessionAccount(t *testing.T) {
	t.Parallel()
	m := openSellers(t, onSQLite, servertest.Terms{MaxPerTxCents: 100, MaxMonthlySpendCents: 1000})
	other := m.caller
	var err error
	other.merchant, err = m.srv().CreateMerchant(t.Context(), server.MerchantParams{Name: "Other"})
	require.NoError(t, err)
	id := m.mandateID(t, m.mandate)
	other.do(t, "POST", "/v1/mandates/"+id+"/sweep", "{}").refused(t, 400, "validation_error")
	body, err := json.Marshal(map[string]any{"offer": m.offerV2("10000", devchain.Payee(2).Address.Hex()), "resource": sold, "idempotencyKey": "o"})
	require.NoError(t, err)
	other.do(t, "POST", "/v1/mandates/"+id+"/credentials", string(body)).refused(t, 400, "validation_error")
}

// TestSuspendedMerchantIsNoOutsideSeller: its wallet is paid neither as the merchant's nor as a stranger's.
func TestSuspendedMerchantIsNoOutsideSeller(t *testing.T) {
	t.Parallel()
	m := openSellers(t, onSQLite, servertest.Terms{MaxPerTxCents: 100, MaxMonthlySpendCents: 1000})
	before, wallet := m.wallets(t), devchain.Payee(3).Address.Hex()
	other, err := m.srv().CreateMerchant(t.Context(), server.MerchantParams{Name: "Suspended", PayTo: wallet})
	require.NoError(t, err)
	require.NoError(t, m.config.Store.SetMerchantActive(t.Context(), other.ID, false))
	a := m.credential(t, "suspended", m.offerV2("10000", strings.ToLower(wallet)))
	require.Equal(t, "merchant_inactive", a.str("code"), a.Text)
	require.Equal(t, before, m.wallets(t))
}

func TestRefusedOffersMoveNothing(t *testing.T) {
	t.Parallel()
	m := openSellers(t, onSQLite, servertest.Terms{MaxPerTxCents: 100, MaxMonthlySpendCents: 1000})
	before, seller := m.wallets(t), devchain.Payee(2).Address.Hex()
	changed := func(change map[string]any) map[string]any {
		o := m.offerV2("10000", seller)
		accepted, _ := o["accepted"].(map[string]any)
		maps.Copy(accepted, change)
		return o
	}
	expired := m.offerMPP(t, "old", "10000", seller)
	expired["challenge"] = strings.Replace(expired["challenge"].(string), "Payment ", `Payment expires="2020-01-01T00:00:00Z", `, 1)
	for name, one := range map[string]struct {
		offer  map[string]any
		status int
		code   string
	}{
		"another network":      {changed(map[string]any{"network": "eip155:8453"}), 422, "offer_not_payable"},
		"no EVM network":       {changed(map[string]any{"network": "solana:mainnet"}), 422, "offer_not_payable"},
		"another token":        {changed(map[string]any{"asset": seller}), 422, "offer_not_payable"},
		"another name":         {changed(map[string]any{"extra": map[string]any{"name": "Euro Coin"}}), 422, "offer_not_payable"},
		"another scheme":       {changed(map[string]any{"scheme": "upto"}), 422, "offer_not_payable"},
		"by Permit2":           {changed(map[string]any{"extra": map[string]any{"assetTransferMethod": "permit2"}}), 422, "offer_not_payable"},
		"the router as payee":  {changed(map[string]any{"payTo": m.srv().Chain.Router}), 422, "offer_not_payable"},
		"the token as payee":   {changed(map[string]any{"payTo": m.asset.Address}), 422, "offer_not_payable"},
		"no payee":             {changed(map[string]any{"payTo": ""}), 422, "offer_not_payable"},
		"too much":             {changed(map[string]any{"amount": "1" + strings.Repeat("0", 30)}), 422, "offer_not_payable"},
		"nothing":              {changed(map[string]any{"amount": "0"}), 400, "validation_error"},
		"a fraction":           {changed(map[string]any{"amount": "1.5"}), 400, "validation_error"},
		"no time":              {changed(map[string]any{"maxTimeoutSeconds": 0}), 400, "validation_error"},
		"an amount as number":  {changed(map[string]any{"amount": 10000}), 400, "validation_error"},
		"an expired challenge": {expired, 422, "offer_not_payable"},
		"two kinds of offers":  {map[string]any{"x402Version": 2, "challenge": "Payment"}, 400, "validation_error"},
		"no offer":             {map[string]any{}, 400, "validation_error"},
		"above the limit":      {m.offerV1("1000001", seller), 402, "per_tx"},
	} {
		require.Equal(t, []any{one.status, one.code}, func() []any {
			a := m.credential(t, name, one.offer)
			return []any{a.Status, a.str("code")}
		}(), name)
	}
	longest := exactOf(t, m.credential(t, "long", changed(map[string]any{"maxTimeoutSeconds": 1 << 40})))
	until, err := strconv.ParseInt(longest.Authorization.ValidBefore, 10, 64)
	require.NoError(t, err)
	require.LessOrEqual(t, until, m.srv().Clock.Now().Unix()+660, "validBefore far in the future is not signed")
	require.Equal(t, before-10_000, m.wallets(t))

	narrow := m.caller.mandate(t, 100, 1000, "wallet")
	body, _ := json.Marshal(map[string]any{"offer": m.offerV2("10000", seller), "resource": sold, "idempotencyKey": "n"})
	m.agent(t, m.token, "POST", "/v1/mandates/"+narrow+"/credentials", string(body)).refused(t, 403, "merchant_not_allowed")
	bound := m.caller.token(t, client.AccessTokenParams{Mandate: narrow}).Token
	m.agent(t, bound, "POST", "/v1/mandates/"+m.mandate+"/credentials", string(body)).refused(t, 403, "insufficient_scope")
	byCard := m.srv().Mandate(t, servertest.Terms{MaxPerTxCents: 100, MaxMonthlySpendCents: 1000, AllowedMerchantIDs: []string{"*"}})
	a := m.agent(t, m.token, "POST", "/v1/mandates/"+byCard+"/credentials", string(body)).ok(t)
	require.Equal(t, []string{"failed", "rail_unavailable"}, []string{a.str("status"), a.str("failureReason")})
	empty := m.srv().Mandate(t, servertest.Terms{MaxPerTxCents: 100, MaxMonthlySpendCents: 1000, AllowedMerchantIDs: []string{"*"}, PaymentMethods: []string{"wallet_empty"}})
	a = m.agent(t, m.token, "POST", "/v1/mandates/"+empty+"/credentials", string(body)).ok(t)
	require.Equal(t, []string{"failed", string(rail.InsufficientFunds)}, []string{a.str("status"), a.str("failureReason")})
}
