// Package paywall puts a price on an http.Handler. A request that does not pay is
// answered 402 with three challenges side by side (x402 version 1 and 2, and the
// Payment authentication scheme). A request that pays is settled first and served
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
// The handler reads who paid, and how, with [PaymentFrom]. Other routes have gates
// of their own, with [Gate.With]; a resource can be a pattern:
//
//	reports := gate.With(paywall.Route{Price: "0.05", Resource: "https://api.example.com/reports/{id}"})
//	mux.Handle("GET /reports/{id}", reports.Require(report))
//
// # Credentials
//
// A request pays with one of five: a credit bundle (X-Bundle-Token), x402 version 2
// (PAYMENT-SIGNATURE) and 1 (X-PAYMENT), a mandate or a presentation of one
// (X-Service-Mandate), and the Payment scheme (Authorization, or
// Payment-Authorization beside it). Two together are refused with 400. The handler,
// and a proxy behind it, never sees the credential.
//
// # Guarantees
//
// The handler runs only after the money has moved, and a credential is served once.
// A gate looks the credential up, verifies it, claims it, settles it and serves, in
// this order: of concurrent duplicates one runs, and the others get 409.
//
// An answer below 400 is served, except 304 and answers to HEAD ([Config.Served]
// overrides this). If the handler panics, answers 400 or above, or calls [Decline],
// the payment is unfulfilled: the same credential sent again is let through without
// a second settlement, for [HonoredFor], whatever its window says.
//
// If the outcome of a settlement is unknown, nothing is served and 502 or 504 says
// when to send the same credential again; what was settled meanwhile is found, not
// paid twice. A verification that fails holds nothing.
//
// A bare mandate has no nonce, so each one sent is a purchase of its own, unless
// the request has an Idempotency-Key. One that was undecided or not served is
// remembered by this process, and used by the next request of the same mandate for
// the same resource and price. A 502 or 504 names the Idempotency-Key to send.
//
// [Redemptions] remembers what was redeemed: by default in this process, bounded.
// Several instances behind one address, or one that must keep unfulfilled payments
// across a restart, need a shared store: [SQL] keeps it in a database.
//
// # Caches and browsers
//
// Every answer has Vary, a 402 has Cache-Control: no-store, and a paid answer has
// Cache-Control: private even if the handler sets public. CORS preflights pass
// through ungated, without a body; any other OPTIONS is answered 204 without the
// handler. A browser gets a page with the price.
//
// The package reads no request body, and starts a goroutine only to renew the claims
// of a running request in a store with leases. It compiles in nothing beyond the
// standard library but JWT, JCS, Keccak and httpsnoop.
package paywall
