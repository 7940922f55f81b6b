// Package agent pays for what an agent fetches, within limits. When a server answers
// 402, the transport pays once, repeats the request and returns the final response:
//
//	transport, err := agent.NewTransport(agent.Config{ServiceURL: base, Token: token, Mandate: m, MaxPriceMicros: 20_000})
//	hc := &http.Client{Transport: transport}
//	resp, err := hc.Get("https://api.example.com/weather")
//	r, ok := agent.ReceiptFrom(resp)
//
// The agent holds a mandate and an access token (token_…) with the scope pay, best bound to
// that mandate; it needs no API key of a merchant.
//
// [Client] does the same with a Fetch of bounded size and time, for tools that a
// model drives. It connects to public addresses only, unless [Config.AllowPrivate]
// is set.
//
// # Choosing an offer
//
// The transport reads all three challenges of a 402: x402 version 1 and 2, and the
// Payment scheme (MPP). It takes the cheapest offer that the configuration and every
// limit allow; at equal prices it prefers a credit bundle, then the mandate, then the
// wallet. The price is checked against [Config.MaxPriceMicros] and [WithMaxPrice],
// [Config.BudgetMicros], the mandate's limits and [Config.VelocityLimits]. Then
// [Config.Approve] is called, once per request. At most three methods are tried, the
// next one only after a definite refusal that moved no money. [Purchase] and
// [PaymentError] list every offer that was not used, with the reason.
//
// A seller that does not know the service is paid by the wallet, or else by the mandate all
// the same: the service signs the seller's x402 or MPP transfer from the session account of
// the mandate, which must allow any payee and pay by a wallet (see [SellerService]).
//
// # Bound to the server
//
// The mandate itself is not sent: the service binds it to one payment at the origin
// of the request, and offers for another origin are dropped. Only the origins in
// [Config.BareMandateTo] receive the mandate itself. A challenge of the Payment scheme
// is paid only if its realm is the host of the request. An x402 transfer pays for the
// requested URL, whatever resource the server names, because a transfer is bound to
// none: [Offer.Resource] contains a different resource, so that Approve can refuse it.
// Credentials are sent only to the origin that asked for them, and only over https, or
// http to the loopback interface.
//
// # Paid once
//
// A credential is kept until its content is delivered: a response with a status below
// 400 whose body was read to the end. Until then, or until the credential expires, the
// same request (method, URL and body) sends the same credential again instead of making
// a second payment. A credential whose payment the seller confirmed is kept for a day.
// If the response to a paid request is lost, the transport repeats the request only if
// that is safe: its method is idempotent, or it has an Idempotency-Key. Otherwise it
// returns an [*UndecidedError] and leaves the decision to the caller.
//
// If the seller answers that a payment was redeemed before, and the caller never received
// its response, the request fails with [ErrAnswerLost] instead of being paid again.
//
// Without [Config.Journal], credentials and budgets are kept in memory and do not survive the
// process. With it, each step of a purchase is recorded before the next one: after a
// restart, the same request sends the same payment, or fails with its receipt if it was
// served, and a [SellerService] funds it once. [WithPurchaseKey] marks the requests that are one purchase, and
// [Transport.Unfinished] lists what an earlier process left behind.
//
// # Redirects
//
// A free page that redirects to a gate is paid for there. If a page that was paid for
// redirects to one that requires another payment, the request fails with
// [ErrPaidBefore]. [ReceiptFrom] finds the receipt in the responses of the whole chain
// of redirects, and [Config.OnPaid] is called even if the request fails later.
//
// # Errors
//
// A required payment that is not made is a [*PaymentError], which matches
// [ErrTooExpensive], [ErrBudget], [ErrVelocity], [ErrNotApproved], [ErrNoMethod],
// [ErrBodyTooLarge], [ErrInsecure], [ErrPaidBefore] or an error of the service
// ([client.Error]). An http.Client wraps it in a *url.Error; errors.Is and errors.As
// find it. A 402 without a known challenge is returned unchanged.
//
// A receipt is only the seller's claim. The service knows whether money moved.
//
// The package holds no key, and imports no more than package paywall does.
package agent
