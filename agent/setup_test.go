package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

const (
	payTo  = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	secret = "a secret of at least sixteen bytes"
)

// seller is an API behind a gate, and the service that settles for it.
type seller struct {
	t       *testing.T
	service *servertest.Server
	api     *httptest.Server
	url     string
	served  atomic.Int64
	status  atomic.Int64
	handler http.HandlerFunc

	mu   sync.Mutex
	seen []http.Header // of every request
}

func sell(t *testing.T, price string, change func(*paywall.Config)) *seller {
	t.Helper()
	s := &seller{t: t, service: servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: payTo}})}
	s.status.Store(http.StatusOK)
	s.handler = func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(int(s.status.Load()))
		_, _ = io.WriteString(w, "sunny"+string(body))
	}
	s.api = httptest.NewUnstartedServer(nil)
	s.url = "http://" + s.api.Listener.Addr().String() + "/weather"
	cfg := paywall.Config{
		Price: price, PayTo: payTo, APIURL: s.service.URL, TestMode: true, Resource: s.url, Secrets: []string{secret}, Clock: s.service.Clock.Now,
	}
	if change != nil {
		change(&cfg)
	}
	gate, err := paywall.New(cfg)
	require.NoError(t, err)
	gated := gate.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.served.Add(1)
		s.handler(w, r)
	}))
	s.api.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen = append(s.seen, r.Header.Clone())
		s.mu.Unlock()
		gated.ServeHTTP(w, r)
	})
	s.api.Start()
	t.Cleanup(s.api.Close)
	return s
}

// config pays by a mandate of 5 USD a payment and 50 a month.
func (s *seller) config() agent.Config {
	return agent.Config{Service: s.service.Client(), Mandate: s.mandate(500, 5000), MaxPriceMicros: 1_000_000}
}

func (s *seller) mandate(perTx, month int64) string {
	return s.service.Mandate(s.t, servertest.Terms{MaxPerTxCents: perTx, MaxMonthlySpendCents: month, AllowedMerchantIDs: []string{"*"}})
}

func (s *seller) charges() int64 {
	s.t.Helper()
	stats, err := s.service.Client().Stats(s.t.Context())
	require.NoError(s.t, err)
	return stats.TransactionCount
}

// sent are the values of a header over all requests that had it.
func (s *seller) sent(name string) (values []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.seen {
		values = append(values, h.Values(name)...)
	}
	return values
}

// client is an http.Client that pays, and closes its connections with the test.
func client(t *testing.T, c agent.Config) *http.Client {
	t.Helper()
	if c.Base == nil {
		c.Base = &http.Transport{DisableKeepAlives: true}
	}
	transport, err := agent.NewTransport(c)
	require.NoError(t, err)
	return &http.Client{Transport: transport}
}

type reply struct {
	*http.Response
	text string
}

func get(t *testing.T, c *http.Client, url string) (reply, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	return do(t, c, r)
}

func do(t *testing.T, c *http.Client, r *http.Request) (reply, error) {
	t.Helper()
	resp, err := c.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return reply{resp, string(text)}, nil
}

// newWallet is a fresh wallet of the test network.
func newWallet(t *testing.T) *evm.Wallet {
	t.Helper()
	key, err := crypto.GenerateKey()
	require.NoError(t, err)
	w, err := evm.NewWallet(evm.WalletConfig{Key: key})
	require.NoError(t, err)
	return w
}

func transferDigest(chainID int64, asset x402.Asset, a x402.Authorization) (common.Hash, error) {
	transfer, err := evm.ParseAuthorization(a)
	if err != nil {
		return common.Hash{}, err
	}
	domain := evm.Domain{Name: asset.Name, Version: asset.Version, ChainID: uint64(chainID), Contract: common.HexToAddress(asset.Address)}
	return evm.Digest(domain.Separator(), transfer), nil
}

// facilitator settles a transfer once, if its signature is that of the payer.
func facilitator(t *testing.T) (url string, moved *atomic.Int64) {
	t.Helper()
	moved = &atomic.Int64{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			PaymentPayload      struct{ Payload x402.Exact }
			PaymentRequirements struct{ Network, Asset string }
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		e := req.PaymentPayload.Payload
		asset, _ := x402.USDC(84532)
		signature, _ := hexutil.Decode(e.Signature)
		digest, err := transferDigest(84532, asset, e.Authorization)
		signer, errSigner := evm.Recover(digest, signature)
		good := err == nil && errSigner == nil && signer == common.HexToAddress(e.Authorization.From)
		switch {
		case strings.HasSuffix(r.URL.Path, "/verify"):
			_, _ = fmt.Fprintf(w, `{"isValid":%t,"invalidReason":"invalid_exact_evm_payload_signature","payer":%q}`, good, e.Authorization.From)
		case !good:
			_, _ = fmt.Fprintf(w, `{"success":false,"errorReason":"invalid_exact_evm_payload_signature","transaction":"","network":%q}`, req.PaymentRequirements.Network)
		default:
			_, _ = fmt.Fprintf(w, `{"success":true,"transaction":"0x%064x","network":%q,"payer":%q}`, moved.Add(1), req.PaymentRequirements.Network, e.Authorization.From)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL, moved
}

type (
	ctx  = context.Context
	conn = net.Conn
)
