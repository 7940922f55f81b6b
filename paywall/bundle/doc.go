// Package bundle sells requests in advance, for package paywall: signed tokens,
// the records of what is left of them, a page that sells them, and a balance.
//
//	key, err := bundle.HS256("2026-11", secret) // or bundle.ES256, for others to verify
//	shop, err := bundle.New(bundle.Config{
//		Issuer: "https://api.example.com", Keys: []bundle.Key{key},
//		Tiers:  []paywall.Tier{{Name: "small", USDCents: 500, Requests: 1000}},
//		PurchaseURL: "https://api.example.com/bundles", BalanceURL: "https://api.example.com/bundles/balance",
//		Sell: bundle.ByCheckout(c), // c is a client.Client
//	})
//	gate, err := paywall.New(paywall.Config{CreditBundle: shop.CreditBundle(), …})
//	mux.Handle("/bundles", shop.Purchase())
//	mux.Handle("GET /bundles/balance", shop.Balance())
//
// # Selling
//
// GET of the purchase address lists the tiers, as JSON, or as a page for browsers
// that works without JavaScript. POST {"tier":"small"} buys: [Config.Sell] takes
// the money, or answers with a link where a person pays. [ByCheckout] does both:
// from a mandate that the order carries, or on a page of the service, from which
// the person comes back to the order's return address. An order is paid once and
// its bundle issued once: the same POST with the same Idempotency-Key, the return
// address, and [Shop.Issue] for what is paid elsewhere give the same bundle,
// however often.
//
// # Tokens
//
// A token is a JWT that names a bundle; what is left of it is in the [Store], so
// that a copy of the token is no second bundle. The algorithm belongs to the key:
// a token that says another is refused, and so is one whose key is not listed.
// The first key signs, all verify, so that keys can be replaced.
//
// A credit is taken in one step with the check that there is one, and given back
// where the handler failed. The package takes no payment itself, and counts no
// credit without its Store: [NewMemory] forgets with the process, [NewSQL] does not.
package bundle
