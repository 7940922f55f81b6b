package paywall_test

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
)

const paidID = "pay_7d5d747be160e280504c099d984bcfe0"

// unserved is a world in which a payment under paidID was made and not served.
func unserved(t *testing.T, change func(*paywall.Config)) (w *world, paid string) {
	t.Helper()
	w = setup(t, change)
	paid = w.payX402(w.gate, identifier(paidID))
	serve := w.handler
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) }
	require.Equal(t, http.StatusInternalServerError, w.ask("PAYMENT-SIGNATURE", paid).Code)
	w.handler = serve
	return w, paid
}

func forge(p *x402.Payload) {
	identifier(paidID)(p)
	p.Payload.Signature = "0xbad0"
}

// answers makes verify answer with one text.
func (s *service) answers(text string) {
	s.verifies(func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, text) })
}

func TestForgedPaymentTakesNoPaidRequestOfAnother(t *testing.T) {
	t.Parallel()
	w, paid := unserved(t, nil)
	requireRefusal(t, w.ask("PAYMENT-SIGNATURE", w.payX402(w.gate, forge)), 402, string(x402.ReasonSignature))
	w.service.verifies(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusServiceUnavailable) })
	require.Equal(t, http.StatusBadGateway, w.ask("PAYMENT-SIGNATURE", w.payX402(w.gate, forge)).Code)
	require.EqualValues(t, 1, w.served.Load(), "the handler ran for the payer alone")
	require.Equal(t, http.StatusOK, w.ask("PAYMENT-SIGNATURE", paid).Code, "the payer's own needs no verification")
	require.Equal(t, 1, w.service.moved())
}

func TestPaymentRebuiltFromTheChainTakesNoPaidRequest(t *testing.T) {
	t.Parallel()
	w, paid := unserved(t, nil)
	nonce := w.service.lastNonce()
	rebuilt := w.payX402(w.gate, func(p *x402.Payload) {
		identifier(paidID)(p)
		p.Payload.Authorization.Nonce = nonce
		p.Resource = nil
	})
	requireRefusal(t, w.ask("PAYMENT-SIGNATURE", rebuilt), 402, "credential_for_another_payment")
	require.Equal(t, http.StatusOK, w.ask("PAYMENT-SIGNATURE", paid).Code)
}

func TestLatePaymentTakesNoPaidRequest(t *testing.T) {
	t.Parallel()
	w, paid := unserved(t, nil)
	late := w.payX402(w.gate, identifier(paidID))
	w.clock.Advance(time.Hour)
	requireRefusal(t, w.ask("PAYMENT-SIGNATURE", late), 402, string(x402.ReasonValidBefore))
	require.Equal(t, http.StatusOK, w.ask("PAYMENT-SIGNATURE", paid).Code, "the one that paid is honored for a day")
}

func TestPaymentSignedAnewWithoutFundsTakesWhatItsPayerPaid(t *testing.T) {
	t.Parallel()
	const poor = `{"isValid":false,"invalidReason":"insufficient_funds"}`
	w, _ := unserved(t, nil)
	w.service.answers(poor)
	require.Equal(t, http.StatusOK, w.ask("PAYMENT-SIGNATURE", w.payX402(w.gate, identifier(paidID))).Code)
	require.Equal(t, 1, w.service.moved())

	other, paid := unserved(t, func(c *paywall.Config) { c.Facilitator = c.APIURL + "/v1/x402" })
	other.service.answers(poor)
	anew := other.payX402(other.gate, identifier(paidID))
	requireRefusal(t, other.ask("PAYMENT-SIGNATURE", anew), 402, string(x402.ReasonInsufficientFunds))
	require.Equal(t, http.StatusOK, other.ask("PAYMENT-SIGNATURE", paid).Code)
}

// blind is a Settler that cannot verify.
type blind struct{ x402.Settlement }

func (b blind) SettleMandate(context.Context, client.PaywallSettlementParams) (paywall.MandateSettlement, error) {
	return paywall.MandateSettlement{}, nil
}

func (b blind) SettleTransfer(context.Context, x402.FacilitatorRequest) (x402.Settlement, error) {
	return b.Settlement, nil
}

func TestPaidRequestIsOnlyForItsOwnPaymentIfNobodyVerifies(t *testing.T) {
	t.Parallel()
	w, paid := unserved(t, func(c *paywall.Config) {
		c.Settler = blind{x402.Settlement{Success: true, Transaction: transaction(1), Payer: payer}}
	})
	rec := w.ask("PAYMENT-SIGNATURE", w.payX402(w.gate, forge))
	require.Equal(t, http.StatusConflict, rec.Code)
	require.Equal(t, "credential_for_another_payment", body(t, rec)["code"])
	require.Equal(t, http.StatusOK, w.ask("PAYMENT-SIGNATURE", paid).Code)
}

// unseen is a store in which the first look finds nothing.
type unseen struct {
	paywall.Redemptions
	looked *atomic.Int64
}

func (u unseen) Peek(ctx context.Context, c paywall.Claim) (paywall.Claimed, error) {
	if u.looked.Add(1) <= 2 {
		return paywall.Claimed{State: paywall.ClaimFresh}, nil
	}
	return u.Redemptions.Peek(ctx, c)
}

func TestRequestPaidSinceItWasLookedUpIsOnlyForItsPayer(t *testing.T) {
	t.Parallel()
	var looked atomic.Int64
	w, paid := unserved(t, func(c *paywall.Config) {
		c.Settler = blind{x402.Settlement{Success: true, Transaction: transaction(1), Payer: payer}}
		c.Redemptions = unseen{paywall.NewMemory(paywall.MemoryConfig{Clock: c.Clock}), &looked}
	})
	looked.Store(0)
	require.Equal(t, http.StatusConflict, w.ask("PAYMENT-SIGNATURE", w.payX402(w.gate, forge)).Code)
	require.Equal(t, http.StatusOK, w.ask("PAYMENT-SIGNATURE", paid).Code, "and the payment is kept")
}

// TestPaymentIsServedOnceThoughItsIdentifierIsForgotten: the identifier is remembered
// for as long as the credential that paid.
func TestPaymentIsServedOnceThoughItsIdentifierIsForgotten(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"memory", "sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for name, last := range map[string]time.Duration{"settled late": 0, "tried again for a day": 23 * time.Hour} {
				w := setup(t, nil)
				store := paywall.Redemptions(paywall.NewMemory(paywall.MemoryConfig{Clock: w.clock.Now}))
				if kind != "memory" {
					store = openSQL(t, openDB(t, kind), w.clock)
				}
				gate := w.newGate(func(c *paywall.Config) { c.Redemptions = store })
				paid := w.payX402(gate, identifier(paidID))
				serve := w.handler
				w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) }
				var settling atomic.Bool
				w.service.bend(func(http.ResponseWriter, *http.Request, func()) bool {
					if settling.CompareAndSwap(false, true) {
						w.clock.Advance(30 * time.Second)
					}
					return false
				})
				require.Equal(t, 500, w.through(gate, "PAYMENT-SIGNATURE", paid).Code, name)
				w.clock.Advance(last)
				w.handler = serve
				require.Equal(t, 200, w.through(gate, "PAYMENT-SIGNATURE", paid).Code, name)
				w.clock.Advance(24*time.Hour - last - 15*time.Second)
				require.NotEqual(t, 200, w.through(gate, "PAYMENT-SIGNATURE", paid).Code, name)
				w.clock.Advance(10 * time.Second)
				require.NotEqual(t, 200, w.through(gate, "PAYMENT-SIGNATURE", paid).Code, name)
			}
		})
	}
}
