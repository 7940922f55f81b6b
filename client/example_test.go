package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/paywarrant/paywarrant/client"
)

// A session, the person's consent, a charge, and the list of transactions.
func Example() {
	srv := httptest.NewServer(exampleService()) // in production: the address of the service
	defer srv.Close()
	ctx, base, id, key := context.Background(), srv.URL, "mer_example", "sk_test_example"

	c, err := client.New(client.Config{BaseURL: base, MerchantID: id, APIKey: key})
	if err != nil {
		log.Fatal(err)
	}
	defer c.CloseIdleConnections()

	s, err := c.CreateSession(ctx, client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("Send the person to", s.SetupURL)
	m, err := c.WaitForMandate(ctx, s.SessionToken) // polls with back-off until completed, failed or ctx is done
	if err != nil {
		log.Fatal(err)
	}

	ch, err := c.Charge(ctx, client.ChargeParams{Mandate: m, AmountCents: 250, Currency: client.USD, Description: "October report"})
	switch {
	case errors.Is(err, client.ErrUnknownOutcome): // repeat the call with the key in err, later
		fmt.Println(err)
	case errors.Is(err, client.ErrMonthlyLimit): // also ErrPerTxLimit, ErrMandateRevoked, ErrRateLimited …
		fmt.Println("nothing left this month")
	case err != nil:
		log.Fatal(err)
	case ch.Status == client.Pending: // a webhook event follows
		fmt.Println("under way")
	default:
		fmt.Println(ch.TransactionID, ch.Status)
	}

	for tx, err := range c.Transactions(ctx, client.ListParams{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(tx.ID, tx.AmountCents, tx.Status)
	}
	// Output:
	// Send the person to https://pay.example/setup/example
	// txn_1 completed
	// txn_1 250 succeeded
}

// A refusal has a status, a code and details.
func ExampleError() {
	c, done := exampleClient()
	defer done()
	_, err := c.Charge(context.Background(), client.ChargeParams{Mandate: "dtok_1", AmountCents: 900, Currency: client.USD, Description: "October report"})
	var refused *client.Error
	if errors.Is(err, client.ErrMonthlyLimit) && errors.As(err, &refused) {
		fmt.Println(refused.Status, refused.Code, "left this month:", *refused.RemainingMonthlySpendCents)
	}
	// Output: 402 monthly left this month: 120
}

// A charge whose response is lost is found by its idempotency key.
func ExampleUnknownOutcomeError() {
	c, done := exampleClient()
	defer done()
	p := client.ChargeParams{Mandate: "dtok_lost_answer", AmountCents: 250, Currency: client.USD, Description: "October report"}
	ch, err := c.Charge(context.Background(), p)
	var unknown *client.UnknownOutcomeError
	if errors.As(err, &unknown) {
		p.IdempotencyKey = unknown.IdempotencyKey // store it, and repeat the call until it succeeds
		ch, err = c.Charge(context.Background(), p)
	}
	fmt.Println(ch.Status, "replayed:", ch.Replayed, err)
	// Output: completed replayed: true <nil>
}

// A key that is stored with the order makes the charge safe to repeat, even after a
// crash: the second call returns the result of the first.
func ExampleClient_Charge() {
	c, done := exampleClient()
	defer done()
	p := client.ChargeParams{
		Mandate: "dtok_1", AmountCents: 250, Currency: client.USD, Description: "October report",
		IdempotencyKey: "order-1017",
	}
	for range 2 {
		ch, err := c.Charge(context.Background(), p)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(ch.TransactionID, "paid:", ch.Status.Paid(), "replayed:", ch.Replayed)
	}
	// Output:
	// txn_1 paid: true replayed: false
	// txn_1 paid: true replayed: true
}

func ExampleClient_Transactions() {
	c, done := exampleClient()
	defer done()
	for tx, err := range c.Transactions(context.Background(), client.ListParams{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(tx.ID, tx.AmountCents, tx.Status)
	}
	// Output: txn_1 250 succeeded
}

func ExampleClient_Events() {
	c, done := exampleClient()
	defer done()
	for e, err := range c.Events(context.Background(), client.EventListParams{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.ID, e.Type)
	}
	// Output:
	// evt_2 payment.succeeded
	// evt_1 delegate.created
}

// A person pays once, on a page of the service.
func ExampleClient_CreateCheckout() {
	c, done := exampleClient()
	defer done()
	ctx := context.Background()
	k, err := c.CreateCheckout(ctx, client.CheckoutParams{AmountCents: 500, Description: "1,000 requests", IdempotencyKey: "cart-7"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("Send the person to", k.URL)

	k, err = c.Checkout(ctx, k.ID) // after the payment.succeeded event
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(k.Status, k.TransactionID)
	// Output:
	// Send the person to https://pay.example/checkout/chk_1
	// paid txn_2
}

func ExampleClient_Balance() {
	c, done := exampleClient()
	defer done()
	b, err := c.Balance(context.Background(), "del_1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %d of %d cents left in %s\n", b.Status, b.RemainingMonthlySpendCents, b.MaxMonthlySpendCents, b.CurrentMonth)
	// Output: active: 4750 of 5000 cents left in 2026-11
}

func ExampleClient_WaitForSetup() {
	c, done := exampleClient()
	defer done()
	s, err := c.WaitForSetup(context.Background(), "sess_declined")
	var failed *client.SetupFailedError
	if errors.As(err, &failed) {
		fmt.Println("no mandate:", failed.Reason)
		return
	}
	fmt.Println(s.MandateID)
	// Output: no mandate: declined
}

func exampleClient() (c *client.Client, done func()) {
	srv := httptest.NewServer(exampleService())
	c, err := client.New(client.Config{BaseURL: srv.URL, MerchantID: "mer_example", APIKey: "sk_test_example", MaxRetries: -1})
	if err != nil {
		log.Fatal(err)
	}
	return c, func() {
		c.CloseIdleConnections()
		srv.Close()
	}
}

// exampleService returns the service's responses to the calls of the examples.
func exampleService() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/mandates", reply(200, `{"sessionToken":"sess_1","setupUrl":"https://pay.example/setup/example"}`))
	mux.HandleFunc("GET /v1/mandates/session/sess_1", reply(200, `{"status":"completed","intentMandate":"dtok_1"}`))
	mux.HandleFunc("GET /v1/mandates/session/sess_declined", reply(200, `{"status":"failed","failureReason":"declined"}`))
	mux.HandleFunc("GET /v1/mandates/{m}/balance", reply(200,
		`{"delegateId":"del_1","status":"active","maxMonthlySpendCents":5000,"remainingMonthlySpendCents":4750,"currentMonth":"2026-11"}`))
	mux.HandleFunc("GET /v1/merchants/transactions", reply(200,
		`{"hasMore":false,"data":[{"id":"txn_1","delegateId":"del_1","amountCents":250,"status":"succeeded","rail":"fiatrail"}]}`))
	mux.HandleFunc("GET /v1/events", reply(200, `{"hasMore":false,"data":[
		{"id":"evt_2","type":"payment.succeeded","data":{},"created_at":"2026-11-21T10:00:01.000Z"},
		{"id":"evt_1","type":"delegate.created","data":{},"created_at":"2026-11-21T10:00:00.000Z"}]}`))
	mux.HandleFunc("POST /v1/checkouts", reply(200, `{"id":"chk_1","url":"https://pay.example/checkout/chk_1","status":"open","amountCents":500}`))
	mux.HandleFunc("GET /v1/checkouts/chk_1", reply(200, `{"id":"chk_1","url":"https://pay.example/checkout/chk_1","status":"paid","amountCents":500,"transactionId":"txn_2"}`))
	var seen sync.Map // idempotency keys
	mux.HandleFunc("POST /v1/payments/charge", func(w http.ResponseWriter, r *http.Request) {
		var p client.ChargeParams
		_ = json.NewDecoder(r.Body).Decode(&p)
		_, known := seen.Load(p.IdempotencyKey)
		switch {
		case p.AmountCents > 500:
			reply(402, monthlyRefusal)(w, r)
		case known:
			w.Header().Set("Idempotency-Replayed", "true")
			reply(200, chargeAnswer)(w, r)
		case p.Mandate == "dtok_lost_answer":
			seen.Store(p.IdempotencyKey, true)
			hangUp(w, r)
		default:
			seen.Store(p.IdempotencyKey, true)
			reply(200, chargeAnswer)(w, r)
		}
	})
	return mux
}
