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
	}
}

func TestRailKeepsTheContractInProcess(t *testing.T) {
	t.Parallel()
	railtest.Run(t, func(t *testing.T) railtest.Fixture {
		t.Helper()
		s := newSetup(t)
		f := fixture(s.rail)
		f.Moved = func(t *testing.T) rail.Micros {
			t.Helper()
			return rail.Micros(movedCents(t, s.processor)) * money.MicrosPerCent
		}
		f.Restart = func(t *testing.T) rail.Rail {
			t.Helper()
			s.reopen(t)
			return s.rail
		}
		return f
	})
}

func TestRailKeepsTheContractOverHTTP(t *testing.T) {
	t.Parallel()
	railtest.Run(t, func(t *testing.T) railtest.Fixture {
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
		f.Moved = func(t *testing.T) rail.Micros {
			t.Helper()
			return rail.Micros(movedCents(t, gateway)) * money.MicrosPerCent
		}
		f.Restart = func(t *testing.T) rail.Rail {
			t.Helper()
			server.CloseClientConnections()
			require.NoError(t, served.Close())
			return start(t)
		}
		return f
	})
}
