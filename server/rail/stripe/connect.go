package stripe

import (
	"context"
	"errors"
	"fmt"
	"strings"

	api "github.com/stripe/stripe-go/v84"

	"github.com/paywarrant/paywarrant/server/rail"
)

// testCards is the prefix of Stripe's test payment methods.
const testCards = "pm_card_"

// Connect returns the card that a person connected on Stripe's page: Method is the id that
// [Rail.BeginSetup] led to, and Session must be the one that it began for. With a test key,
// Method may also be a test card such as "pm_card_visa".
//
// It returns a [rail.RefusedError] if Stripe refuses the card or the person has not finished,
// [rail.ErrUnknownMethod] if there is no such method or it is of another session, and
// [rail.ErrReferenceReused] if the reference connected something else.
func (r *Rail) Connect(ctx context.Context, c rail.Connection) (rail.Instrument, error) {
	return ask(ctx, r, "connect", c.Reference, func(ctx context.Context) (rail.Instrument, error) {
		switch {
		case strings.HasPrefix(c.Method, checkoutPrefix):
			return r.connectCheckout(ctx, c)
		case strings.HasPrefix(c.Method, testCards) && r.test:
			return r.connectTestCard(ctx, c)
		}
		return rail.Instrument{}, rail.ErrUnknownMethod
	})
}

// Methods implements [rail.Offerer]: Stripe's test cards with a test key, otherwise none.
func (r *Rail) Methods() []rail.Method {
	if !r.test {
		return nil
	}
	return []rail.Method{
		{Name: "pm_card_visa", Label: "Visa", Number: "4242 4242 4242 4242", Summary: "Pays."},
		{Name: "pm_card_chargeCustomerFail", Label: "Visa", Number: "4000 0000 0000 0341", Summary: "Connects; each payment is declined."},
		{Name: "pm_card_chargeDeclinedInsufficientFunds", Label: "Visa", Number: "4000 0000 0000 9995", Summary: "Refused for insufficient funds."},
		{Name: "pm_card_chargeDeclinedExpiredCard", Label: "Visa", Number: "4000 0000 0000 0069", Summary: "Refused as expired."},
	}
}

// connectTestCard connects a test card to a customer of its own. Both requests have the
// reference as key: test mode needs no more than the 24 hours that Stripe keeps them.
func (r *Rail) connectTestCard(ctx context.Context, c rail.Connection) (rail.Instrument, error) {
	customer, err := r.newCustomer(ctx, "customer:"+c.Reference, c.Email, map[string]string{metaReference: c.Reference})
	if err != nil {
		return rail.Instrument{}, err
	}
	intent, err := keyed(ctx, "setup:"+c.Reference, func(ctx context.Context, key string) (*api.SetupIntent, error) {
		params := &api.SetupIntentCreateParams{
			Customer: api.String(customer), PaymentMethod: api.String(c.Method), Confirm: api.Bool(true), Usage: api.String("off_session"),
			PaymentMethodTypes: api.StringSlice([]string{"card"}), Expand: api.StringSlice([]string{"payment_method"}),
			Metadata: map[string]string{metaReference: c.Reference},
		}
		params.SetIdempotencyKey(key)
		return r.client.V1SetupIntents.Create(ctx, params)
	}, never)
	switch {
	case declined(err):
		return rail.Instrument{}, &rail.RefusedError{Reason: reason(problemOf(err).cause)}
	case reused(err):
		return rail.Instrument{}, rail.ErrReferenceReused
	case missing(err):
		return rail.Instrument{}, rail.ErrUnknownMethod
	case err != nil:
		return rail.Instrument{}, err
	}
	return connected(customer, intent)
}

var _ rail.Offerer = (*Rail)(nil)

// newCustomer creates a customer, once per key.
func (r *Rail) newCustomer(ctx context.Context, key, email string, metadata map[string]string) (string, error) {
	one, err := keyed(ctx, key, func(ctx context.Context, key string) (*api.Customer, error) {
		params := &api.CustomerCreateParams{Metadata: metadata}
		if email != "" {
			params.Email = api.String(email)
		}
		params.SetIdempotencyKey(key)
		return r.client.V1Customers.Create(ctx, params)
	}, never)
	if reused(err) {
		return "", rail.ErrReferenceReused
	}
	if err != nil {
		return "", err
	}
	return one.ID, nil
}

// connected returns the card of a setup that has ended.
func connected(customer string, intent *api.SetupIntent) (rail.Instrument, error) {
	switch {
	case intent.LastSetupError != nil && intent.Status != api.SetupIntentStatusSucceeded:
		return rail.Instrument{}, &rail.RefusedError{Reason: reason(intent.LastSetupError)}
	case intent.Status == api.SetupIntentStatusProcessing:
		return rail.Instrument{}, errors.New("the processor is still checking the card")
	case intent.Status != api.SetupIntentStatusSucceeded:
		return rail.Instrument{}, &rail.RefusedError{Reason: rail.CardDeclined}
	case intent.PaymentMethod == nil || customer == "":
		return rail.Instrument{}, fmt.Errorf("the processor answered without the card of setup %s", intent.ID)
	}
	in := rail.Instrument{Rail: rail.Card, Customer: customer, Method: intent.PaymentMethod.ID}
	if card := intent.PaymentMethod.Card; card != nil {
		in.Brand, in.LastFour = brand(string(card.Brand)), card.Last4
	}
	return in, nil
}

// brand returns the name of a card brand for people.
func brand(name string) string {
	known := map[string]string{
		"amex": "American Express", "diners": "Diners Club", "discover": "Discover", "eftpos_au": "Eftpos", "jcb": "JCB",
		"mastercard": "Mastercard", "unionpay": "UnionPay", "visa": "Visa",
	}
	if text, ok := known[name]; ok {
		return text
	}
	return "Card"
}

// Disconnect detaches a card from its customer at Stripe, which then refuses to charge it.
func (r *Rail) Disconnect(ctx context.Context, in rail.Instrument) error {
	if in.Rail != rail.Card || in.Method == "" {
		return nil
	}
	_, err := ask(ctx, r, "disconnect", in.Method, func(ctx context.Context) (rail.Instrument, error) {
		return in, r.detach(ctx, in.Method)
	})
	return err
}

// detach detaches a payment method from its customer, if it is attached.
func (r *Rail) detach(ctx context.Context, method string) error {
	_, err := again(ctx, func(ctx context.Context) (*api.PaymentMethod, error) {
		return r.client.V1PaymentMethods.Detach(ctx, method, nil)
	})
	if invalid(err) { // it is detached, or does not exist
		return nil
	}
	return err
}

var _ rail.Addressed = (*Rail)(nil)

// PayerEmail returns the email address that the person entered on Stripe's page.
func (r *Rail) PayerEmail(ctx context.Context, in rail.Instrument) (string, error) {
	if in.Rail != rail.Card || in.Customer == "" {
		return "", nil
	}
	return ask(ctx, r, "read email", in.Customer, func(ctx context.Context) (string, error) {
		one, err := again(ctx, func(ctx context.Context) (*api.Customer, error) {
			return r.client.V1Customers.Retrieve(ctx, in.Customer, nil)
		})
		if err != nil {
			return "", err
		}
		return one.Email, nil
	})
}
