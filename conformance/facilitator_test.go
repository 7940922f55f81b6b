package conformance_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/conformance"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// settler is a facilitator and its chain in one, which breaks one rule at a time.
type settler struct {
	richest string
	// faults
	noPayee, noAmount, noSigner, noDomain, noWindow, noSoon, dust, unfunded, noReserve bool
	callsFactory, fakeHash, anyLifted, lostLifted, repeats, races, keysLost            bool
	noLimit, believesProxy, limitsPayee                                                bool

	mu        sync.Mutex
	balances  map[string]int64
	used      map[string]string // the transaction by nonce, on the chain
	seen      map[string]bool   // authorizations that were verified
	done      map[string]string // settlements by nonce
	keys      map[string]string // the idempotency key by nonce
	transfers map[string]x402.Authorization
	approved  map[string]bool
	counts    map[string]int
}

func newSettler(t *testing.T) (*settler, conformance.FacilitatorConfig) {
	t.Helper()
	key, err := evm.ParseKey(strings.Repeat("43", 32))
	require.NoError(t, err)
	w, err := evm.NewWallet(evm.WalletConfig{Key: key})
	require.NoError(t, err)
	s := &settler{
		richest: strings.ToLower(w.Address()), balances: map[string]int64{}, used: map[string]string{}, seen: map[string]bool{}, done: map[string]string{},
		keys: map[string]string{}, transfers: map[string]x402.Authorization{}, approved: map[string]bool{}, counts: map[string]int{},
	}
	s.balances[s.richest] = 1_000_000
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return s, conformance.FacilitatorConfig{URL: srv.URL, Wallet: w, Chain: s}
}

func hash() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b)
	return "0x" + hex.EncodeToString(b)
}

func (s *settler) Transferred(_ context.Context, tx, _ string, a x402.Authorization) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.transfers[tx] == a, nil
}

func (s *settler) Approved(_ context.Context, _, spender string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.approved[strings.ToLower(spender)], nil
}

func (s *settler) Broadcast(_ context.Context, _ string, e x402.Exact) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.move(e.Authorization), nil
}

// move executes a transfer on the chain.
func (s *settler) move(a x402.Authorization) string {
	value, _ := strconv.ParseInt(a.Value, 10, 64)
	s.balances[strings.ToLower(a.From)] -= value
	s.balances[strings.ToLower(a.To)] += value
	tx := hash()
	s.used[a.Nonce], s.transfers[tx] = tx, a
	return tx
}

type order struct {
	PaymentPayload      x402.Payload
	PaymentRequirements x402.Requirements
}

func (s *settler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var o order
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/supported" {
		_, _ = w.Write([]byte(`{"kinds":[]}`))
		return
	}
	reason := s.check(o)
	if s.limited(r, o, reason) {
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	if r.URL.Path == "/verify" {
		if reason == "" {
			s.mu.Lock()
			s.seen[o.PaymentPayload.Payload.Authorization.Nonce] = true
			s.mu.Unlock()
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"isValid": reason == "", "invalidReason": reason})
		return
	}
	tx := ""
	if reason == "" || reason == "used" {
		tx, reason = s.settle(o.PaymentPayload.Payload, r.Header.Get("Idempotency-Key"))
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"success": reason == "", "errorReason": reason, "transaction": tx})
}

