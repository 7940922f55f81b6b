package server_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/store"
)

func TestEndpointsAPI(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	made := c.do(t, "POST", "/v1/webhook_endpoints", `{"url":"https://shop.example/hooks","events":["payment.failed","payment.failed"]}`).ok(t)
	require.Regexp(t, "^whsec_", made.str("secret"))
	require.Equal(t, []any{"payment.failed"}, made.Body["events"])
	path := "/v1/webhook_endpoints/" + made.str("id")
	read := c.do(t, "GET", path, "").ok(t)
	require.NotContains(t, read.Text, "whsec_")
	require.NotContains(t, c.do(t, "GET", "/v1/webhook_endpoints", "").ok(t).Text, "whsec_")
	for _, url := range []string{"", "shop.example", "http://shop.example", "ftp://shop.example", "https://u:p@shop.example", "https://shop.example/#x", "https:///x"} {
		e := c.do(t, "POST", "/v1/webhook_endpoints", fmt.Sprintf(`{"url":%q}`, url)).refused(t, 400, "validation_error")
		require.Equal(t, "url", e.str("param"))
	}
	c.do(t, "POST", "/v1/webhook_endpoints", `{"url":"https://shop.example","events":["x"]}`).refused(t, 400, "validation_error")
	for n := range 15 {
		c.do(t, "POST", "/v1/webhook_endpoints", fmt.Sprintf(`{"url":"https://shop.example/%d"}`, n)).ok(t)
		again := c.do(t, "POST", "/v1/webhook_endpoints", fmt.Sprintf(`{"url":"https://shop.example/%d"}`, n)).refused(t, 400, "validation_error")
		require.Contains(t, again.str("message"), "already", "an account has an endpoint once")
	}
	c.do(t, "POST", "/v1/webhook_endpoints", `{"url":"https://shop.example"}`).refused(t, 400, "validation_error")

	other, err := c.CreateMerchant(t.Context(), server.MerchantParams{Name: "Other"})
	require.NoError(t, err)
	stranger := caller{Server: c.Server, merchant: other}
	for _, call := range [][2]string{{"GET", path}, {"DELETE", path}, {"POST", path + "/rotate_secret"}, {"POST", path + "/test"}} {
		stranger.do(t, call[0], call[1], "").refused(t, 404, "not_found")
	}
	require.Equal(t, true, c.do(t, "DELETE", path, "").ok(t).Body["deleted"])
	c.do(t, "DELETE", path, "").refused(t, 404, "not_found")
	c.do(t, "PUT", path, "").refused(t, 405, "method_not_allowed")
}

func TestEventsAPI(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	for range 3 {
		c.mandate(t, 500, 1000)
	}
	first := c.do(t, "GET", "/v1/events?limit=2", "").ok(t)
	require.Equal(t, true, first.Body["hasMore"])
	data := first.Body["data"].([]any)
	last := data[1].(map[string]any)["id"].(string)
	rest := c.do(t, "GET", "/v1/events?starting_after="+last, "").ok(t)
	require.Len(t, rest.Body["data"], 1)
	newer := c.do(t, "GET", "/v1/events?wait=1&ending_before="+last, "").ok(t)
	require.Equal(t, data[:1], newer.Body["data"])
	for _, query := range []string{"limit=0", "limit=x", "wait=11", "starting_after=evt_x", "ending_before=del_x"} {
		c.do(t, "GET", "/v1/events?"+query, "").refused(t, 400, "validation_error")
	}
	newest := data[0].(map[string]any)["id"].(string)
	waited := make(chan answer, 1)
	go func() { waited <- c.do(t, "GET", "/v1/events?wait=10&ending_before="+newest, "") }()
	c.mandate(t, 500, 1000)
	require.Len(t, (<-waited).ok(t).Body["data"], 1)

	r := c.receiver(t)
	require.Equal(t, 1, c.do(t, "POST", "/v1/events/"+last+"/redeliver", "").ok(t).int("endpoints"))
	in, _ := r.next(t)
	require.Equal(t, last, in.Header.Get("webhook-id"))
	c.do(t, "POST", "/v1/events/evt_1/redeliver", "").refused(t, 404, "not_found")
	c.do(t, "GET", "/v1/events/evt_1/deliveries", "").refused(t, 404, "not_found")
	c.Clock.Advance(31 * 24 * time.Hour)
	require.Empty(t, c.do(t, "GET", "/v1/events", "").ok(t).Body["data"])
}

