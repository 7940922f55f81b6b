// Package bundle sells prepaid requests for package paywall: it issues signed tokens, keeps
// their remaining credits, and has a page that sells them and an endpoint for the balance.
//
//	key, err := bundle.HS256("2026-11", secret) // or bundle.ES256, for others to verify
//	shop, err := bundle.New(bundle.Config{
//		Issuer: "https://api.example.com", Keys: []bundle.Key{key},
//		Tiers:  []paywall.Tier{{Name: "small", USDCents: 500, Requests: 1000}},
//		PurchaseURL: "https://api.example.com/bundles", BalanceURL: "https://api.example.com/bundles/balance",
//		Sell: bundle.ByCheckout(c), // c is a client.Client
//		APIURL: "https://sandbox.pay.example",
//	})
//	gate, err := paywall.New(paywall.Config{CreditBundle: shop.CreditBundle(), …})
//	mux.Handle("/bundles", shop.Purchase())
//	mux.Handle("GET /bundles/balance", shop.Balance())
//
// # Selling
//
// GET of the purchase address lists the tiers, as JSON or, for browsers, as a page that
// works without JavaScript. POST {"tier":"small"} buys one: [Config.Sell] takes the money,
// or returns a link to a page on which a person pays. [ByCheckout] does both. It charges
// the mandate of the order if there is one; otherwise it sends the person to a page of
// the service, which redirects to the order's return address.
//
// An order is paid once and its bundle is issued once. A repeated POST with the same
// Idempotency-Key, the return address, and [Shop.Issue] all return the same bundle.
//
// Anyone can send orders, and each causes a call to the service with the merchant's
// credentials. [Config.UnsoldPerSecond] limits the orders of one client address that sell
// nothing; behind a proxy, set [Config.TrustedProxies]. With [Config.APIURL] an invalid
// mandate is refused without a call.
//
// # Tokens
//
// A token is a JWT that names a bundle. The remaining credits are in the [Store], so a copy
// of the token has no credits of its own. Each key has one algorithm; a token of another
// algorithm or of an unknown key is refused. The first key signs and all verify, so that
// keys can be rotated.
//
// A credit is checked and taken in one step, and refunded if the handler fails. [NewMemory]
// loses the bundles when the process ends; [NewSQL] keeps them in a database.
package bundle
