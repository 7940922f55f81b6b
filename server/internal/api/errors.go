package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/httpjson"
	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/internal/retryafter"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

var errPanicked = errors.New("api: handler panicked")

// refuse returns an error of a sentinel's kind with another message.
func refuse(kind *client.Error, message string) *client.Error {
	return &client.Error{Status: kind.Status, Code: kind.Code, Message: message}
}

// invalid returns the error for an invalid parameter.
func invalid(param, message string) *client.Error {
	e := refuse(client.ErrValidation, param+" "+message)
	e.Param = param
	return e
}

func rateLimited(wait time.Duration) *client.Error {
	e := refuse(client.ErrRateLimited, "Too many requests. Retry-After says when to try again.")
	e.RetryAfter = wait
	return e
}

// table maps errors to responses; the first match counts.
var table = []struct {
	err     error
	kind    *client.Error
	message string
}{
	{httpjson.ErrTooLarge, client.ErrPayloadTooLarge, "The body is larger than 64 KiB."},
	{httpjson.ErrMediaType, client.ErrUnsupportedMediaType, "Content-Type must be application/json."},
	{httpjson.ErrRead, client.ErrValidation, "The body ended before it was complete."},
	{ledger.ErrNotFound, client.ErrNotFound, "There is no such object, or it is not yours."},
	{ledger.ErrSessionFinished, client.ErrSessionFinished, "The session is finished and does not change any more."},
	{payment.ErrNoRefunds, client.ErrNotRefundable, "The rail of the payment gives nothing back."},
	{payment.ErrNothingToSign, client.ErrRefundRefused, "The refund waits for no signature."},
	{rail.ErrSignature, client.ErrValidation, "signature is not the payee's wallet's, of this refund's typed data"},
	{ledger.ErrNotRefundable, client.ErrNotRefundable, "The payment cannot be refunded: it has not succeeded, or its rail took it back."},
	{ledger.ErrTooManyRefunds, client.ErrTooManyRefunds, fmt.Sprintf("The payment has %d refunds, the most that it can have.", ledger.MaxRefunds)},
	{ledger.ErrAboveCharge, client.ErrValidation, "amountCents must not exceed what is left of the payment"},
	{ledger.ErrNotAuthorized, client.ErrAuthorizationEnded, "The payment holds nothing to capture or void: it was not authorized, or was captured, voided or refused before."},
	{ledger.ErrNoWholeCents, client.ErrValidation, "amountCents must be whole cents for a card"},
	{ledger.ErrAboveHold, client.ErrValidation, "amountCents must not exceed the authorized amount"},
	{ledger.ErrIdempotencyInProgress, client.ErrIdempotencyInProgress, "A request with this idempotency key is still running."},
	{ledger.ErrIdempotencyMismatch, client.ErrIdempotencyMismatch, "This idempotency key was used for another request."},
	{ledger.ErrBusy, client.ErrUnavailable, "The service is busy; nothing was done. Try again with the same idempotency key."},
	{ledger.ErrUnavailable, client.ErrUnavailable, "The database does not answer. Try again with the same idempotency key: it finds what was done."},
	{payment.ErrTabOpening, client.ErrUnavailable, "The card has not answered yet; nothing was charged. Try again with the same idempotency key."},
	{ledger.ErrClosed, client.ErrUnavailable, "The service is stopping; nothing was done. Try again with the same idempotency key."},
	{mandate.ErrMalformed, client.ErrValidation, "intentMandate is not a mandate token"},
	{mandate.ErrInvalid, client.ErrMandateInvalid, "The mandate's signature, issuer or key is not valid here."},
	{mandate.ErrUnavailable, client.ErrUnavailable, "The mandate cannot be checked now; nothing was done. Try again with the same idempotency key."},
	{rail.ErrUnknownMethod, client.ErrValidation, "paymentMethod is none that this session can use"},
	{payment.ErrTokenNeeded, client.ErrValidation, "intentMandate must be the token (dtok_…): the id is enough only for the merchant that created the mandate"},
	{payment.ErrNoRecipient, client.ErrValidation, "recipient is no merchant of this service"},
	{payment.ErrNoRail, client.ErrRailUnavailable, "No rail of this service pays this payee: a card pays only merchants of the service."},
	{payment.ErrNothingToSweep, client.ErrNotFound, "There is nothing to send back to the wallet."},
	{payment.ErrNoEmail, client.ErrValidation, "email is not an email address"},
}

