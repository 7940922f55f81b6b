package stripe

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
				CustomText: notice(s.Notice), SuccessURL: api.String(s.ReturnURL + "&" + rail.ReturnedMethod + "={CHECKOUT_SESSION_ID}"), CancelURL: api.String(s.CancelURL),
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

// maxNotice limits a notice in characters.
const maxNotice = 1200

// markup matches what Checkout shows as more than text.
var markup = strings.NewReplacer("[", "", "]", "", "*", "", "_", " ", "`", "", "<", "", ">", "", "\\", "", "#", "", "~", "")

// notice is the text beside the button of Checkout, without markup: names are chosen by merchants.
func notice(text string) *api.CheckoutSessionCreateCustomTextParams {
	if text == "" {
		return nil
	}
	plain := []rune(markup.Replace(text))
	return &api.CheckoutSessionCreateCustomTextParams{
		Submit: &api.CheckoutSessionCreateCustomTextSubmitParams{Message: api.String(string(plain[:min(len(plain), maxNotice)]))},
	}
}

// EndSetup makes a Checkout session useless: an open one expires, and the card of a complete
// one is detached.
func (r *Rail) EndSetup(ctx context.Context, method, session string) error {
	_, err := ask(ctx, r, "end setup", method, func(ctx context.Context) (*api.CheckoutSession, error) {
		page, err := r.checkoutOf(ctx, method, session)
		if err == nil && page.Status == api.CheckoutSessionStatusOpen {
			_, err = again(ctx, func(ctx context.Context) (*api.CheckoutSession, error) {
				return r.client.V1CheckoutSessions.Expire(ctx, method, nil)
			})
			if err == nil || invalid(err) { // it was completed meanwhile
				page, err = r.checkoutOf(ctx, method, session)
			}
		}
		if err == nil && page.SetupIntent != nil && page.SetupIntent.PaymentMethod != nil {
			err = r.detach(ctx, page.SetupIntent.PaymentMethod.ID)
		}
		return page, err
	})
	return err
}

// checkoutOf returns a Checkout session of a setup session, with its card. It returns
// [rail.ErrUnknownMethod] if there is none, or if it is of another setup session.
func (r *Rail) checkoutOf(ctx context.Context, method, session string) (*api.CheckoutSession, error) {
	page, err := again(ctx, func(ctx context.Context) (*api.CheckoutSession, error) {
		return r.client.V1CheckoutSessions.Retrieve(ctx, method, &api.CheckoutSessionRetrieveParams{
			Expand: api.StringSlice([]string{"setup_intent.payment_method"}),
		})
	})
	switch {
	case missing(err), !strings.HasPrefix(method, checkoutPrefix):
		return nil, rail.ErrUnknownMethod
	case err != nil:
		return nil, err
	case page.Mode != api.CheckoutSessionModeSetup, session == "", page.ClientReferenceID != session:
		return nil, rail.ErrUnknownMethod
	}
	return page, nil
}

// connectCheckout returns the card of a Checkout session of the same setup session.
func (r *Rail) connectCheckout(ctx context.Context, c rail.Connection) (rail.Instrument, error) {
	page, err := r.checkoutOf(ctx, c.Method, c.Session)
	switch {
	case err != nil:
		return rail.Instrument{}, err
	case page.Status != api.CheckoutSessionStatusComplete:
		return rail.Instrument{}, &rail.RefusedError{Reason: rail.CardDeclined}
	case page.SetupIntent == nil || page.Customer == nil:
		return rail.Instrument{}, fmt.Errorf("the processor answered without the card of setup %s", page.ID)
	case page.SetupIntent.PaymentMethod != nil && page.SetupIntent.PaymentMethod.Customer == nil: // EndSetup detached it
		return rail.Instrument{}, &rail.RefusedError{Reason: rail.CardDeclined}
	}
	return connected(page.Customer.ID, page.SetupIntent)
}
