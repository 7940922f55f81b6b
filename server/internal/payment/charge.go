package payment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// ChargeRequest asks to move an amount from a mandate's payer to a merchant.
type ChargeRequest struct {
	Payee          ledger.Merchant
	Token          string
	Amount         ledger.Micros
	Currency       string
	Description    string
	Metadata       map[string]string
	IdempotencyKey string
	RequestID      string
	// Tab draws the amount from a tab if it is below what a card pays, and the mandate pays by
	// card alone.
	Tab bool

	// kind is the kind of the idempotency key, by default the merchant's own. named
	// requires that the mandate names the payee. rails overrides the currency's order.
	kind  ledger.KeyKind
	named bool
	// resource is the normalized URL that a paywall's charge pays for.
	resource string
	rails    []rail.Name
	// checkout is the entropy of the checkout that the charge pays.
	checkout string
	// bound is a verified presentation made for this charge. same lists further values
	// that must be equal for two requests to count as the same.
	bound *mandate.Presentation
	same  []string
	// requestKey is the request's own idempotency key, if the charge has another one.
	requestKey ledger.IdempotencyKey
	// mandateID identifies the mandate of a charge without a token: the service has just
	// created the mandate for this charge, or has verified that its caller may use it.
	mandateID string
	// mandateRails are the rails of mandateID, for draws.
	mandateRails []mandate.Rail
	// scope owns the idempotency key; see [ledger.Reserve].
	scope string
	// hold authorizes the amount for this time instead of charging it.
	hold time.Duration
}

// Charged is the result of a request to charge. Replayed reports that an earlier request
// with the same idempotency key made the charge, and Reversed that its rail has since
// taken the payment back.
type Charged struct {
	ledger.Charge

	Replayed, Reversed bool
}

// Charge reserves an amount and asks the rails to move it. It returns the decided
// charge, or a pending one if the rail has no outcome yet or did not answer; recovery
// finishes that charge.
//
// It returns mandate.ErrMalformed, a [*PresentationError], a [*ledger.Refusal], or the
// ledger's idempotency errors, ErrBusy and ErrClosed. After any other error, a request
// with the same idempotency key returns the charge's state.
func (s *Service) Charge(ctx context.Context, r ChargeRequest) (Charged, error) {
	c, err := s.move(ctx, r)
	s.Telemetry.Requested(outcomeLabel(c, err))
	return c, err
}

func (s *Service) move(ctx context.Context, r ChargeRequest) (Charged, error) {
	done, err := s.begin()
	if err != nil {
		return Charged{}, err
	}
	defer done()
	reserve, err := s.reserve(ctx, r)
	if err != nil {
		return Charged{}, err
	}
	failpoint.Hit(failpoint.Received)
	within, span := s.Telemetry.Span(ctx, "ledger.reserve", slog.String("mandateId", reserve.MandateID), slog.String("merchantId", r.Payee.ID))
	reserved, err := s.reserved(within, reserve)
	span.Set(slog.String("transactionId", reserved.Charge.ID), slog.Bool("replayed", reserved.Replayed))
	span.End(spanError(err))
	if err != nil {
		return Charged{}, err
	}
	failpoint.Hit(failpoint.Reserved)
	if reserved.Charge.TabID != "" && !reserved.Replayed {
		failpoint.Hit(failpoint.Drawn)
	}
	if reserved.Replayed {
		reversed, err := s.Reversed(ctx, reserved.Charge)
		return Charged{Charge: reserved.Charge, Replayed: true, Reversed: reversed}, err
	}
	if reserved.Charge.Status != ledger.ChargePending { // a draw
		return Charged{Charge: reserved.Charge}, nil
	}
	// From here on the charge is finished even if the caller goes away.
	c, err := s.finish(context.WithoutCancel(ctx), reserved.Charge, attempt{within: railTimeout})
	return Charged{Charge: c}, err
}

// begin counts a running charge. It returns ledger.ErrClosed if the service is closing.
func (s *Service) begin() (done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ledger.ErrClosed
	}
	s.running.Add(1)
	return s.running.Done, nil
}

// reserve verifies the token's signature and returns the command with which the ledger
// decides everything else.
func (s *Service) reserve(ctx context.Context, r ChargeRequest) (ledger.Reserve, error) {
	mandateID, rails, valid, err := s.tokenMandate(ctx, r)
	if err != nil {
		return ledger.Reserve{}, err
	}
	now := s.Clock()
	order := r.rails
	if order == nil {
		order = rail.Preferred(r.Currency)
	}
	var draw *ledger.Draw
	if r.Tab && r.Amount < MinimumByCard {
		draw, order = s.drawOf(order, rails)
	}
	return ledger.Reserve{
		ChargeID: id.New(id.Charge, now), MandateID: mandateID, TokenValid: valid, Payee: r.Payee,
		PayTo: r.Payee.PayTo, Amount: r.Amount, Currency: r.Currency, Description: r.Description, Metadata: r.Metadata,
		Resource: r.resource, Named: r.named, Rails: s.Configured(order), Kind: r.kind, IdempotencyKey: r.IdempotencyKey,
		RequestKey: r.requestKey, Scope: r.scope, Fingerprint: fingerprint(mandateID, r), Checkout: r.checkout, RequestID: r.RequestID, Lease: leaseFor,
		Hold: r.hold, Draw: draw,
	}, nil
}

