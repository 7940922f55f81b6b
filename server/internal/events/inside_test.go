package events_test

import (
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/store"
)

const forbidden = "the address is not one of the public internet"

func only(addresses ...string) func(string, int) []netip.Addr {
	return func(string, int) []netip.Addr {
		all := make([]netip.Addr, len(addresses))
		for i, a := range addresses {
			all[i] = netip.MustParseAddr(a)
		}
		return all
	}
}

// TestNamesThatLeadInsideGetNothing: what resolves inside is refused before anything
// is sent; of a name that resolves to both, the outside is sent to.
func TestNamesThatLeadInsideGetNothing(t *testing.T) {
	t.Parallel()
	port, taken := receiver(t, nil)
	for _, inside := range []string{"127.0.0.2", "10.0.0.1", "169.254.169.254", "fd00::1", "fe80::1", "::ffff:127.0.0.2", "64:ff9b::7f00:1", "::1"} {
		b := setup(t, only(inside))
		b.endpoint(t, address("shop.example", port))
		d := b.came(t, b.happen(t), 1)
		require.Equal(t, []any{store.DeliveryPending, forbidden, 0}, []any{d.Status, d.Error, d.HTTPStatus}, inside)
	}
	require.Zero(t, taken.Load())
	b := setup(t, only("10.0.0.1", "127.0.0.1"))
	b.endpoint(t, address("shop.example", port))
	require.Equal(t, store.DeliveryDelivered, b.came(t, b.happen(t), 1).Status)
	require.EqualValues(t, 1, taken.Load())
}

// TestRebindingGetsNothing: the name resolved outside for the first delivery, and
// resolves inside for the second.
func TestRebindingGetsNothing(t *testing.T) {
	t.Parallel()
	port, taken := receiver(t, nil)
	b := setup(t, func(_ string, nth int) []netip.Addr {
		return only([]string{"127.0.0.1", "127.0.0.2"}[min(nth, 1)])("", 0)
	})
	b.endpoint(t, address("rebinds.example", port))
	require.Equal(t, store.DeliveryDelivered, b.came(t, b.happen(t), 1).Status)
	d := b.came(t, b.happen(t), 1)
	require.Equal(t, []any{store.DeliveryPending, forbidden}, []any{d.Status, d.Error})
	require.EqualValues(t, 1, taken.Load())
}

// TestRedirectsInsideAreNotFollowed: a receiver outside sends on to one inside.
func TestRedirectsInsideAreNotFollowed(t *testing.T) {
	t.Parallel()
	inside, reached := receiver(t, nil)
	for _, host := range []string{"127.0.0.1", "127.0.0.2", "inside.example"} {
		port, taken := receiver(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, address(host, inside), http.StatusTemporaryRedirect)
		})
		b := setup(t, only("127.0.0.1"))
		b.endpoint(t, address("shop.example", port))
		d := b.came(t, b.happen(t), 1)
		require.Equal(t, []any{store.DeliveryPending, "answered 307", 307}, []any{d.Status, d.Error, d.HTTPStatus}, host)
		require.EqualValues(t, 1, taken.Load())
	}
	require.Zero(t, reached.Load())
}

// TestAnAddressThatBecomesRightIsSentTo: what was refused is tried again like any
// other failure.
func TestAnAddressThatBecomesRightIsSentTo(t *testing.T) {
	t.Parallel()
	port, taken := receiver(t, nil)
	b := setup(t, func(_ string, nth int) []netip.Addr {
		return only([]string{"10.0.0.1", "127.0.0.1"}[min(nth, 1)])("", 0)
	})
	b.endpoint(t, address("shop.example", port))
	e := b.happen(t)
	require.Equal(t, forbidden, b.came(t, e, 1).Error)
	b.clock.Advance(6 * time.Second)
	require.Equal(t, store.DeliveryDelivered, b.came(t, e, 2).Status)
	require.EqualValues(t, 1, taken.Load())
}
