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
//
// # Errors
//
// Errors say what was being done and wrap their cause. What the service answered
// is an [*Error], with status, code, field, request id and the wait it asks for;
// [errors.Is] matches it with the sentinel of its code:
//
//	ErrUnknownOutcome         charge or settlement may have happened: same call, same key, later
//	ErrSetupFailed            the person declined or the session ended: create another
//	ErrPerTxLimit             over the mandate's cap of one payment: charge less (Error.LimitCents)
//	ErrMonthlyLimit           over what is left of the month: charge less, or next month
//	ErrMerchantLimit          over your own account's cap: raise it in the dashboard, or charge less
//	ErrRailUnavailable        no rail of the mandate works now: later, with a new key
//	ErrMandateInvalid         not a mandate of this service: ask the person to set one up
//	ErrMandateRevoked         the mandate is over: ask the person for another
//	ErrMandateExpired         the mandate is over: ask the person for another
//	ErrMerchantNotAllowed     the mandate does not name you: ask the person for one that does
//	ErrMerchantInactive       your account is not active: see the dashboard
//	ErrUnauthorized           wrong credentials, or those of the other mode: see Config
//	ErrValidation             Error.Param is wrong: mend the call
//	ErrIdempotencyMismatch    the key was used for another request: a mistake in your keys
//	ErrIdempotencyInProgress  the first call with this key still runs: same call, later
//	ErrNotFound               no such object, or not yours
//	ErrSessionFinished        the session has ended already
//	ErrRateLimited            too many calls: slow down, wait Error.RetryAfter
//	ErrUnavailable            the service is down or busy: later
//	ErrInternal               a fault of the service: tell it Error.RequestID
//	ErrPayloadTooLarge        the request is over 64 KiB: less metadata
//	ErrMethodNotAllowed       BaseURL leads to something else
//	ErrUnsupportedMediaType   BaseURL leads to something else
//	ErrUnexpectedAnswer       not the service's answer: a proxy, a redirect, a torn body
//
// Every call may return [ErrUnauthorized], [ErrMerchantInactive],
// [ErrRateLimited], [ErrInternal], [ErrUnavailable] and [ErrUnexpectedAnswer],
// ctx's error, and errors of the network, which satisfy net.Error. A value that
// cannot stand in a path is refused as [ErrValidation] before anything is sent.
//
// # Retries
//
// A call is sent again after a failure of the network or an attempt's time-out,
// after a 2xx answer that is torn, after 429, 502, 503 and 504, and while its
// idempotency key is in progress, up to [Config].MaxRetries times: with random,
// growing pauses, after the Retry-After that the service asks for. It is given
// back at once where that is over 30 s or the pause would outlast ctx. Only
// calls that can be made twice without harm are: reads, revocations, and charges
// and settlements by their idempotency key. CreateSession is sent again only where
// nothing can have happened.
//
// # Money in doubt
//
// A charge whose answer is lost may have been made. After the retries the error
// is an [*UnknownOutcomeError]; the same call with its IdempotencyKey answers what
// became of it. A key of your own, stored before the call, survives a crash as well.
//
// # Secrets
//
// The API key and tokens appear in no error and no log line of this package: paths
// are logged as patterns, and texts from elsewhere are searched for them. Redirects
// are refused, since they would carry the key elsewhere.
package client
