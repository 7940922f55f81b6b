// Package client calls the merchant API of Paywarrant: setup sessions, charges,
// receipts, statistics and lists.
//
//	c, err := client.New(client.Config{BaseURL: base, MerchantID: id, APIKey: key})
//	s, err := c.CreateSession(ctx, client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
//	m, err := c.WaitForMandate(ctx, s.SessionToken) // after the person opened s.SetupURL
//	ch, err := c.Charge(ctx, client.ChargeParams{Mandate: m, AmountCents: 250, Currency: client.USD, Description: "October report"})
//
// The package defines the API's wire types and error codes, and the service
// imports them, so that the two cannot drift. It depends only on the standard
// library.
//
// Package mandate verifies mandates offline, package webhook receives events, and
// package agent pays on behalf of an agent.
//
// # Errors
//
// Errors name the operation that failed and wrap their cause. A refusal by the
// service is an [*Error] with its status, code, field, request id and retry delay;
// [errors.Is] matches it against the sentinel of its code:
//
//	ErrUnknownOutcome         the charge or settlement may have happened: repeat the call with the same key
//	ErrSetupFailed            the person declined or the session expired: create another session
//	ErrPerTxLimit             above the mandate's limit per payment (Error.LimitCents): charge less
//	ErrDailyLimit             above what is left today: charge less, or wait until Error.RenewsAt
//	ErrMonthlyLimit           above what is left this month: charge less, or wait until Error.RenewsAt
//	ErrTotalLimit             above what is left of the mandate: charge less, or ask the person for another
//	ErrVelocityLimit          no payment is left today: wait until Error.RenewsAt
//	ErrPayeeLimit             above what is left for this payee this month: charge less, or wait until Error.RenewsAt
//	ErrMerchantLimit          above your account's own limit: charge less, or have the operator raise it
//	ErrRailUnavailable        no rail of the mandate works now: retry later with a new key
//	ErrMandateInvalid         not a mandate of this service: ask the person to set one up
//	ErrMandateRevoked         the mandate was revoked: ask the person for another
//	ErrMandateExpired         the mandate has expired: ask the person for another
//	ErrMandatePaused          the person has paused the mandate: retry with a new key once it is resumed
//	ErrMerchantNotAllowed     the mandate does not allow you as payee: ask the person for one that does
//	ErrInsufficientScope      the API key or access token does not permit the call (Error.Scope): use another
//	ErrMerchantInactive       your account is not active: ask the operator
//	ErrUnauthorized           wrong credentials, or credentials of the other mode: see Config
//	ErrValidation             Error.Param is invalid: fix the call
//	ErrOfferNotPayable        the service cannot pay what the seller asks for: pay another of its offers
//	ErrIdempotencyMismatch    the key was used for a different request: use a new key
//	ErrIdempotencyInProgress  the first call with this key is still running: repeat the call later
//	ErrNotFound               no such object, or it belongs to another merchant
//	ErrAuthorizationEnded     the payment holds nothing to capture or void: read its receipt
//	ErrNotRefundable          the payment cannot be refunded: it has not succeeded, or its rail took it back
//	ErrTooManyRefunds         the payment has 100 refunds, the most that it can have
//	ErrRefundRefused          the signed refund would fail now: read Error.Message, and hand it in again
//	ErrSessionFinished        the session has already completed or failed
//	ErrRateLimited            too many calls: wait for Error.RetryAfter
//	ErrUnavailable            the service is down or overloaded: retry later
//	ErrInternal               a bug in the service: report Error.RequestID
//	ErrPayloadTooLarge        the request exceeds 64 KiB: send less metadata
//	ErrMethodNotAllowed       BaseURL does not lead to the service
//	ErrUnsupportedMediaType   BaseURL does not lead to the service
//	ErrUnexpectedAnswer       not a response of the service: a proxy, a redirect, a truncated body
//
// Every call may return [ErrUnauthorized], [ErrMerchantInactive],
// [ErrRateLimited], [ErrInternal], [ErrUnavailable] and [ErrUnexpectedAnswer],
// ctx's error, and network errors, which implement net.Error. A value that cannot
// appear in a URL path is refused with [ErrValidation] before anything is sent.
//
// # Retries
//
// The client retries a call up to [Config].MaxRetries times after a network error,
// a timeout of one attempt, a truncated 2xx response, status 429, 502, 503 or 504,
// and while the call's idempotency key is still in progress. Pauses are random, grow
// with each attempt, and respect the Retry-After header. The call returns at once if
// Retry-After exceeds 30 s or the pause would exceed ctx's deadline.
//
// Only calls that are safe to repeat are retried: reads, revocations, and calls with an
// idempotency key, such as charges. Other calls, such as CreateWebhookEndpoint, are
// retried only if the service cannot have processed them.
//
// # Unknown outcomes
//
// A charge whose response is lost may have been made. Once the retries are used up,
// the call returns an [*UnknownOutcomeError]. Repeat the call with its IdempotencyKey
// to learn the outcome. A key of your own that you store before the call also survives
// a crash of your program.
//
// # Secrets
//
// The API key and tokens appear in no error and no log record of this package. Log
// records contain the route pattern instead of the path, and secrets are removed from
// texts of other origin. Redirects are not followed, because they could leak the API key.
package client
