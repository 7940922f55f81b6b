package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/dnstest"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/vault"
	"github.com/paywarrant/paywarrant/webhook"
)

// TestEventsOfAMandatesLife: each of the four types, when it happens, in order,
// with its data.
func TestEventsOfAMandatesLife(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	hook := c.Webhook(t)
	m := c.mandate(t, 500, 1000)
	created := hook.Next(t)
	require.Equal(t, webhook.MandateCreated, created.Type)
	require.Regexp(t, "^evt_", created.ID)
	require.False(t, created.Livemode)
	var d webhook.Mandate
	require.NoError(t, json.Unmarshal(created.Data, &d))
	require.Equal(t, []any{"active", int64(500), int64(1000), ""}, []any{d.Status, d.MaxPerTxCents, d.MaxMonthlySpendCents, d.RevokedBy})

	charge := c.charge(t, m, 250, "k1").ok(t)
	paid := hook.Next(t)
	require.Equal(t, webhook.PaymentSucceeded, paid.Type)
	var p webhook.Payment
	require.NoError(t, json.Unmarshal(paid.Data, &p))
	require.Equal(t, []any{charge.str("transactionId"), d.MandateID, int64(250), "fiatrail", "succeeded", ""},
		[]any{p.TransactionID, p.MandateID, p.AmountCents, p.Rail, p.Status, p.FailureReason})

	c.charge(t, m, 250, "k1").ok(t) // replayed: nothing happened
	c.do(t, "POST", "/v1/mandates/"+m+"/revoke", "").ok(t)
	c.do(t, "POST", "/v1/mandates/"+m+"/revoke", "").ok(t)
	revoked := hook.Next(t)
	require.Equal(t, webhook.MandateRevoked, revoked.Type)
	require.NoError(t, json.Unmarshal(revoked.Data, &d))
	require.Equal(t, []string{"revoked", "merchant"}, []string{d.Status, d.RevokedBy})

	bad := c.mandate(t, 500, 1000, "card_decline_after_setup")
	require.Equal(t, webhook.MandateCreated, hook.Next(t).Type)
	c.charge(t, bad, 100, "k2").ok(t)
	failed := hook.Next(t)
	require.Equal(t, webhook.PaymentFailed, failed.Type)
	require.NoError(t, json.Unmarshal(failed.Data, &p))
	require.Equal(t, []string{"failed", "card_declined"}, []string{p.Status, p.FailureReason})

	page, err := c.Client().EventsPage(t.Context(), client.EventListParams{})
	require.NoError(t, err)
	require.Len(t, page.Data, 5)
	require.Contains(t, page.Data, created)
	require.Contains(t, page.Data, paid)
}

// receiver is an endpoint that answers as configured and records its requests.
type receiver struct {
	client.WebhookEndpoint

	got    chan *http.Request
	bodies chan []byte
	status atomic.Int64
	header atomic.Value
}

func (c caller) receiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{got: make(chan *http.Request, 1000), bodies: make(chan []byte, 1000)}
	r.status.Store(204)
	r.header.Store(http.Header{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		body, _ := io.ReadAll(in.Body)
		for k, v := range r.header.Load().(http.Header) {
			w.Header()[k] = v
		}
		w.WriteHeader(int(r.status.Load()))
		_, _ = io.WriteString(w, "the receiver's own words")
		r.got <- in
		r.bodies <- body
	}))
	t.Cleanup(srv.Close)
	var err error
	r.WebhookEndpoint, err = c.Client().CreateWebhookEndpoint(t.Context(), client.WebhookEndpointParams{URL: srv.URL + "/hooks?a=b"})
	require.NoError(t, err)
	return r
}

func (r *receiver) next(t *testing.T) (*http.Request, []byte) {
	t.Helper()
	select {
	case in := <-r.got:
		return in, <-r.bodies
	case <-time.After(time.Minute):
		t.Fatal("nothing was delivered")
		return nil, nil
	}
}

// quiet requires that nothing comes for a moment.
func (r *receiver) quiet(t *testing.T) {
	t.Helper()
	select {
	case <-r.got:
		t.Fatal("something was delivered")
	case <-time.After(300 * time.Millisecond):
	}
}