// limited counts what fails against the caller's address.
func (s *settler) limited(r *http.Request, o order, reason string) bool {
	caller, _, _ := strings.Cut(r.RemoteAddr, ":")
	if s.believesProxy && r.Header.Get("X-Forwarded-For") != "" {
		caller = r.Header.Get("X-Forwarded-For")
	}
	if s.limitsPayee {
		caller = o.PaymentRequirements.PayTo
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if reason == "unsigned" {
		s.counts[caller]++
	}
	return !s.noLimit && s.counts[caller] > 100 && (reason == "unsigned" || s.limitsPayee)
}

// check returns why a payment is refused before it is settled.
func (s *settler) check(o order) string {
	e, want := o.PaymentPayload.Payload, o.PaymentRequirements
	a := e.Authorization
	value, _ := strconv.ParseInt(a.Value, 10, 64)
	left := time.Until(a.ValidBeforeTime())
	after, _ := strconv.ParseInt(a.ValidAfter, 10, 64)
	token, _ := x402.USDC(84532)
	switch {
	case strings.Trim(e.Signature, "0x") == "":
		return "unsigned"
	case want.Network != x402.NetworkBaseSepolia || !x402.SameAddress(want.Asset, token.Address):
		return "network"
	case want.Extra["name"] != token.Name && !s.noDomain:
		return "domain"
	case !s.noSigner && !signed(e) && len(e.Signature) < 200:
		return "signer"
	case !s.noPayee && !x402.SameAddress(a.To, want.PayTo):
		return "payee"
	case !s.noAmount && a.Value != want.Amount:
		return "amount"
	case !s.noWindow && (left < 0 || after > time.Now().Unix()), !s.noSoon && left >= 0 && left < 12*time.Second:
		return "window"
	case !s.dust && value < 1000:
		return "dust"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[a.Nonce] != "" {
		return "used"
	}
	if !s.unfunded && s.balances[strings.ToLower(a.From)] < value && !s.noReserve {
		return "insufficient_funds"
	}
	return ""
}

// signed reports whether the payer's key signed.
func signed(e x402.Exact) bool {
	token, _ := x402.USDC(84532)
	a, err := evm.ParseAuthorization(e.Authorization)
	if err != nil {
		return false
	}
	d := evm.Domain{Name: token.Name, Version: token.Version, ChainID: 84532}
	address, _ := hex.DecodeString(token.Address[2:])
	copy(d.Contract[:], address)
	signature, err := hex.DecodeString(e.Signature[2:])
	if err != nil {
		return false
	}
	by, err := evm.Recover(evm.Digest(d.Separator(), a), signature)
	return err == nil && by == a.From
}

// settle settles a payment once, and returns its transaction or the reason.
func (s *settler) settle(e x402.Exact, key string) (tx, reason string) {
	a := e.Authorization
	if len(e.Signature) > 200 { // a factory
		if s.callsFactory {
			call, _ := hex.DecodeString(e.Signature[2:])
			s.mu.Lock()
			s.approved["0x"+hex.EncodeToString(call[4*32+4+12:4*32+4+32])] = true
			s.mu.Unlock()
		}
		return "", "factory"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if tx, ok := s.done[a.Nonce]; ok {
		switch {
		case s.repeats, key != "" && key == s.keys[a.Nonce] && !s.keysLost:
			return tx, ""
		}
		return "", "duplicate_settlement"
	}
	if tx := s.used[a.Nonce]; tx != "" { // others sent it
		if s.anyLifted || (s.seen[a.Nonce] && !s.lostLifted) {
			s.done[a.Nonce] = tx
			return tx, ""
		}
		return "", "nonce_already_used"
	}
	if s.races { // two settle before one is written down
		s.mu.Unlock()
		time.Sleep(20 * time.Millisecond)
		s.mu.Lock()
	}
	value, _ := strconv.ParseInt(a.Value, 10, 64)
	if s.balances[strings.ToLower(a.From)] < value && !s.unfunded {
		if s.noReserve {
			return hash(), "reverted"
		}
		return "", "insufficient_funds"
	}
	tx = s.move(a)
	if s.fakeHash {
		s.done[a.Nonce] = hash()
	} else {
		s.done[a.Nonce] = tx
	}
	s.keys[a.Nonce] = key
	return s.done[a.Nonce], ""
}

// facilitatorFaults are planted one at a time. Exactly the rule of its name finds each.
var facilitatorFaults = []struct {
	rule   string
	status conformance.Status
	name   string
	plant  func(*settler)
}{
	{"facilitator.proof", "fail", "the payee is not compared", func(s *settler) { s.noPayee = true }},
	{"facilitator.proof", "fail", "the amount is not compared", func(s *settler) { s.noAmount = true }},
	{"facilitator.proof", "fail", "the signer is not recovered", func(s *settler) { s.noSigner = true }},
	{"facilitator.proof", "fail", "the domain is not compared", func(s *settler) { s.noDomain = true }},
	{"facilitator.window", "fail", "the window is not checked", func(s *settler) { s.noWindow = true }},
	{"facilitator.window", "fail", "no validity has to remain", func(s *settler) { s.noSoon = true }},
	{"facilitator.funds", "fail", "dust is settled", func(s *settler) { s.dust = true }},
	{"facilitator.funds", "fail", "the balance is not read", func(s *settler) { s.unfunded = true }},
	{"facilitator.funds", "fail", "nothing is reserved", func(s *settler) { s.noReserve = true }},
	{"facilitator.calls", "fail", "the factory is called", func(s *settler) { s.callsFactory = true }},
	{"facilitator.settled", "fail", "the transaction is another", func(s *settler) { s.fakeHash = true }},
	{"facilitator.lifted", "fail", "any used authorization pays", func(s *settler) { s.anyLifted = true }},
	{"facilitator.lifted", "warn", "a known one does not", func(s *settler) { s.lostLifted = true }},
	{"facilitator.once", "fail", "a repeat succeeds", func(s *settler) { s.repeats = true }},
	{"facilitator.once", "fail", "settlements race", func(s *settler) { s.races = true }},
	{"facilitator.once", "warn", "a key is ignored", func(s *settler) { s.keysLost = true }},
	{"facilitator.limits", "fail", "no limit", func(s *settler) { s.noLimit = true }},
	{"facilitator.limits", "fail", "X-Forwarded-For is believed", func(s *settler) { s.believesProxy = true }},
	{"facilitator.limits", "fail", "a payee is limited", func(s *settler) { s.limitsPayee = true }},
}

func TestFacilitatorWithoutAFaultPassesEveryRule(t *testing.T) {
	t.Parallel()
	_, c := newSettler(t)
	report, err := conformance.Facilitator(t.Context(), c)
	require.NoError(t, err)
	require.Empty(t, found(report))
	require.Equal(t, 8, report.Count(conformance.Pass))
}

func TestEachFaultOfAFacilitatorIsFoundByItsRuleAlone(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	for _, f := range facilitatorFaults {
		covered[f.rule] = true
		t.Run(f.rule+" "+f.name, func(t *testing.T) {
			t.Parallel()
			s, c := newSettler(t)
			f.plant(s)
			if s.limitsPayee && runtime.GOOS == "darwin" {
				t.Skip("needs a second loopback address")
			}
			report, err := conformance.Facilitator(t.Context(), c)
			require.NoError(t, err)
			all := found(report)
			require.Len(t, all, 1, "%v", all)
			for at, status := range all {
				require.True(t, strings.HasPrefix(at, f.rule+": "), at)
				require.Equal(t, f.status, status, at)
			}
		})
	}
	for _, r := range conformance.FacilitatorRules() {
		require.True(t, covered[r.ID], "no planted fault breaks %s", r.ID)
	}
}

func TestFacilitatorIsJudgedOnATestChainAlone(t *testing.T) {
	t.Parallel()
	_, c := newSettler(t)
	key, err := evm.ParseKey(strings.Repeat("44", 32))
	require.NoError(t, err)
	live, err := evm.NewWallet(evm.WalletConfig{Key: key, Assets: map[int64]x402.Asset{8453: {Address: c.Wallet.Address(), Decimals: 6}}})
	require.NoError(t, err)
	c.Wallet = live
	_, err = conformance.Facilitator(t.Context(), c)
	require.ErrorContains(t, err, "Wallet: has no USDC on chain 84532")
	_, err = conformance.Facilitator(t.Context(), conformance.FacilitatorConfig{URL: "facilitator"})
	require.ErrorContains(t, err, "URL: must be")
}
