// Package paywall puts a price on an http.Handler. A request without payment is answered 402
// with three challenges: x402 versions 1 and 2, and the Payment authentication scheme. The
// payment of a request is settled before the request is served:
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
// The handler reads the payment with [PaymentFrom]. [Gate.With] returns gates for other
// routes. A resource can be a pattern:
//
//	reports := gate.With(paywall.Route{Price: "0.05", Resource: "https://api.example.com/reports/{id}"})
//	mux.Handle("GET /reports/{id}", reports.Require(report))
//
// # Credentials
//
// A request pays with one of five credentials: a credit bundle (X-Bundle-Token), x402 version
// 2 (PAYMENT-SIGNATURE) or 1 (X-PAYMENT), a mandate or a presentation of one
// (X-Service-Mandate), or the Payment scheme (Authorization or Payment-Authorization).
// Several credentials are refused with 400. The gate removes the credential from the request
// before the handler, or a proxy behind it, sees it.
//
// Signed transfers pay in the token of [Config.Asset], and in those of [Config.Accepts] if
// there are any. Each 402 lists all of them.
//
// # Prices for what was used
//
// The price of a metered route is the most that a request costs:
//
//	answers := gate.With(paywall.Route{Price: "0.10", Metered: true, Resource: "https://api.example.com/answers"})
//	mux.Handle("POST /answers", answers.Require(answer))
//
// A mandate holds the price before the handler runs. The handler counts with [MeterFrom], from
// any goroutine and while it streams. When it returns, the gate captures what was counted,
// once, and the rest returns to the mandate's limits.
//
// A wallet can pay what was counted too, by x402's scheme upto: it signs at most the price,
// which the gate verifies before the handler and settles after it, once, for what was counted.
// The receipt is in PAYMENT-RESPONSE. The scheme is offered if the service settles it. Other
// credentials pay the price.
//
// What was counted is captured if the response is below 400, if it was being sent when the
// handler panicked or the client left, and if the client left before it. The hold is voided if
// the handler counted nothing, answered 400 or above, called [Decline], or panicked before
// anything was sent. It is also voided if the response has no content, as with HEAD or 304. A
// card pays whole cents: what exceeds the last one is not charged, but less than one cent costs
// one. The gate logs the difference, and the receipt names both amounts.
//
// A response of up to 64 KiB that is not flushed is sent after the capture, with the receipt in
// X-PAYMENT-RESPONSE; if the capture is refused, 402 is sent instead. Other responses have the
// receipt in the trailer, unless the handler sets Content-Length; some proxies drop trailers.
//
// A capture without an outcome is repeated in the background until the hold expires: call
// [Gate.Shutdown] before the program ends. If the process dies before the capture, the hold is
// given back when it expires ([Route.Hold]), and nothing is paid.
//
// # Guarantees
//
// The handler runs only after the money has moved or is held, and each credential is served
// once. A gate looks the credential up, verifies it, claims it, settles it and serves the
// request, in this order. Of concurrent duplicates one runs, and the others get 409.
//
// A response below 400 counts as served, except 304 and responses to HEAD; [Config.Served]
// overrides this. If the handler panics, answers 400 or above, or calls [Decline], the payment
// is unfulfilled: the same credential is accepted again for [HonoredFor] without a second
// settlement, even if its validity window has ended. [Config.RefundUnserved] refunds payments
// by mandate instead.
//
// A status that the handler writes counts even if the client has disconnected. If the client
// disconnects before the handler writes a status, requests HEAD, or gets a 304, the payment
// stays unfulfilled four times and the fifth counts as served; a bundle's credit is spent the
// first time. A handler whose work must not be repeated should write its status, or be
// idempotent for the payment.
//
// If the outcome of a settlement is unknown, the gate answers 502 or 504 and serves nothing.
// The client then repeats the same credential after Retry-After, and is not charged twice. A
// failed verification leaves no state.
//
// A bare mandate has no nonce, so each request with one is a new purchase, unless it has an
// Idempotency-Key. The [Redemptions] know the payments of bare mandates that are undecided or
// not served, and the gate uses them for the next request with the same mandate, resource and
// price. A 502 or 504 of the gate, and a response that is not served, has the Idempotency-Key
// with which to repeat the request.
//
// [Redemptions] remembers which credentials were redeemed, by default in memory. Several
// instances behind one address need a shared store, and so does an instance that must keep
// unfulfilled payments across restarts: [SQL].
//
// # Caches and browsers
//
// Every response has Vary, a 402 has Cache-Control: no-store, and a paid response has
// Cache-Control: private, even if the handler sets public. CORS preflights reach the handler
// without payment, and the response has no body. Other OPTIONS requests are answered 204
// without the handler. Browsers get a page with the price.
//
// The package does not read request bodies. It starts goroutines only to renew the claims of
// running requests in a store with leases, and to repeat captures and refunds that had no
// outcome; [Gate.Shutdown] waits for these. Outside of the standard library it imports only
// JWT, JCS, Keccak and httpsnoop.
package paywall
