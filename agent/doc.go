// Package agent pays for what an agent fetches, within limits. If an answer is
// 402, the payment is made and the request sent again:
//
//	transport, err := agent.NewTransport(agent.Config{Service: c, Mandate: m, MaxPriceMicros: 20_000})
//	hc := &http.Client{Transport: transport}
//	resp, err := hc.Get("https://api.example.com/weather")
//	r, ok := agent.ReceiptFrom(resp)
//
// [Client] does the same with a Fetch of bounded size and time, for tools that a
// model drives. It reaches public addresses only, unless [Config.AllowPrivate] is set.
//
// # Choosing
//
// All three challenges of a 402 are read: x402 version 1 and 2, and the Payment
// scheme. The cheapest offer that the configuration and every limit allow is
// taken; of equals a credit bundle first, then the mandate, then the wallet. The
// price is checked against [Config.MaxPriceMicros] and [WithMaxPrice],
// [Config.BudgetMicros], the mandate's limits and [Config.Velocities]; then
// [Config.Approve] is called, once a request. At most three ways are tried, the
// next one only after a definite refusal that moved nothing. Every offer that was
// not used is listed with its reason, in [Purchase] and in [PaymentError].
//
// # Bound to the server
//
// A mandate is never sent as it is: the service binds it to one payment at the
// origin asked, and offers for another origin are dropped. Only the origins in
// [Config.BareMandateTo] are shown the mandate itself. A challenge of the Payment
// scheme is paid only if its realm is the host asked. An x402 transfer pays the
// URL asked, whatever resource the server names, because no transfer is bound to
// one: [Offer.Resource] shows a difference, so that Approve can refuse it.
// Credentials go to the origin that asked for them alone, and to https, or http
// on the loopback interface.
//
// # Paid once
//
// A credential is kept until its content was delivered: an answer below 400, read
// to its end. Until then, or until the credential expires, the same request
// (method, URL and body) sends the same credential and not a second payment. A
// credential whose payment the seller confirmed is kept for a day. If the answer
// to a paid request is lost, the request is sent once more by itself only if that
// is safe: its method is idempotent, or it has an Idempotency-Key. Otherwise the
// caller gets an [*UndecidedError] and decides.
//
// What is kept is kept in memory: it ends with the process.
//
// # Redirects
//
// A free page that redirects to a gate is paid for there. If a page that was paid
// for redirects to one that asks for money again, the request fails with
// [ErrPaidBefore]. [ReceiptFrom] finds the receipt of the page that was paid for
// also in the answer of a later page, and [Config.OnPaid] is called even if there
// is no answer.
//
// # Errors
//
// A required payment that is not made is a [*PaymentError], which matches
// [ErrTooExpensive], [ErrBudget], [ErrVelocity], [ErrNotApproved], [ErrNoWay],
// [ErrBodyTooLarge], [ErrInsecure], [ErrPaidBefore] or an error of the service
// ([client.Error]). An http.Client wraps it in a *url.Error; errors.Is and
// errors.As find it. A 402 of no known protocol is returned as it came.
//
// A receipt is the seller's word. The service knows whether money moved.
//
// The package holds no key. It compiles in what package paywall does and no more.
package agent