// TestDeliveriesVerifyByStandardWebhooks: with the official library, unchanged.
func TestDeliveriesVerifyByStandardWebhooks(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	r := c.receiver(t)
	library, err := standard.NewWebhook(r.Secret)
	require.NoError(t, err)
	c.mandate(t, 500, 1000)
	in, body := r.next(t)
	require.NoError(t, library.Verify(body, in.Header))
	e, err := webhook.Verifier{Secrets: []string{r.Secret}}.Verify(in.Header, body)
	require.NoError(t, err)
	require.Equal(t, e.ID, in.Header.Get("webhook-id"))
	require.Equal(t, "/hooks?a=b", in.RequestURI)
	require.Equal(t, "application/json", in.Header.Get("Content-Type"))
	require.Less(t, len(body), 20_000)
	require.Equal(t, 1, strings.Count(in.Header.Get("X-Service-Signature"), "v1="))
}

// TestRetriesFollowTheSchedule: the same bytes each time, later ones of the mandate
// held back, until it is given up.
func TestRetriesFollowTheSchedule(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	r := c.receiver(t)
	r.status.Store(500)
	m := c.mandate(t, 500, 1000)
	in, first := r.next(t)
	stamp := in.Header.Get("webhook-timestamp")
	c.charge(t, m, 100, "k1").ok(t)
	r.quiet(t)
	for _, wait := range []time.Duration{
		5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour,
	} {
		c.Clock.Advance(wait - time.Second)
		if wait == 5*time.Second {
			r.quiet(t)
		}
		c.Clock.Advance(wait/10 + 2*time.Second)
		in, body := r.next(t)
		require.Equal(t, first, body)
		require.NotEqual(t, stamp, in.Header.Get("webhook-timestamp"))
	}
	r.status.Store(200)
	c.Clock.Advance(27 * time.Hour)
	_, body := r.next(t)
	require.Equal(t, first, body)
	_, second := r.next(t)
	require.Contains(t, string(second), `"type":"payment.succeeded"`)
}

func TestGoneDisablesAndMails(t *testing.T) {
	t.Parallel()
	c := setup(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Acme", Email: "ops@acme.example"}})
	r := c.receiver(t)
	r.status.Store(410)
	c.mandate(t, 500, 1000)
	r.next(t)
	mailed := c.mail(t)
	require.Equal(t, "ops@acme.example", mailed.To)
	require.Contains(t, mailed.Text, "410")
	e, err := c.Client().WebhookEndpoint(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, client.EndpointDisabled, e.Status)
	c.mandate(t, 500, 1000)
	r.quiet(t)
}

func TestFiveDaysOfFailureDisable(t *testing.T) {
	t.Parallel()
	c := setup(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Acme", Email: "ops@acme.example"}})
	r := c.receiver(t)
	r.status.Store(500)
	c.mandate(t, 500, 1000)
	r.next(t)
	c.Clock.Advance(4 * 24 * time.Hour)
	r.next(t)
	require.Empty(t, c.Mails())
	c.Clock.Advance(24*time.Hour + time.Minute)
	r.next(t)
	require.Contains(t, c.mail(t).Text, "five days")
}

// TestRetryAfterIsHonoured: by all that goes to the endpoint.
func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	r := c.receiver(t)
	r.status.Store(429)
	r.header.Store(http.Header{"Retry-After": {"3600"}})
	c.mandate(t, 500, 1000)
	r.next(t)
	c.mandate(t, 500, 1000)
	r.quiet(t)
	r.status.Store(204)
	c.Clock.Advance(30 * time.Minute)
	r.quiet(t)
	c.Clock.Advance(31 * time.Minute)
	r.next(t)
	r.next(t)
}

// TestRedirectsAreNotFollowed: and count as failures.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	other, r := c.receiver(t), c.receiver(t)
	c.mandate(t, 500, 1000)
	other.next(t)
	r.next(t)
	r.status.Store(307)
	r.header.Store(http.Header{"Location": {other.URL}})
	d, err := c.Client().TestWebhookEndpoint(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, client.TestDelivery{EventID: d.EventID, HTTPStatus: 307, Error: "answered 307", Answer: "the receiver's own words"}, d)
	other.quiet(t)
}

