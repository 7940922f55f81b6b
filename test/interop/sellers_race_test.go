package interop_test

import (
	"encoding/hex"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/agent/journal"
	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
	"github.com/paywarrant/paywarrant/test/internal/nodetest"
)

// street is a service on a chain and four official servers that do not know it. Each has a
// facilitator and a wallet of its own.
type street struct {
	*servertest.Server

	node  *ethclient.Client
	shops []officialShop
}

type officialShop struct {
	server, url string
	way         agent.Method
	payTo       common.Address
}

func openStreet(t *testing.T) *street {
	t.Helper()
	project := nodetest.Open(t, "x402")
	s := &street{Server: servertest.Start(t, &servertest.Options{Chain: chain.Start})}
	var err error
	s.node, err = ethclient.Dial(s.Chain.RPCURL)
	require.NoError(t, err)
	t.Cleanup(s.node.Close)
	for i, one := range []struct {
		script, server, path string
		way                  agent.Method
	}{
		{"official.mjs", "@x402/express", "/weather", agent.X402},
		{"official.mjs", "@x402/hono", "/weather", agent.X402},
		{"official.mjs", "x402-express", "/weather", agent.X402V1},
		{"shop.mjs", "mppx", "", agent.MPP},
	} {
		var theirs, shop struct{ URL string }
		project.Start(t, "facilitator.mjs", map[string]any{
			"rpc": s.Chain.RPCURL, "key": "0x" + hex.EncodeToString(crypto.FromECDSA(devchain.Wallets()[6+i].Key())),
		}, &theirs)
		payTo := common.Address{0xa1 + byte(i)}
		project.Start(t, one.script, map[string]any{"server": one.server, "facilitator": theirs.URL, "payTo": payTo.Hex(), "delayMs": 0}, &shop)
		s.shops = append(s.shops, officialShop{server: one.server, url: shop.URL + one.path, way: one.way, payTo: payTo})
	}
	return s
}

// has returns the micro-dollars of a wallet.
func (s *street) has(t *testing.T, who common.Address) int64 {
	t.Helper()
	usdc, token := devchain.USDC(), contracts.NewTestUSDC()
	answer, err := s.node.CallContract(t.Context(), ethereum.CallMsg{To: &usdc, Data: token.PackBalanceOf(who)}, nil)
	require.NoError(t, err)
	balance, err := token.UnpackBalanceOf(answer)
	require.NoError(t, err)
	return balance.Int64()
}

// wallets returns the sum of the development wallets, of which one is the person's.
func (s *street) wallets(t *testing.T) (sum int64) {
	t.Helper()
	for _, w := range devchain.Wallets() {
		sum += s.has(t, w.Address)
	}
	return sum
}

// buyer is an agent with a mandate and a token, and with nothing else.
func (s *street) buyer(t *testing.T, shop officialShop, mandate, token string, maxMicros int64) *agent.Client {
	t.Helper()
	j, err := journal.OpenFile(filepath.Join(t.TempDir(), "purchases.journal"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, j.Close()) })
	buyer, err := agent.New(agent.Config{
		ServiceURL: s.URL, Token: token, Mandate: mandate, MaxPriceMicros: maxMicros, AllowPrivate: true, Methods: []agent.Method{shop.way}, Journal: j,
	})
	require.NoError(t, err)
	t.Cleanup(buyer.CloseIdleConnections)
	return buyer
}

func (s *street) token(t *testing.T, mandate string) string {
	t.Helper()
	token, err := s.Client().CreateAccessToken(t.Context(), client.AccessTokenParams{
		Mandate: mandate, Scopes: []client.Scope{client.ScopePay, client.ScopeBalance},
	})
	require.NoError(t, err)
	return token.Token
}

