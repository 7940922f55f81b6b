// Package agent pays for what an agent fetches, within limits. An answer of 402
// is paid once, and the request answered through:
//
//	hc := &http.Client{Transport: agent.NewTransport(agent.Config{Service: c, Mandate: m, MaxPriceMicros: 20_000})}
//	resp, err := hc.Get("https://api.example.com/weather")
//	r, ok := agent.ReceiptFrom(resp)
//
// [Client] is the same with a Fetch of bounded size and time, for tools that a
// model drives; these set [Config.PublicOnly] too.
//
// # Choosing
//
// All three challenges of a 402 are read: x402 version 1 and 2, and the Payment
// scheme. Of the ways that the configuration allows, the cheapest that passes
// every limit is taken; of equals a credit bundle first, then the mandate, then
// the wallet. A price above [Config.MaxPriceMicros] is never paid, whatever the way.
//
// A mandate is never sent as it is: the service binds it to this one payment, at
// this one origin, and what is sent is worth nothing elsewhere. Only origins named
// in [Config.BareMandateTo] are shown the mandate itself.
//
// # Paid once
//
// A 402 is paid once. A second 402, another price on the way, or a redirect to
// another door that asks for money is handed to the caller, not paid. Where the
// answer to a paid request is lost, the same credential is sent once more, and
// again when the caller repeats the same request (method, URL and body): never a
// second payment. Credentials go to the origin that asked for them alone, and to
// https, or http on the loopback interface.
//
// # Errors
//
// A payment that is not made is an error: [ErrTooExpensive], [ErrBudget],
// [ErrVelocity], [ErrNotApproved], [ErrNoWay], [ErrBodyTooLarge], [ErrInsecure],
// or what the service said ([client.Error]). Inside an http.Client it is wrapped
// in a *url.Error; errors.Is and errors.As find it. A 402 that offers no way to
// pay at all is handed through as it came.
//
// A receipt is the seller's word. Whether money moved is known to the service.
//
// The package starts no goroutine, holds no key, and compiles in what package
// paywall does and no more.
package agent