// TestNothingIsKeptForEver: events and deliveries go after thirty days, those of an
// endpoint that never answered as well.
func TestNothingIsKeptForEver(t *testing.T) {
	t.Parallel()
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			var db store.Store
			c := setup(t, &servertest.Options{Store: kind.open, Configure: func(cfg *server.Config) { db = cfg.Store }})
			good, bad := c.receiver(t), c.receiver(t)
			bad.status.Store(410)
			c.mandate(t, 500, 1000)
			good.next(t)
			bad.next(t)
			old, err := c.Client().EventsPage(t.Context(), client.EventListParams{})
			require.NoError(t, err)
			require.Len(t, old.Data, 1)
			c.Clock.Advance(ledger.Keep + time.Hour)
			for _, e := range []string{good.ID, bad.ID} {
				require.Eventually(t, func() bool {
					n := 0
					for _, status := range []store.DeliveryStatus{store.DeliveryPending, store.DeliveryDelivered, store.DeliveryFailed} {
						list, err := db.Deliveries(t.Context(), e, status, 10)
						require.NoError(t, err)
						n += len(list)
					}
					return n == 0
				}, time.Minute, 20*time.Millisecond)
			}
			require.Eventually(t, func() bool {
				_, err := db.Event(t.Context(), old.Data[0].ID)
				return errors.Is(err, ledger.ErrNotFound)
			}, time.Minute, 20*time.Millisecond)
		})
	}
}

// TestRedeliveryDuringAnAttempt: an event that is asked for again while it is on
// its way comes twice.
func TestRedeliveryDuringAnAttempt(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	here, answer, came := make(chan struct{}, 10), make(chan struct{}), make(chan string, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, in *http.Request) {
		came <- in.Header.Get("webhook-id")
		here <- struct{}{}
		<-answer
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(func() { close(answer) })
	_, err := c.Client().CreateWebhookEndpoint(t.Context(), client.WebhookEndpointParams{URL: srv.URL})
	require.NoError(t, err)
	c.mandate(t, 500, 1000)
	<-here
	id := <-came
	_, err = c.Client().RedeliverEvent(t.Context(), id)
	require.NoError(t, err)
	answer <- struct{}{}
	<-here
	require.Equal(t, id, <-came)
}

// TestDeliveriesAreTold: an event lists its delivery to each endpoint.
func TestDeliveriesAreTold(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	good, bad := c.receiver(t), c.receiver(t)
	bad.status.Store(503)
	c.mandate(t, 500, 1000)
	in, _ := good.next(t)
	bad.next(t)
	id := in.Header.Get("webhook-id")
	var list client.DeliveryList
	require.Eventually(t, func() bool {
		var err error
		list, err = c.Client().EventDeliveries(t.Context(), id)
		require.NoError(t, err)
		return len(list.Data) == 2 && list.Data[0].Attempts == 1 && list.Data[1].Attempts == 1
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, client.Delivery{
		EndpointID: good.ID, URL: good.URL, Status: client.DeliveryDelivered, Attempts: 1,
	}, list.Data[0])
	require.Equal(t, client.Delivery{
		EndpointID: bad.ID, URL: bad.URL, Status: client.DeliveryPending, Attempts: 1, HTTPStatus: 503, Error: "answered 503",
		Answer: "the receiver's own words", AttemptedAt: list.Data[1].AttemptedAt, NextAttemptAt: list.Data[1].NextAttemptAt,
	}, list.Data[1])
	require.True(t, list.Data[1].NextAttemptAt.After(list.Data[1].AttemptedAt))

	other, err := c.CreateMerchant(t.Context(), server.MerchantParams{Name: "Other"})
	require.NoError(t, err)
	stranger := caller{Server: c.Server, merchant: other}
	stranger.do(t, "GET", "/v1/events/"+id+"/deliveries", "").refused(t, 404, "not_found")
	require.Contains(t, c.do(t, "GET", "/v1/events/"+id+"/deliveries", "").ok(t).Text, `"status":"pending"`)
}
