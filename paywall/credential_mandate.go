package paywall

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/x402"
)

// presentationLife is how long a presentation is valid, including clock skew.
const presentationLife = mandate.DefaultMaxPresentationAge + 2*mandate.DefaultSkew

// networkCard is the network of payments by card.
const networkCard = "card"

// microsPerCent is the number of micro-dollars in a cent.
const microsPerCent = 10_000

// planMandate plans the payment of X-Service-Mandate: a bare mandate, or a presentation
// bound to this payment. The service checks status, monthly limit and payee.
func (v *visit) planMandate(ctx context.Context) (*purchase, error) {
	token := v.found.value
	ctx, cancel := v.limited(ctx)
	defer cancel()
	p, late, err := v.readMandate(ctx, token)
	if err != nil {
		return nil, err
	}
	m := p.Mandate
	if limit := m.Limits.MaxPerTxCents; (v.offer.micros-1)/microsPerCent+1 > limit {
		no := refuse(string(client.CodePerTxLimit), "The price is above what the mandate allows for one payment.")
		no.limits.LimitCents = &limit
		return nil, no
	}
	key, err := v.mandateKey(ctx, p)
	if err != nil {
		return nil, err
	}
	params := client.PaywallSettlementParams{
		Mandate: token, Price: v.offer.price, PayTo: v.offer.accepts[0].two.PayTo, Network: v.offer.accepts[0].two.Network,
		Resource: v.offer.resource, ChallengeID: p.Nonce,
	}
	if v.route.Metered {
		params.Metered, params.ExpiresInSeconds = true, int64(v.route.Hold/time.Second)
	}
	plan := &purchase{
		late: late, mandateID: m.ID,
		announce: func(h http.Header, p Payment) { announceX402(h, keyPaymentResponseV1, p) },
	}
	plan.use(v, key, params, m.ID)
	return plan, nil
}

// use makes the purchase pay under a key.
func (p *purchase) use(v *visit, key mandateKey, params client.PaywallSettlementParams, mandateID string) {
	params.IdempotencyKey = key.sent
	p.claims, p.repeat = []Claim{key.claim}, key.again
	p.settle = func(ctx context.Context, _ ClaimState) (settled, error) {
		return v.settleMandate(ctx, params, key, mandateID)
	}
	p.replace = nil
	if key.reused {
		p.replace = func(ctx context.Context) error {
			next, err := v.looseKey(ctx, mandateID, key.claim)
			if err == nil {
				p.use(v, next, params, mandateID)
			}
			return err
		}
	}
}

// readMandate verifies the token. If the token is expired and otherwise valid, late is the
// refusal, and the token is still valid for what it paid before.
func (v *visit) readMandate(ctx context.Context, token string) (p *mandate.Presentation, late *refusal, err error) {
	want := mandate.Expect{Audience: origin(v.offer.resource), AllowUnbound: true, AllowStale: true}
	p, err = v.verifier.VerifyPresentation(ctx, token, want)
	if errors.Is(err, mandate.ErrExpired) {
		late = fromCheck(err)
		p, err = v.expired.VerifyPresentation(ctx, token, want)
	}
	switch {
	case err != nil:
		return nil, nil, fromCheck(err)
	case late != nil:
	case !v.clock().Before(p.Mandate.ExpiresAt):
		late = refuse(string(client.CodeMandateExpired), "The mandate has expired.")
	case p.Stale:
		late = fromCheck(&mandate.Error{Reason: mandate.KBStale})
	}
	return p, late, nil
}

// mandateKey identifies one payment of a mandate.
type mandateKey struct {
	sent  string // idempotency key of the settlement
	again string // Idempotency-Key with which a client can repeat the request; empty for presentations
	claim Claim
	// reused reports that the gate took the key from an earlier request. The client may have
	// repeated that request with the key since.
	reused bool
}

// named returns the key with the name under which it is settled.
func (k mandateKey) named(sent string) mandateKey {
	k.sent, k.claim.Key = sent, "mandate:"+sent
	return k
}

// mandateKey returns the key of a payment: from the challenge of a presentation, from the
// client's Idempotency-Key, or else a random one.
func (v *visit) mandateKey(ctx context.Context, p *mandate.Presentation) (k mandateKey, err error) {
	now := v.clock()
	k.claim = Claim{Binding: fingerprint(v.offer.accepts[0].binding), Until: now.Add(longestMemory)}
	asked := v.request.Header.Get(HeaderIdempotencyKey)
	switch {
	case p.Mandate.Bound:
		if no := v.checkTransaction(p); no != nil {
			return k, no
		}
		k.claim.Until = now.Add(presentationLife)
		return k.named("presentation:" + fingerprint(p.Mandate.ID, p.Nonce)), nil
	case asked != "":
		if len(asked) > 255 || strings.ContainsFunc(asked, func(r rune) bool { return r < ' ' || r > '~' }) {
			return k, &refusal{status: http.StatusBadRequest, code: string(client.CodeValidation), message: "Idempotency-Key: want 1 to 255 printable ASCII characters."}
		}
		k.again = asked
		return k.named("request:" + fingerprint(p.Mandate.ID, asked)), nil
	}
	return v.looseKey(ctx, p.Mandate.ID, k.claim)
}

