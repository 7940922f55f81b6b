package agentcrash_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/x402"
)

const (
	payTo  = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	cent   = 10_000 // millionths of a dollar
	secret = "a secret of at least sixteen bytes"
)

// methods are the payment methods, one for each gate.
func methods() []agent.Method { return []agent.Method{agent.X402, agent.X402V1, agent.Mandate} }

// prices are the prices of the gates, in cents. A card pays 50 without a tab.
var prices = map[agent.Method]int64{agent.X402: 1, agent.X402V1: 1, agent.Mandate: 50}

// sellers are the gates, the service and the wallets' ledger.
type sellers struct {
	service *servertest.Server
	urls    map[agent.Method]string

	mu     sync.Mutex
	served map[string]int  // responses by order
	moved  map[string]bool // transfers by nonce
}

func newSellers(t *testing.T) *sellers {
	t.Helper()
	s := &sellers{
		service: servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: payTo}}),
		urls:    map[agent.Method]string{}, served: map[string]int{}, moved: map[string]bool{},
	}
	facilitator := httptest.NewServer(http.HandlerFunc(s.settle))
	t.Cleanup(facilitator.Close)
	for _, m := range methods() {
		api := httptest.NewUnstartedServer(nil)
		s.urls[m] = "http://" + api.Listener.Addr().String() + "/order"
		cfg := paywall.Config{Price: fmt.Sprintf("0.%02d", prices[m]), PayTo: payTo, APIURL: s.service.URL, TestMode: true, Resource: s.urls[m], Secrets: []string{secret}}
		if m != agent.Mandate {
			cfg.Facilitator, cfg.ExternalFacilitator = facilitator.URL, facilitator.URL
		}
		gate, err := paywall.New(cfg)
		require.NoError(t, err)
		api.Config.Handler = gate.Require(http.HandlerFunc(s.serve))
		api.Start()
		t.Cleanup(api.Close)
	}
	return s
}

// serve serves the order that the body names.
func (s *sellers) serve(w http.ResponseWriter, r *http.Request) {
	order, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	s.mu.Lock()
	s.served[string(order)]++
	s.mu.Unlock()
	_, _ = io.WriteString(w, "ordered "+string(order))
}

// settle moves each transfer once, as a facilitator does.
func (s *sellers) settle(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		PaymentPayload      struct{ Payload x402.Exact }
		PaymentRequirements struct{ Network string }
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a := asked.PaymentPayload.Payload.Authorization
	if r.URL.Path == "/verify" {
		_, _ = fmt.Fprintf(w, `{"isValid":true,"payer":%q}`, a.From)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.moved[a.Nonce] {
		_, _ = fmt.Fprintf(w, `{"success":false,"errorReason":"nonce_already_used","transaction":"","network":%q}`, asked.PaymentRequirements.Network)
		return
	}
	s.moved[a.Nonce] = true
	_, _ = fmt.Fprintf(w, `{"success":true,"transaction":"0x%064x","network":%q,"payer":%q}`, len(s.moved), asked.PaymentRequirements.Network, a.From)
}