// TestSecretRotationMidFlight: deliveries all verify, whether the receiver has the
// former secret or, from the answer on, the new one alone.
func TestSecretRotationMidFlight(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	r := c.receiver(t)
	stop, done := make(chan struct{}), make(chan struct{})
	m := c.mandate(t, 500, 10_000)
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				c.charge(t, m, 1, fmt.Sprint("k", i))
			}
		}
	}()
	verify := func(secret string, n int) {
		for range n {
			in, body := r.next(t)
			_, err := webhook.Verifier{Secrets: []string{secret}}.Verify(in.Header, body)
			require.NoError(t, err)
		}
	}
	verify(r.Secret, 10)
	fresh, err := c.Client().RotateWebhookSecret(t.Context(), r.ID)
	require.NoError(t, err)
	require.NotEqual(t, r.Secret, fresh.Secret)
	require.False(t, fresh.PreviousSecretExpiresAt.IsZero())
	verify(r.Secret, len(r.bodies)) // what was on its way
	verify(fresh.Secret, 20)
	verify(r.Secret, 20)
	close(stop)
	<-done
	for len(r.bodies) > 0 {
		verify(fresh.Secret, 1)
	}
	c.Clock.Advance(25 * time.Hour)
	for i := 0; ; i++ { // an instance knows a moment later
		c.charge(t, m, 1, fmt.Sprint("late", i)).ok(t)
		in, body := r.next(t)
		_, err = webhook.Verifier{Secrets: []string{fresh.Secret}, Clock: c.Clock.Now, Tolerance: 48 * time.Hour}.Verify(in.Header, body)
		require.NoError(t, err)
		if strings.Count(in.Header.Get("X-Service-Signature"), "v1=") == 1 {
			return
		}
	}
}

// TestLiveModeSendsToNobodyInside: in live mode the service dials no internal address,
// whatever the endpoint's URL is and wherever its name resolves to. Package events tests
// names, rebinding and redirects with a receiver that can be reached.
func TestLiveModeSendsToNobodyInside(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool
	inside := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	t.Cleanup(inside.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(inside.URL, "https://"), ":")
	names := map[string]string{
		"loopback.example": "127.0.0.1", "private.example": "192.168.1.1", "metadata.example": "169.254.169.254", "azure.example": "168.63.129.16",
		"link.example": "fe80::1", "own.example": "fd00:ec2::254", "mapped.example": "::ffff:127.0.0.1", "nat64.example": "64:ff9b::7f00:1",
		"six.example": "::1", "2130706433": "127.0.0.1", "0x7f.0.0.1": "127.0.0.1",
	}
	wrapper, err := vault.NewLocal(make([]byte, 32))
	require.NoError(t, err)
	var store store.Store
	c := setup(t, &servertest.Options{Configure: func(cfg *server.Config) {
		cfg.Mode, cfg.Wrapper, store = server.Live, wrapper, cfg.Store
		cfg.Resolver = dnstest.Start(t, func(name string, _ int) []netip.Addr { return []netip.Addr{netip.MustParseAddr(names[name])} })
	}})
	hosts := append(slices.Sorted(maps.Keys(names)), "127.0.0.1", "localhost", "[::1]", "[::ffff:7f00:1]", "[64:ff9b::a00:1]", "169.254.169.254",
		"10.0.0.1", "172.16.0.1", "100.64.0.1", "0.0.0.0", "[fe80::1]", "[fd00::1]", "[2002:7f00:1::]")
	for _, host := range hosts {
		e, err := c.Client().CreateWebhookEndpoint(t.Context(), client.WebhookEndpointParams{URL: "https://" + host + ":" + port})
		require.NoError(t, err)
		d, err := c.Client().TestWebhookEndpoint(t.Context(), e.ID)
		require.NoError(t, err)
		want := "the address is not one of the public internet"
		if host == "2130706433" { // which some take for an address
			want = "the name does not resolve"
		}
		require.Equal(t, client.TestDelivery{EventID: d.EventID, Error: want}, d, host)
		_, err = c.Client().DeleteWebhookEndpoint(t.Context(), e.ID)
		require.NoError(t, err)
	}
	c.do(t, "POST", "/v1/webhook_endpoints", `{"url":"http://127.0.0.1:`+port+`"}`).refused(t, 400, "validation_error")

	_, err = c.Client().CreateWebhookEndpoint(t.Context(), client.WebhookEndpointParams{URL: "https://loopback.example:" + port})
	require.NoError(t, err)
	event := ledger.Event{MandateID: "del_1", Seq: 1, MerchantID: c.Merchant.ID, Type: webhook.MandateCreated, Data: "{}", CreatedAt: c.Clock.Now()}
	event.ID = id.New(id.Event, event.CreatedAt)
	require.NoError(t, store.Update(t.Context(), ledger.Keys{}, func(*ledger.State) (ledger.Effects, error) {
		return ledger.Effects{Insert: ledger.Rows{Events: []ledger.Event{event}}}, nil
	}))
	require.Eventually(t, func() bool {
		list, err := c.Client().EventDeliveries(t.Context(), event.ID)
		require.NoError(t, err)
		return len(list.Data) == 1 && list.Data[0].Error == "the address is not one of the public internet"
	}, time.Minute, 10*time.Millisecond)
	require.False(t, reached.Load())
}
