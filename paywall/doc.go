// Package paywall puts a price on an http.Handler. A request that does not pay
// is answered 402 with three challenges side by side (x402 version 1 and 2, and
// the Payment authentication scheme); one that pays is settled first and served
// then:
//
//	gate, err := paywall.New(paywall.Config{
//		Price:    "0.01", // USDC
//		PayTo:    "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
//		APIURL:   "https://sandbox.pay.example",
//		TestMode: true,
//		Resource: "https://api.example.com/weather",
//		Secrets:  []string{os.Getenv("PAYWALL_SECRET")},
//	})
//	mux.Handle("GET /weather", gate.Require(weather))
//
// The handler reads who paid, and how, with [PaymentFrom].
//
// # Credentials
//
// One of five is taken: a credit bundle (X-Bundle-Token), x402 version 2
// (PAYMENT-SIGNATURE) and 1 (X-PAYMENT), an intent mandate or a presentation of
// one (X-Service-Mandate), and the Payment scheme (Authorization, or
// Payment-Authorization beside it). Two together are refused with 400.
//
// # What is promised
//
// The handler runs only after the money has moved. A credential is served once:
// it is claimed before it is settled, so that of concurrent duplicates one runs
// and the others get 409. A handler that panics or answers 5xx leaves the payment
// unfulfilled, and the same credential sent again is let through without a second
// settlement, within its window. Where the outcome of a settlement is unknown,
// nothing is served and 502 or 504 says when to send the same credential again;
// what was settled meanwhile is found, not paid twice.
//
// A bare mandate has no nonce, so that each one sent is a purchase of its own,
// unless the request has an Idempotency-Key. One that went wrong is remembered,
// by this process, and taken up by the next request of the same mandate for the
// same resource and price; the answer also names the Idempotency-Key to send.
//
// The memory of what was redeemed is [Redemptions]: by default this process's,
// bounded. Several instances behind one address, or one that must not forget
// unfulfilled payments when it restarts, need a shared one: [SQL] keeps it in a
// database.
//
// # Caches and browsers
//
// Every answer has Vary, a 402 has Cache-Control: no-store, and a paid answer
// has Cache-Control: private even where the handler says public. OPTIONS passes
// through ungated, so that CORS preflights work, and without a body, so that it
// gives nothing away. A browser gets a page that says what it costs.
//
// The package reads no request body, starts no goroutine, and compiles in nothing
// beyond the standard library but JWT, JCS, Keccak and httpsnoop.
package paywall