// TestLimitsHoldOverRacingPurchasesAtOfficialServers: 32 agents buy at four servers at once, and
// the mandate allows ten of the purchases.
func TestLimitsHoldOverRacingPurchasesAtOfficialServers(t *testing.T) {
	t.Parallel()
	s := openStreet(t)
	mandate := s.Mandate(t, servertest.Terms{
		MaxPerTxCents: 1, MaxMonthlySpendCents: 10, AllowedMerchantIDs: []string{"*"}, PaymentMethods: []string{"wallet"},
	})
	token, before := s.token(t, mandate), s.wallets(t)
	var served, refused atomic.Int64
	var all sync.WaitGroup
	for i := range 32 {
		shop := s.shops[i%len(s.shops)]
		buyer := s.buyer(t, shop, mandate, token, 10_000)
		all.Go(func() {
			var err error
			for range 5 { // a purchase whose money takes long is continued
				got, failed := buyer.Fetch(agent.WithPurchaseKey(t.Context(), "the weather"), agent.FetchParams{URL: shop.url})
				switch err = failed; {
				case err == nil && got.Status == 200:
					served.Add(1)
					return
				case errors.Is(err, agent.ErrBudget), errors.Is(err, client.ErrMonthlyLimit):
					refused.Add(1)
					return
				}
			}
			t.Errorf("%s: %v", shop.server, err)
		})
	}
	all.Wait()
	require.Equal(t, []int64{10, 22}, []int64{served.Load(), refused.Load()})
	var paid int64
	for _, shop := range s.shops {
		paid += s.has(t, shop.payTo)
	}
	require.EqualValues(t, 100_000, paid)
	require.Equal(t, before-paid, s.wallets(t), "nothing else has left the wallet")
	require.Eventually(t, func() bool {
		r, err := s.CheckLedger(t.Context())
		return err == nil && len(r.Faults) == 0 && r.Succeeded == 10 && r.Pending == 0 && r.InSessions == 0
	}, time.Minute, 50*time.Millisecond)
}

// openElsewhere opens a shop on a network that the service does not pay on.
func (s *street) openElsewhere(t *testing.T) officialShop {
	t.Helper()
	const network = "eip155:8453"
	project := nodetest.Open(t, "x402")
	var theirs, shop struct{ URL string }
	project.Start(t, "facilitator.mjs", map[string]any{
		"rpc": s.Chain.RPCURL, "key": "0x" + hex.EncodeToString(crypto.FromECDSA(devchain.Wallets()[5].Key())), "network": network,
	}, &theirs)
	one := officialShop{server: "@x402/express", way: agent.X402, payTo: common.Address{0xb1}}
	project.Start(t, "official.mjs", map[string]any{
		"server": one.server, "facilitator": theirs.URL, "payTo": one.payTo.Hex(), "delayMs": 0, "network": network,
	}, &shop)
	one.url = shop.URL + "/weather"
	return one
}

// TestRefusedOffersOfOfficialServersMoveNothing: the price is above the agent's limit, the mandate
// does not allow the seller or has no wallet, or the seller is on another network.
func TestRefusedOffersOfOfficialServersMoveNothing(t *testing.T) {
	t.Parallel()
	s := openStreet(t)
	before := s.wallets(t)
	wallet := func(terms servertest.Terms) string {
		terms.MaxPerTxCents, terms.PaymentMethods = 1, []string{"wallet"}
		return s.Mandate(t, terms)
	}
	open := wallet(servertest.Terms{MaxMonthlySpendCents: 10, AllowedMerchantIDs: []string{"*"}})
	narrow := wallet(servertest.Terms{MaxMonthlySpendCents: 10, AllowedMerchantIDs: []string{s.Merchant.ID}})
	byCard := s.Mandate(t, servertest.Terms{MaxPerTxCents: 100, MaxMonthlySpendCents: 100, AllowedMerchantIDs: []string{"*"}})
	for _, shop := range s.shops {
		for _, one := range []struct {
			mandate string
			max     int64
			reason  error
			text    string
		}{
			{mandate: open, max: 9999, reason: agent.ErrTooExpensive},
			{mandate: narrow, max: 10_000, reason: client.ErrMerchantNotAllowed},
			{mandate: byCard, max: 10_000, text: "the service could not pay: rail_unavailable"},
		} {
			_, err := s.buyer(t, shop, one.mandate, s.token(t, one.mandate), one.max).Fetch(t.Context(), agent.FetchParams{URL: shop.url})
			require.Error(t, err)
			if one.reason != nil {
				require.ErrorIs(t, err, one.reason, shop.server)
			}
			require.ErrorContains(t, err, one.text, shop.server)
		}
		require.Zero(t, s.has(t, shop.payTo), "%s has nothing", shop.server)
	}
	elsewhere := s.openElsewhere(t)
	_, err := s.buyer(t, elsewhere, open, s.token(t, open), 10_000).Fetch(t.Context(), agent.FetchParams{URL: elsewhere.url})
	require.ErrorIs(t, err, client.ErrOfferNotPayable)
	require.ErrorContains(t, err, "eip155:8453")
	require.Equal(t, before, s.wallets(t))
	r, err := s.CheckLedger(t.Context())
	require.NoError(t, err)
	require.Equal(t, []any{0, 0, 0}, []any{len(r.Faults), r.Succeeded, r.Pending})
}
