package card_test

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/rail/railtest"
)

// fixture is what the two forms have in common.
func fixture(r rail.Rail) railtest.Fixture {
	return railtest.Fixture{
		Rail: r, Works: "card_visa", Amount: dollar,
		RefusedAtConnect: "card_declined", ConnectReason: rail.CardDeclined,
		RefusedAtCharge: "card_insufficient_funds", ChargeReason: rail.InsufficientFunds,
		RefusedAtCapture: "card_capture_refused", CaptureReason: rail.CardDeclined,
		RefusedAtRefund: "card_refund_refused", RefundReason: rail.CardDeclined,
	}
}

// observe adds to a fixture what the processor's books say of moved and held money.
func observe(f *railtest.Fixture, books func() books) {
	totals := func(t *testing.T) card.Totals {
		t.Helper()
		totals, err := books().Totals(t.Context())
		require.NoError(t, err)
		return totals
	}
	f.Moved = func(t *testing.T) rail.Micros {
		t.Helper()
		sums := totals(t)
		return rail.Micros(sums.CapturedCents-sums.RefundedCents) * money.MicrosPerCent
	}
	f.Held = func(t *testing.T) rail.Micros {
		t.Helper()
		return rail.Micros(totals(t).HeldCents) * money.MicrosPerCent
	}
}

// inProcess is the fixture of a rail in the processor's own process.
func inProcess(t *testing.T) railtest.Fixture {
	t.Helper()
	s := newSetup(t)
	f := fixture(s.rail)
	observe(&f, func() books { return s.processor })
	f.Restart = func(t *testing.T) rail.Rail {
		t.Helper()
		s.reopen(t)
		return s.rail
	}
	return f
}

// overHTTP is the fixture of a rail that calls the processor over HTTP.
func overHTTP(t *testing.T) railtest.Fixture {
	t.Helper()
	s := newSetup(t)
	var served *card.Processor
	var server *httptest.Server
	var gateway *card.HTTP
	start := func(t *testing.T) rail.Rail {
		t.Helper()
		served = open(t, card.ProcessorConfig{Path: s.path, Clock: s.clock.Now, Key: "secret"})
		server = httptest.NewServer(served.Handler())
		t.Cleanup(server.Close)
		var err error
		gateway, err = card.NewHTTP(card.HTTPConfig{BaseURL: server.URL, Key: "secret"})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, gateway.Close()) })
		return newRail(t, gateway)
	}
	f := fixture(start(t))
	observe(&f, func() books { return gateway })
	f.Restart = func(t *testing.T) rail.Rail {
		t.Helper()
		server.CloseClientConnections()
		require.NoError(t, served.Close())
		return start(t)
	}
	return f
}

func TestRailKeepsTheContractInProcess(t *testing.T) {
	t.Parallel()
	railtest.Run(t, inProcess)
	railtest.RunAuthorizer(t, inProcess)
	railtest.RunRefunder(t, inProcess)
}

func TestRailKeepsTheContractOverHTTP(t *testing.T) {
	t.Parallel()
	railtest.Run(t, overHTTP)
	railtest.RunAuthorizer(t, overHTTP)
	railtest.RunRefunder(t, overHTTP)
}
