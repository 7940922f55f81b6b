// Package client calls the merchant API of Paywarrant: setup sessions, charges,
// receipts, statistics and lists.
//
//	c, err := client.New(client.Config{BaseURL: base, MerchantID: id, APIKey: key})
//	s, err := c.CreateSession(ctx, client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
//	m, err := c.WaitForMandate(ctx, s.SessionToken) // after the person opened s.SetupURL
//	ch, err := c.Charge(ctx, client.ChargeParams{Mandate: m, AmountCents: 250, Currency: client.USD, Description: "October report"})
//
// The package owns the API's wire types and error codes; the service imports
// them, so the two cannot drift. It depends on the standard library alone.
//
// It does not check mandates offline (package mandate does), receive webhooks
// (package webhook), nor pay for an agent (package agent).
package client
