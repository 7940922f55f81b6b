package facilitator_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/internal/facilitator"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/x402"
)

// chain is a settler with one answer.
type chain struct {
	settlement x402.Settlement
	invalid    bool
	reason     x402.Reason // with invalid
	err        error
	busy       chan struct{} // not nil: waits until it is closed
	entered    chan struct{}
}

func (c *chain) Dollar() (x402.Network, x402.Asset) {
	asset, _ := x402.USDC(8453)
	return x402.NetworkOf(8453), asset
}

func (c *chain) Signer() string { return "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" }

func (c *chain) VerifyAuthorization(context.Context, x402.Exact, string) (x402.Verification, error) {
	return x402.Verification{IsValid: c.err == nil && !c.invalid, InvalidReason: c.reason}, c.err
}

func (c *chain) SettleOnce(context.Context, x402.Exact, rail.SettleRequest) (x402.Settlement, error) {
	if c.busy != nil {
		c.entered <- struct{}{}
		<-c.busy
	}
	return c.settlement, c.err
}

func (c *chain) SignedByKey(e x402.Exact) bool { return e.Signature == "0x01" }

// still is a clock that stands.
func (c *chain) SettlesUpto() bool { return true }

func (c *chain) UptoSignedByKey(u x402.Upto) bool { return u.Signature == "0x01" }

func (c *chain) VerifyUpto(ctx context.Context, _ x402.Upto, q rail.SettleRequest) (x402.Verification, error) {
	return c.VerifyAuthorization(ctx, x402.Exact{}, q.Resource)
}

func (c *chain) SettleUpto(ctx context.Context, _ x402.Upto, amount string, q rail.SettleRequest) (x402.Settlement, error) {
	s, err := c.SettleOnce(ctx, x402.Exact{}, q)
	s.Amount = amount
	return s, err
}

type still struct{}

func (still) Now() time.Time { return time.Unix(1_800_000_000, 0) }

const request = `{"x402Version":1,"paymentPayload":{"x402Version":1,"scheme":"exact","network":"base","payload":{"signature":"0x00",
"authorization":{"from":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","to":"0x011C0f3cedF7ff87fFD98Bc21Df1ef8cB80e0a47","value":"10000",
"validAfter":"0","validBefore":"1800000600","nonce":"0x0000000000000000000000000000000000000000000000000000000000000001"}}},
"paymentRequirements":{"scheme":"exact","network":"base","maxAmountRequired":"10000","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
"payTo":"0x011C0f3cedF7ff87fFD98Bc21Df1ef8cB80e0a47","resource":"https://api.example.com/","maxTimeoutSeconds":60}}`

func serve(t *testing.T, c facilitator.Config) func(path string, text ...string) *httptest.ResponseRecorder {
	t.Helper()
	c.Clock, c.Logger = still{}.Now, slog.New(slog.DiscardHandler)
	f, err := facilitator.New(c)
	require.NoError(t, err)
	mux := http.NewServeMux()
	f.Register(mux, notAllowed)
	return func(path string, text ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/x402/"+path, strings.NewReader(append(text, request)[0]))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w
	}
}

func TestWhatTheChainDoesNotTellIsUndecided(t *testing.T) {
	t.Parallel()
	ask := serve(t, facilitator.Config{Settler: &chain{err: errors.New("no answer")}})
	for path, body := range map[string]string{
		"verify": `"invalidReason":"unexpected_verify_error"`, "settle": `"errorReason":"unexpected_settle_error"`,
	} {
		w := ask(path)
		require.Equal(t, 503, w.Code)
		require.Equal(t, "1", w.Header().Get("Retry-After"))
		require.Contains(t, w.Body.String(), body)
		require.NotContains(t, w.Body.String(), "no answer", "the inside stays inside")
	}
}

func TestPendingSettlementTellsItsTransaction(t *testing.T) {
	t.Parallel()
	hash := "0x" + strings.Repeat("ab", 32)
	ask := serve(t, facilitator.Config{Settler: &chain{settlement: x402.Settlement{ErrorReason: x402.ReasonPending, Transaction: hash}}})
	w := ask("settle")
	require.Equal(t, 200, w.Code)
	require.JSONEq(t, `{"success":false,"errorReason":"settlement_pending","transaction":"`+hash+`","network":"base"}`, w.Body.String())
	require.NotEmpty(t, w.Header().Get("Retry-After"))
}

func TestPaymentsOfOnePayerAreLimited(t *testing.T) {
	t.Parallel()
	ask := serve(t, facilitator.Config{Settler: &chain{}, PerSecond: 1, PerAddress: 100})
	signed := strings.Replace(request, "0x00", "0x01", 1)
	require.Equal(t, 200, ask("settle", signed).Code)
	require.Equal(t, 200, ask("verify", strings.Replace(signed, "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", "0x209693bc6afc0c5328ba36faf03c514ef312287c", 1)).Code, "in any spelling")
	w := ask("settle", signed)
	require.Equal(t, 429, w.Code)
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	require.Equal(t, `"payments";q=2;w=2`, w.Header().Get("RateLimit-Policy"))
	require.Contains(t, w.Body.String(), `"errorReason":"unexpected_settle_error"`)
	require.Equal(t, 200, ask("verify", strings.Replace(signed, "0x2096", "0x3096", 1)).Code, "another payer")
}

