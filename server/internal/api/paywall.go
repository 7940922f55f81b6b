package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/httpjson"
	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

var wallet = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)

const maxResource = 400

// settlePaywall charges a paywall's price to a mandate, or holds it. A charge needs no
// credentials: the money can only reach a payee that the mandate allows. A request counts against its mandate
// once the mandate's signature is verified, and against the client's address if that fails
// or if the presentation may be a copy. It never counts against the payee, since anyone
// can name it.
func (a *API) settlePaywall(w http.ResponseWriter, r *http.Request) {
	var in client.PaywallSettlementParams
	err := httpjson.Decode(w, r, &in)
	var request payment.PaywallRequest
	if err == nil {
		request, err = paywallRequest(in, r.Header)
	}
	if err == nil && in.Metered {
		err = a.holdPrice(w, r, in, &request)
	}
	verified := false
	var answer reply
	if err == nil {
		request.RequestID = httplog.RequestID(r.Context())
		request.Admit = func(mandateID string, current bool) error {
			verified = true
			if !current {
				return a.takeAddress(r.Context(), w.Header(), anonymous)
			}
			if wait, ok := a.limits.take(w.Header(), mandateID, settlements); !ok {
				return rateLimited(wait)
			}
			return nil
		}
		answer, err = a.settle(r.Context(), request)
	}
	if err != nil && !verified && apiError(err).Status < http.StatusInternalServerError {
		err = a.stranger(r.Context(), w.Header(), err)
	}
	a.answer(w, r, answer, err)
}

// holdPrice makes a request hold the price. Only the payee may, because a hold takes from the
// limits of the mandate until the payee captures or voids it.
func (a *API) holdPrice(w http.ResponseWriter, r *http.Request, in client.PaywallSettlementParams, request *payment.PaywallRequest) error {
	m, err := a.authenticate(w, r, client.ScopeCharge)
	if err != nil {
		return err
	}
	if !strings.EqualFold(m.PayTo, in.PayTo) {
		return invalid("payTo", "must be the merchant's own wallet if metered is true")
	}
	request.Hold = defaultHold
	if in.ExpiresInSeconds != 0 {
		request.Hold, err = holdFor(in.ExpiresInSeconds)
	}
	return err
}

func paywallRequest(in client.PaywallSettlementParams, h http.Header) (payment.PaywallRequest, error) {
	var r payment.PaywallRequest
	if in.Mandate == "" {
		return r, invalid("mandate", "is required: the token of an intent mandate (dtok_…), or a presentation of one")
	}
	price, err := money.ParseDecimal(in.Price)
	if err != nil || price <= 0 {
		return r, invalid("price", `is required: dollars with at most six decimals, such as "0.01"`)
	}
	if !wallet.MatchString(in.PayTo) {
		return r, invalid("payTo", "is required: a wallet address (0x and 40 hexadecimal digits)")
	}
	resource, err := url.Parse(in.Resource)
	if err != nil || resource.Host == "" || len(in.Resource) > maxResource || !text.Clean(in.Resource) {
		return r, invalid("resource", "is required: the full URL that is paid for, of at most 400 bytes, without control characters")
	}
	if !text.Clean(in.Network) || !text.Clean(in.ChallengeID) {
		return r, invalid("challengeId", "and network must have no control characters")
	}
	if len(in.Network) > maxNetwork || len(in.ChallengeID) > maxNonce {
		return r, invalid("challengeId", fmt.Sprintf("or network is too long: at most %d and %d bytes", maxNonce, maxNetwork))
	}
	key, err := idempotencyKey(in.IdempotencyKey, h)
	return payment.PaywallRequest{
		Token: in.Mandate, Price: price, PayTo: in.PayTo, Network: in.Network, Resource: resource, ResourceText: in.Resource,
		ChallengeID: in.ChallengeID, IdempotencyKey: key,
	}, err
}

func (a *API) settle(ctx context.Context, r payment.PaywallRequest) (reply, error) {
	c, err := a.Payments.SettlePaywall(ctx, r)
	if err != nil {
		return reply{}, err
	}
	s := client.PaywallSettlement{TransactionID: c.ID}
	if s.Payer, err = a.Payments.Payer(ctx, c.Charge); err != nil {
		return reply{}, err
	}
	switch {
	case c.Reversed:
		s.ErrorReason = payment.PaymentReversed
	case c.GivenBack():
		s.ErrorReason = payment.PaymentRefunded
	case c.Status == ledger.ChargeVoided, c.Status == ledger.ChargeSucceeded && r.Hold > 0:
		s.ErrorReason = string(client.CodeAuthorizationEnded)
	case c.Paid(), c.Status == ledger.ChargeAuthorized:
		s.Success = true
		s.Network, s.Transaction = "card", cmp.Or(c.ProcessorID, c.ID) // a draw shares its tab's payment with others
		if c.Rail == rail.Chain {
			s.Network, s.Transaction = r.Network, c.TxHash
		}
		if c.Status == ledger.ChargeAuthorized && c.TabID == "" {
			s.AuthorizedUntil = &c.AuthorizedUntil
		}
	case c.Status == ledger.ChargePending:
		s.ErrorReason = "settlement_pending"
	case c.Status == ledger.ChargeFailed:
		s.ErrorReason = string(c.FailureReason)
	}
	return reply{Body: s, Replayed: c.Replayed}, nil
}
