package card_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
)

// dollar is what the tests charge.
const dollar = 1_000_000

// movableClock is a clock that stands until it is moved.
type movableClock struct{ millis atomic.Int64 }

func (c *movableClock) Now() time.Time { return time.UnixMilli(c.millis.Load()) }

// setup is a processor with a rail, a file that outlives both, and a clock.
type setup struct {
	path      string
	clock     *movableClock
	processor *card.Processor
	rail      *card.Rail
}

func newSetup(t *testing.T) *setup {
	t.Helper()
	s := &setup{path: filepath.Join(t.TempDir(), "card.db"), clock: &movableClock{}}
	s.clock.millis.Store(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixMilli())
	s.reopen(t)
	return s
}

// reopen opens another processor over the same file and leaves the one before as
// it is: its end is not its own doing, as in a crash.
func (s *setup) reopen(t *testing.T) {
	t.Helper()
	s.processor = open(t, card.ProcessorConfig{Path: s.path, Clock: s.clock.Now})
	s.rail = newRail(t, s.processor)
}

func open(t *testing.T, config card.ProcessorConfig) *card.Processor {
	t.Helper()
	processor, err := card.OpenProcessor(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, processor.Close()) })
	return processor
}

func newRail(t *testing.T, gateway card.Gateway) *card.Rail {
	t.Helper()
	r, err := card.New(card.Config{Gateway: gateway})
	require.NoError(t, err)
	return r
}

// serve serves a handler and returns a gateway to it.
func serve(t *testing.T, handler http.Handler, key card.Key) *card.HTTP {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	gateway, err := card.NewHTTP(card.HTTPConfig{BaseURL: server.URL, Key: key})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, gateway.Close()) })
	return gateway
}

// connect connects a test card under a reference of its name.
func connect(t *testing.T, r rail.Rail, name string) rail.Instrument {
	t.Helper()
	instrument, err := r.Connect(t.Context(), rail.Connection{Reference: "connect-" + name, Method: name, Email: "payer@example.com"})
	require.NoError(t, err)
	return instrument
}

// charge is a dollar's charge under a reference.
func charge(reference string, instrument rail.Instrument) rail.Charge {
	return rail.Charge{
		Reference: reference, MandateID: "del_1", MerchantID: "mer_1",
		Instrument: instrument, Amount: dollar, Description: "a test",
	}
}

// params is what the rail asks the processor for a charge.
func params(c rail.Charge) card.PaymentParams {
	return card.PaymentParams{
		Reference: c.Reference, Customer: c.Instrument.Customer, Method: c.Instrument.Method,
		Payee: c.MerchantID, Mandate: c.MandateID, AmountCents: money.Cents(c.Amount / money.MicrosPerCent), Description: c.Description,
	}
}

// books are a processor's sums, in process or over HTTP.
type books interface {
	Totals(ctx context.Context) (card.Totals, error)
}

// movedCents asks the books for all that has moved.
func movedCents(t *testing.T, p books) money.Cents {
	t.Helper()
	totals, err := p.Totals(t.Context())
	require.NoError(t, err)
	return totals.CapturedCents
}