// tokenMandate returns the id and the rails of the token's mandate, and reports whether the
// token is valid.
func (s *Service) tokenMandate(ctx context.Context, r ChargeRequest) (mandateID string, rails []mandate.Rail, valid bool, err error) {
	if r.mandateID != "" {
		return r.mandateID, r.mandateRails, true, nil
	}
	if r.bound != nil {
		return r.bound.Mandate.ID, r.bound.Mandate.Rails, !r.bound.Stale, nil
	}
	m, err := s.Verifier.Verify(ctx, r.Token)
	switch {
	case err == nil && m.Bound:
		return "", nil, false, errBound
	case err == nil:
		return m.ID, m.Rails, true, nil
	case errors.Is(err, mandate.ErrInvalid):
		s.Logger.InfoContext(ctx, "mandate refused", slog.String("error", err.Error()), slog.String("requestId", r.RequestID))
		return "", nil, false, nil
	}
	return "", nil, false, err
}

// Configured returns the rails of order that this service has.
func (s *Service) Configured(order []rail.Name) []rail.Name {
	var have []rail.Name
	for _, name := range order {
		if _, ok := s.Rails.Rail(name); ok {
			have = append(have, name)
		}
	}
	return have
}

// fingerprint identifies the request under an idempotency key. It uses the mandate id
// that the token claims, even if the token is invalid: another spelling of the token is
// the same request, and a retry matches even after the signing key was revoked.
func fingerprint(mandateID string, r ChargeRequest) string {
	if mandateID == "" {
		mandateID = claimedID(r.Token)
	}
	kind := ""
	if r.kind != "" {
		kind = string(r.kind) + ":"
	}
	parts := []any{kind, mandateID, r.Amount, r.Currency, r.Description, r.Metadata} // maps by sorted key
	if r.Tab && r.rails == nil {
		parts = append(parts, "tab")
	}
	if r.hold > 0 {
		parts = append(parts, r.hold)
	}
	if len(r.same) > 0 {
		parts = append(parts, r.same)
	}
	return hashOf(parts...)
}

// hashOf returns a hash of strings, integers, and lists and maps of them.
func hashOf(parts ...any) string {
	canonical, err := json.Marshal(parts)
	if err != nil {
		panic(fmt.Sprintf("payment: encode strings and integers: %v", err))
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

// claimedID returns the id that an invalid token claims, or a hash of the token.
func claimedID(token string) string {
	if claimed, ok := mandate.ClaimedID(token); ok {
		return claimed
	}
	return "invalid:" + id.Hash(token)
}

// attempt configures how the rails of a charge are asked.
type attempt struct {
	within  time.Duration // the time limit of all rails together
	resumed bool          // by recovery: no caller waits, and an earlier process may have asked
}

// finish asks the rails and settles the charge. It serves new charges and those that a
// crash left pending: rails identify a charge by its reference, so asking again never
// moves money twice.
func (s *Service) finish(ctx context.Context, c ledger.Charge, how attempt) (ledger.Charge, error) {
	switch {
	case c.Direct():
		return s.finishTransfer(ctx, c, how)
	case c.Source == ledger.SourceSeller:
		return s.finishPurchase(ctx, c, how)
	}
	instruments, err := s.Instruments(ctx, c.MandateID, c.Card)
	if err == nil && len(instruments) == 0 && len(c.Rails) > 0 {
		err = errors.New("the mandate has no instrument") // refusing could hide money that a rail has moved
	}
	if err != nil {
		s.Logger.ErrorContext(ctx, "find instruments of charge", slog.String("transactionId", c.ID), slog.String("error", err.Error()))
		return c, nil // still pending: recovery asks again when the lease has expired
	}
	railCtx, cancel := context.WithTimeout(ctx, how.within)
	ask := s.Rails.Charge
	switch c.Step {
	case ledger.StepAuthorize:
		ask = s.Rails.Authorize
	case ledger.StepCapture:
		ask = s.Rails.Capture
	}
	used, outcome, err := ask(railCtx, c.Rails, instruments, rail.Charge{
		Reference: c.ID, MandateID: c.MandateID, MerchantID: c.MerchantID, PayTo: c.PayTo,
		Amount: c.Amount, Description: c.Description, NoWait: how.resumed,
	}, s.mayAsk(c, how))
	cancel()
	if err == nil && (outcome.Status == rail.Succeeded || outcome.Status == rail.Refused || outcome.Status == rail.Held) {
		failpoint.Hit(failpoint.Decided)
		settled, err := s.settle(ctx, c, ledger.Settlement{Rail: used, Outcome: outcome, Step: c.Step})
		failpoint.Hit(failpoint.Settled)
		return settled, err
	}
	log := s.Logger.With(slog.String("transactionId", c.ID), slog.String("rail", string(used)), slog.Int("asked", c.Asked))
	if err != nil {
		log.WarnContext(ctx, "outcome of charge unknown, will ask again", slog.String("error", err.Error()))
	} else {
		log.InfoContext(ctx, "charge pending on its rail")
	}
	off, _, err := s.Ledger.PutOff(ctx, c, s.Clock().Add(putOff(c.Asked)))
	if err != nil { // the lease expires by itself
		log.WarnContext(ctx, "postpone charge", slog.String("error", err.Error()))
		return c, nil
	}
	failpoint.Hit(failpoint.PutOff)
	return off, nil
}
