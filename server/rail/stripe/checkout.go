package stripe

import (
	"context"
	"errors"
	"fmt"

	api "github.com/stripe/stripe-go/v84"

	"github.com/paywarrant/paywarrant/server/rail"
)

// checkoutPrefix is the prefix of the ids of Checkout sessions.
const checkoutPrefix = "cs_"

var _ rail.Redirector = (*Rail)(nil)

// BeginSetup begins the setup of a card on Stripe's page (Checkout in setup mode) for a
// setup session, and returns the address of the page. Connect takes the id with which the
// person returns, in that session alone.
func (r *Rail) BeginSetup(ctx context.Context, s rail.Setup) (string, error) {
	return ask(ctx, r, "begin setup", s.Reference, func(ctx context.Context) (string, error) {
		customer, err := r.newCustomer(ctx, "customer:"+s.Reference, "", map[string]string{metaReference: s.Reference})
		if err != nil {
			return "", err
		}
		page, err := keyed(ctx, "checkout:"+s.Reference, func(ctx context.Context, key string) (*api.CheckoutSession, error) {
			params := &api.CheckoutSessionCreateParams{
				Mode: api.String(string(api.CheckoutSessionModeSetup)), Customer: api.String(customer), Currency: api.String("usd"),
				PaymentMethodTypes: api.StringSlice([]string{"card"}), ClientReferenceID: api.String(s.Session),
				SuccessURL: api.String(s.ReturnURL + "&" + rail.ReturnedMethod + "={CHECKOUT_SESSION_ID}"), CancelURL: api.String(s.CancelURL),
			}
			params.SetIdempotencyKey(key)
			return r.client.V1CheckoutSessions.Create(ctx, params)
		}, never)
		switch {
		case reused(err):
			return "", rail.ErrReferenceReused
		case err != nil:
			return "", err
		case page.URL == "":
			return "", errors.New("the processor answered without the address of its page")
		}
		return page.URL, nil
	})
}

// connectCheckout returns the card of a Checkout session of the same setup session.
func (r *Rail) connectCheckout(ctx context.Context, c rail.Connection) (rail.Instrument, error) {
	page, err := again(ctx, func(ctx context.Context) (*api.CheckoutSession, error) {
		return r.client.V1CheckoutSessions.Retrieve(ctx, c.Method, &api.CheckoutSessionRetrieveParams{
			Expand: api.StringSlice([]string{"setup_intent.payment_method"}),
		})
	})
	switch {
	case missing(err):
		return rail.Instrument{}, rail.ErrUnknownMethod
	case err != nil:
		return rail.Instrument{}, err
	case page.Mode != api.CheckoutSessionModeSetup, c.Session == "", page.ClientReferenceID != c.Session:
		return rail.Instrument{}, rail.ErrUnknownMethod // another session's
	case page.Status != api.CheckoutSessionStatusComplete:
		return rail.Instrument{}, &rail.RefusedError{Reason: rail.CardDeclined}
	case page.SetupIntent == nil || page.Customer == nil:
		return rail.Instrument{}, fmt.Errorf("the processor answered without the card of setup %s", page.ID)
	}
	return connected(page.Customer.ID, page.SetupIntent)
}