// TestJunkIsCountedByAddress: an unsigned payment does not count against the payer that it
// names, and a good one does not count against its address.
func TestJunkIsCountedByAddress(t *testing.T) {
	t.Parallel()
	c := &chain{}
	ask := serve(t, facilitator.Config{Settler: c, PerSecond: 100, PerAddress: 1})
	signed := strings.Replace(request, "0x00", "0x01", 1)
	for range 4 {
		require.Equal(t, 200, ask("verify").Code, "a wallet that is a contract signed")
	}
	c.invalid = true
	require.Equal(t, 200, ask("verify").Code)
	require.Equal(t, 200, ask("settle").Code)
	for _, junk := range []string{request, "{", "{}"} {
		w := ask("verify", junk)
		require.Equal(t, 429, w.Code, junk)
		require.NotEmpty(t, w.Header().Get("Retry-After"))
	}
	for range 2 {
		require.Equal(t, 200, ask("verify", signed).Code, "signed payments are counted apart")
	}
	require.Equal(t, 429, ask("verify", signed).Code, "of payers who never paid")
	c.invalid = false
	require.Equal(t, 429, ask("verify", signed).Code)
}

// TestGoodPayersAreNotCountedByAddress: those who have paid are not held up by others at
// the address of their gate.
func TestGoodPayersAreNotCountedByAddress(t *testing.T) {
	t.Parallel()
	c := &chain{}
	ask := serve(t, facilitator.Config{Settler: c, PerSecond: 100, PerAddress: 1})
	signed := strings.Replace(request, "0x00", "0x01", 1)
	require.Equal(t, 200, ask("verify", signed).Code)
	c.invalid = true
	stranger := strings.Replace(signed, "0x2096", "0x3096", 1)
	for range 3 {
		ask("verify", stranger)
	}
	require.Equal(t, 429, ask("verify", stranger).Code)
	c.invalid = false
	for range 4 {
		require.Equal(t, 200, ask("verify", signed).Code)
	}
}

// TestCopiedPaymentsDoNotUseUpTheirPayersLimit: payments copied from the chain count
// against the sender's address, whether their payer has paid in the last hour or not.
func TestCopiedPaymentsDoNotUseUpTheirPayersLimit(t *testing.T) {
	t.Parallel()
	signed := strings.Replace(request, "0x00", "0x01", 1)
	expired := strings.Replace(signed, `"validBefore":"1800000600"`, `"validBefore":"1800000000"`, 1)
	for _, paidBefore := range []bool{false, true} {
		for name, tc := range map[string]struct {
			body   string
			reason x402.Reason
		}{
			"expired": {expired, x402.ReasonValidBefore}, "expired during the check": {signed, x402.ReasonValidBefore},
			"used": {signed, x402.ReasonNonceUsed}, "settled before": {signed, x402.ReasonDuplicate},
		} {
			c := &chain{}
			ask := serve(t, facilitator.Config{Settler: c, PerSecond: 3, PerAddress: 5})
			if paidBefore {
				require.Equal(t, 200, ask("verify", signed).Code)
			}
			c.invalid, c.reason = true, tc.reason
			c.settlement = x402.Settlement{ErrorReason: tc.reason}
			for i := range 10 {
				path := []string{"verify", "settle"}[i%2]
				require.Equal(t, 200, ask(path, tc.body).Code, "%s, %d", name, i)
			}
			w := ask("verify", tc.body)
			require.Equal(t, 429, w.Code, name)
			require.Contains(t, w.Body.String(), "this address", name)
		}
	}
}

func TestBodyThatIsNoJSONIsUnsupported(t *testing.T) {
	t.Parallel()
	f, err := facilitator.New(facilitator.Config{Settler: &chain{}, Clock: still{}.Now, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	mux := http.NewServeMux()
	f.Register(mux, notAllowed)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/x402/verify", strings.NewReader(request))
	r.Header.Set("Content-Type", "text/plain")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	require.Equal(t, 415, w.Code)
}

func TestPaymentsAtATimeAreLimited(t *testing.T) {
	t.Parallel()
	c := &chain{busy: make(chan struct{}), entered: make(chan struct{})}
	ask := serve(t, facilitator.Config{Settler: c, Concurrent: 1})
	done := make(chan int)
	go func() { done <- ask("settle").Code }()
	<-c.entered
	require.Equal(t, 503, ask("verify").Code)
	close(c.busy)
	require.Equal(t, 200, <-done)
	require.Equal(t, 200, ask("verify").Code, "the room is free again")
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	for field, c := range map[string]facilitator.Config{
		"Settler": {Clock: still{}.Now, Logger: log},
		"Clock":   {Settler: &chain{}, Logger: log},
		"Logger":  {Settler: &chain{}, Clock: still{}.Now},
		"limits":  {Settler: &chain{}, Clock: still{}.Now, Logger: log, PerSecond: -1},
	} {
		_, err := facilitator.New(c)
		require.ErrorContains(t, err, field)
	}
}

// FuzzRequest: whatever is sent, the answer is the protocol's, and nothing is
// settled that was not asked for.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(request))
	f.Add([]byte(`{"x402Version":2}`))
	f.Add([]byte(`{`))
	log := slog.New(slog.DiscardHandler)
	f.Fuzz(func(t *testing.T, body []byte) {
		one, err := facilitator.New(facilitator.Config{Settler: &chain{}, Clock: still{}.Now, Logger: log})
		require.NoError(t, err)
		mux := http.NewServeMux()
		one.Register(mux, notAllowed)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/x402/verify", strings.NewReader(string(body)))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		require.Contains(t, []int{200, 400, 413}, w.Code)
		require.Contains(t, w.Body.String(), `"isValid":`)
	})
}

func notAllowed(...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) })
}