// params names the parameters of validation errors that do not carry them.
var params = map[error]string{
	mandate.ErrMalformed: "intentMandate", payment.ErrTokenNeeded: "intentMandate", rail.ErrUnknownMethod: "paymentMethod", payment.ErrNoEmail: "email",
	ledger.ErrAboveHold: "amountCents", ledger.ErrAboveCharge: "amountCents", ledger.ErrNoWholeCents: "amountCents",
	rail.ErrSignature: "signature", payment.ErrNoRecipient: "recipient",
}

// apiError maps every error to its response. Unknown errors become internal_error, without
// their cause.
func apiError(err error) *client.Error {
	var (
		known    *client.Error
		field    *httpjson.FieldError
		refusal  *ledger.Refusal
		declined *payment.MethodError
		text     *ledger.TextError
		unfit    *payment.PresentationError
		unsent   *payment.RefundSignatureError
		draw     *ledger.DrawError
		offer    *payment.OfferError
		unpaid   *payment.UnpayableError
	)
	switch {
	case errors.As(err, &known):
		e := *known
		return &e
	case errors.As(err, &refusal):
		return refused(refusal)
	case errors.As(err, &field):
		e := refuse(client.ErrValidation, field.Error())
		e.Param = field.Field
		return e
	case errors.As(err, &text):
		return invalid(text.Field, text.Problem)
	case errors.As(err, &offer):
		return invalid(offer.Field, offer.Problem)
	case errors.As(err, &unpaid):
		return refuse(client.ErrOfferNotPayable, "The offer cannot be paid: "+unpaid.Problem+".")
	case errors.As(err, &unsent):
		return refuse(client.ErrRefundRefused, refundProblem(unsent.Reason))
	case errors.As(err, &draw):
		return drawProblem(draw)
	case errors.As(err, &unfit):
		return refuse(client.ErrMandateInvalid, unfit.Problem)
	case errors.As(err, &declined):
		e := invalid("paymentMethod", fmt.Sprintf("was refused: %s; attempts left: %d", declined.Reason, declined.AttemptsLeft))
		return e
	}
	for _, row := range table {
		if errors.Is(err, row.err) {
			e := refuse(row.kind, row.message)
			e.Param = params[row.err]
			if e.Status == http.StatusConflict || e.Status == http.StatusServiceUnavailable {
				e.RetryAfter = time.Second
			}
			return e
		}
	}
	return refuse(client.ErrInternal, "Something failed on our side. Try again in a moment, with the same idempotency key if the request had one.")
}

// drawProblem says when a draw can be refunded.
func drawProblem(draw *ledger.DrawError) *client.Error {
	if draw.ClosesAt.IsZero() {
		e := refuse(client.ErrUnavailable, "The card is capturing tab "+draw.TabID+". Nothing was refunded; try again in a moment.")
		e.RetryAfter = time.Second
		return e
	}
	return refuse(client.ErrNotRefundable, "The payment is a draw of a tab that the card has not captured: until then it can be refunded in full only, without amountCents, and not if the tab's sum would fall below 50 cents. "+
		"The tab closes by "+draw.ClosesAt.UTC().Format(time.RFC3339)+", or at once by POST /v1/tabs/"+draw.TabID+"/close.")
}

// refundProblem says why a signed refund cannot move now.
func refundProblem(why rail.Reason) string {
	switch why {
	case rail.InsufficientFunds:
		return "The payee's wallet holds less than the refund. Fund it, and hand in the signature again."
	case rail.WalletBlocked:
		return "The token's issuer has blocked the payee's or the payer's wallet."
	case rail.Expired:
		return "The refund's day to sign is over. It fails; request another one."
	case rail.Reverted:
		return "The token would not make the transfer. Hand in the signature again later."
	default:
		return "The chain takes no refunds now. Nothing was sent; hand in the signature again later."
	}
}