// looseKey returns the key of a bare mandate without an Idempotency-Key. It reuses the key of
// an earlier payment of the same mandate, resource and price that was undecided or not
// served, so that the client does not pay again.
func (v *visit) looseKey(ctx context.Context, mandateID string, c Claim) (mandateKey, error) {
	c.Slot = fingerprint("slot", mandateID, c.Binding)
	again, err := v.redemptions.Unfinished(ctx, c.Slot)
	if err != nil {
		return mandateKey{}, storeDown(err)
	}
	reused := again != ""
	if !reused {
		again = randomText()
	}
	c.Repeat = again
	k := mandateKey{again: again, claim: c, reused: reused}
	// The same as if the client had sent the key, so that a repeat with it finds this payment.
	return k.named("request:" + fingerprint(mandateID, again)), nil
}

// checkTransaction compares the payment that a presentation is bound to with the offer.
func (v *visit) checkTransaction(p *mandate.Presentation) *refusal {
	want, got := &v.offer.accepts[0].two, p.Transaction
	if got == nil || got.AmountMicros != v.offer.micros || got.Network != want.Network || got.Resource != v.offer.resource ||
		!x402.SameAddress(got.PayTo, want.PayTo) {
		return refuse(codeOtherPayment, "The presentation was made for another payment.")
	}
	return nil
}

func (v *visit) settleMandate(ctx context.Context, params client.PaywallSettlementParams, key mandateKey, mandateID string) (settled, error) {
	s, err := v.settler.SettleMandate(ctx, params)
	replayed := s.Replayed
	if err == nil && !s.Success && s.ErrorReason == string(x402.ReasonPending) {
		s, err = v.settler.SettleMandate(ctx, params) // replays this request's first attempt
	}
	if err != nil {
		no := fromMandate(err)
		if no.undecided() {
			no.key = key.again
		}
		return settled{}, no
	}
	if !s.Success {
		return settled{}, fromRail(s, v.offer, key.again)
	}
	payer := s.Payer
	if payer == "" {
		payer = mandateID
	}
	p := Payment{
		Credential: CredentialMandate, Scheme: "mandate", Payer: payer, Transaction: s.Transaction, Network: s.Network,
		AmountMicros: v.offer.micros, TransactionID: s.TransactionID,
	}
	if s.AuthorizedUntil != nil {
		p.AmountMicros, p.AuthorizedMicros, p.AuthorizedUntil = 0, v.offer.micros, *s.AuthorizedUntil
	} else if params.Metered { // the price is paid, so the request is served
		v.logger.ErrorContext(ctx, "paywall: the service charged the price of a metered route instead of holding it; it may be of an earlier version",
			slog.String("request_id", v.id), slog.String("transaction_id", s.TransactionID), slog.Int64("amount_micros", v.offer.micros))
	}
	return settled{replayed: replayed, payment: p}, nil
}

// fromRail returns the refusal of a settlement that the rail refused or has not decided.
func fromRail(s MandateSettlement, o *offer, key string) *refusal {
	reason := string(safeReason(x402.Reason(s.ErrorReason)))
	if s.ErrorReason == string(x402.ReasonPending) {
		no := outage(true, 2*time.Second, nil)
		no.code, no.key = codePending, key
		no.message = "The payment was sent and is not confirmed yet. Send the same credential again."
		return no
	}
	if s.ErrorReason == "" {
		no := outage(false, 0, nil)
		no.key = key
		return no
	}
	return refuse(reason, railMessage(reason, o))
}

// minCardMicros is the smallest card payment, in micro-dollars.
const minCardMicros = 500_000

// railMessage explains the refusal of a rail.
func railMessage(reason string, o *offer) string {
	switch {
	case reason == string(client.CodeRailUnavailable) && o.micros < minCardMicros && o.metered:
		return "No rail of the mandate can hold " + o.price + " USDC here: a card holds 0.50 USD or more. A mandate with the chain rail holds any price."
	case reason == string(client.CodeRailUnavailable):
		return "No rail of the mandate can pay here: the merchant takes no cards, or the mandate has no chain rail."
	case reason == string(client.CodeAuthorizationEnded):
		return "What this credential held was captured or given back. Pay again, with a new Idempotency-Key if you send one."
	case reason == "card_declined":
		return "The card of the mandate was declined."
	case reason == string(x402.ReasonInsufficientFunds):
		return "The wallet of the mandate does not hold " + o.price + " USDC."
	}
	return "The payment was refused: " + reason + "."
}