// refused returns the error for a refusal, with the limit and the remaining amount.
func refused(r *ledger.Refusal) *client.Error {
	kinds := map[ledger.RefusalCode]struct {
		kind    *client.Error
		message string
	}{
		ledger.MerchantInactive:   {client.ErrMerchantInactive, "This merchant account is not active."},
		ledger.MerchantLimit:      {client.ErrMerchantLimit, "The amount exceeds the limit of this merchant account, $%s a charge."},
		ledger.MandateInvalid:     {client.ErrMandateInvalid, "The mandate's signature, issuer or key is not valid here."},
		ledger.MandateIsRevoked:   {client.ErrMandateRevoked, "The mandate has been revoked."},
		ledger.MandateExpired:     {client.ErrMandateExpired, "The mandate has expired."},
		ledger.MandateIsPaused:    {client.ErrMandatePaused, "The person has paused the mandate."},
		ledger.MerchantNotAllowed: {client.ErrMerchantNotAllowed, "The mandate does not allow payments to this merchant."},
		ledger.PerTxLimit:         {client.ErrPerTxLimit, "The amount exceeds the mandate's limit of $%s a payment."},
		ledger.DailyLimit:         {client.ErrDailyLimit, "The amount exceeds what is left of the mandate's limit of $%s a day."},
		ledger.MonthlyLimit:       {client.ErrMonthlyLimit, "The amount exceeds what is left of the mandate's limit of $%s a month."},
		ledger.TotalLimit:         {client.ErrTotalLimit, "The amount exceeds what is left of the mandate's limit of $%s in all."},
		ledger.VelocityLimit:      {client.ErrVelocityLimit, "The mandate allows no more payments today."},
		ledger.PayeeLimit:         {client.ErrPayeeLimit, "The amount exceeds what is left of the mandate's limit of $%s a month to one payee."},
	}
	row := kinds[r.Code]
	e := refuse(row.kind, row.message)
	if r.Limit > 0 {
		e.Message = fmt.Sprintf(row.message, r.Limit.Decimal())
		e.LimitCents = new(int64(r.Limit.CentsDown()))
	}
	if r.Holds > 0 || r.Code == ledger.MerchantLimit && !r.RenewsAt.IsZero() {
		_, period, _ := strings.Cut(row.message, "$%s")
		e.Message = drawRefused(r, strings.TrimSuffix(period, "."))
	}
	switch w := (ledger.Window{Kind: r.Code}); {
	case w.Counts():
		e.LimitPayments = &r.MaxPayments
	case r.Code == ledger.PayeeLimit || slices.Contains(ledger.WindowKinds, r.Code):
		e.RemainingCents = new(int64(r.Remaining.CentsDown()))
	}
	if r.Code == ledger.MonthlyLimit {
		e.RemainingMonthlySpendCents = e.RemainingCents
	}
	e.RenewsAt, e.RequestID = r.RenewsAt, r.RequestID
	return e
}

// drawRefused says why no tab could be opened for a draw. The limit is one of a period.
func drawRefused(r *ledger.Refusal, period string) string {
	if r.Holds > 0 {
		return fmt.Sprintf("For small payments a card holds $%s or more, and the mandate's limit of $%s%s leaves $%s. A mandate with a higher limit, or on the chain, pays them.",
			r.Holds.Decimal(), r.Limit.Decimal(), period, r.Remaining.Decimal())
	}
	return fmt.Sprintf("The service advances at most $%s a month for small payments by card to this merchant, until cards have paid them. "+
		"A payment of $%s or more needs no advance, nor does one on the chain. The operator can raise the limit.", r.Limit.Decimal(), ledger.Micros(ledger.CardMinimum).Decimal())
}

// hungUp reports whether an error only means that the client went away.
func hungUp(ctx context.Context, err error) bool {
	return httplog.HungUp(ctx, err) || ctx.Err() != nil && (errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, httpjson.ErrRead))
}

// fail writes an error, and logs errors of the service.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	if hungUp(r.Context(), err) {
		a.Logger.DebugContext(r.Context(), "client hung up", slog.String("requestId", httplog.RequestID(r.Context())),
			slog.String("route", r.Pattern), slog.String("error", err.Error()))
		w.WriteHeader(httplog.StatusClientClosedRequest)
		return
	}
	e := apiError(err)
	if e.Code == client.CodeInternal && strings.HasSuffix(r.Pattern, "/v1/payments/charge") {
		e.Message += " A charge, if it began, is found under its idempotency key."
	}
	if e.RequestID == "" {
		e.RequestID = httplog.RequestID(r.Context())
	}
	if a.DocsURL != "" {
		e.DocURL = a.DocsURL + string(e.Code) + ".md"
	}
	if e.Status >= http.StatusInternalServerError {
		a.Logger.ErrorContext(r.Context(), "request failed", slog.String("requestId", e.RequestID),
			slog.String("route", r.Pattern), slog.String("error", err.Error()))
	}
	retryafter.Set(w.Header(), e.RetryAfter)
	challenge(w.Header(), r, e)
	var refusal *ledger.Refusal
	if errors.As(err, &refusal) && refusal.Replayed {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	w.Header().Set("Cache-Control", "no-store")
	httpjson.Write(w, e.Status, e)
}
