package stripe

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	api "github.com/stripe/stripe-go/v84"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
)

// maxDescription limits a description in bytes.
const maxDescription = 500

// Charge confirms a payment that Stripe captures at once, at most one per reference. A
// repeated call finishes a charge that was interrupted. What a card cannot pay (an amount
// that is not a positive number of whole cents, a payee that is no merchant, an instrument
// of another rail) is refused as [rail.Unavailable] without asking Stripe.
//
// It returns [rail.ErrReferenceReused] if payer, payee, mandate or amount differ from the
// first call's. After any other error the outcome is unknown.
func (r *Rail) Charge(ctx context.Context, c rail.Charge) (rail.Outcome, error) {
	return r.pay(ctx, "charge", c, api.PaymentIntentCaptureMethodAutomatic)
}

// Authorize holds an amount by card, at most once per reference, and moves nothing. Stripe
// releases a hold that is not captured, usually after seven days. Otherwise it is like
// [Rail.Charge].
func (r *Rail) Authorize(ctx context.Context, c rail.Charge) (rail.Outcome, error) {
	return r.pay(ctx, "authorize", c, api.PaymentIntentCaptureMethodManual)
}

func (r *Rail) pay(ctx context.Context, what string, c rail.Charge, how api.PaymentIntentCaptureMethod) (rail.Outcome, error) {
	cents, whole := c.Amount.WholeCents()
	if !whole || cents <= 0 || c.MerchantID == "" || c.Instrument.Rail != rail.Card || c.Instrument.Method == "" {
		return refused(), nil
	}
	return ask(ctx, r, what, c.Reference, func(ctx context.Context) (rail.Outcome, error) {
		one, err := r.begin(ctx, c, cents, how)
		if err != nil {
			return rail.Outcome{}, err
		}
		if !same(one, c, cents, how) {
			return rail.Outcome{}, rail.ErrReferenceReused
		}
		if one, err = r.confirm(ctx, c.Reference, one); err != nil {
			return rail.Outcome{}, err
		}
		out, err := r.resolve(ctx, one)
		if err == nil && out.Status == rail.Unseen {
			err = fmt.Errorf("the processor has not confirmed payment %s", one.ID)
		}
		return out, err
	})
}

// begin returns the intent of a charge, in its current state, and creates it if there is none.
func (r *Rail) begin(ctx context.Context, c rail.Charge, cents money.Cents, how api.PaymentIntentCaptureMethod) (*api.PaymentIntent, error) {
	if !r.fresh(c.Reference) {
		if one, err := r.find(ctx, c.Reference, c.Instrument.Customer); one != nil || err != nil {
			return one, err
		}
	}
	one, key, err := r.create(ctx, c.Reference, c.Instrument.Customer, 1, func() *api.PaymentIntentCreateParams {
		params := &api.PaymentIntentCreateParams{
			Amount: api.Int64(int64(cents)), Currency: api.String("usd"), CaptureMethod: api.String(string(how)),
			Customer: api.String(c.Instrument.Customer), PaymentMethod: api.String(c.Instrument.Method),
			PaymentMethodTypes: api.StringSlice([]string{"card"}), Expand: expanded(),
			Metadata: map[string]string{metaReference: c.Reference, metaPayee: c.MerchantID, metaMandate: c.MandateID},
		}
		if text := statement(c.Description); text != "" {
			params.Description = api.String(text)
		}
		return params
	})
	if invalid(err) { // the payer or the card no longer exists there, or the amount is too small
		r.logger.WarnContext(ctx, "card processor: payment not accepted", slog.String("reference", c.Reference), slog.String("error", err.Error()))
		return r.useUp(ctx, c.Reference, rail.CardDeclined, key+1)
	}
	return one, err
}

// confirm moves or holds the money of an intent that was never confirmed, and returns other
// intents as they are.
func (r *Rail) confirm(ctx context.Context, reference string, one *api.PaymentIntent) (*api.PaymentIntent, error) {
	if one.Status != api.PaymentIntentStatusRequiresConfirmation {
		return one, nil
	}
	between := func(ctx context.Context) (*api.PaymentIntent, bool, error) {
		now, err := r.retrieve(ctx, one.ID)
		return now, err == nil && now.Status != api.PaymentIntentStatusRequiresConfirmation, err
	}
	confirmed, err := keyed(ctx, "confirm:"+reference, func(ctx context.Context, key string) (*api.PaymentIntent, error) {
		params := &api.PaymentIntentConfirmParams{OffSession: api.Bool(true), Expand: expanded()}
		params.SetIdempotencyKey(key)
		return r.client.V1PaymentIntents.Confirm(ctx, one.ID, params)
	}, between)
	switch {
	case err == nil && !replayed(confirmed.LastResponse):
		return confirmed, nil
	case err == nil, declined(err), reused(err):
		return r.retrieve(ctx, one.ID)
	case invalid(err): // it was canceled meanwhile, or the card no longer exists there
		now, e := r.retrieve(ctx, one.ID)
		if e == nil && now.Status == api.PaymentIntentStatusRequiresConfirmation {
			return r.cancel(ctx, one.ID, api.PaymentIntentCancellationReasonAbandoned)
		}
		return now, e
	}
	return nil, err
}

// resolve returns the outcome of an intent. One that waits for the payer is canceled: the
// payer is absent.
func (r *Rail) resolve(ctx context.Context, one *api.PaymentIntent) (rail.Outcome, error) {
	if one.Status == api.PaymentIntentStatusRequiresAction {
		var err error
		if one, err = r.cancel(ctx, one.ID, api.PaymentIntentCancellationReasonAbandoned); err != nil {
			return rail.Outcome{}, err
		}
	}
	return outcomeOf(one)
}

// same reports whether an intent is that of a charge, or uses its reference up.
func same(one *api.PaymentIntent, c rail.Charge, cents money.Cents, how api.PaymentIntentCaptureMethod) bool {
	if one.Metadata[metaRefused] != "" {
		return true
	}
	return one.Amount == int64(cents) && one.CaptureMethod == how && payer(one) == c.Instrument.Customer+" "+c.Instrument.Method &&
		one.Metadata[metaPayee] == c.MerchantID && one.Metadata[metaMandate] == c.MandateID
}

// payer returns the customer and the payment method of an intent. After a decline, the
// method is named by the error alone.
func payer(one *api.PaymentIntent) string {
	var customer, method string
	if one.Customer != nil {
		customer = one.Customer.ID
	}
	switch {
	case one.PaymentMethod != nil:
		method = one.PaymentMethod.ID
	case one.LastPaymentError != nil && one.LastPaymentError.PaymentMethod != nil:
		method = one.LastPaymentError.PaymentMethod.ID
	}
	return customer + " " + method
}

// Lookup returns the outcome of a reference, or [rail.Unseen]. A charge that was interrupted
// before its confirmation is Unseen: nothing has moved, and the next Charge confirms it.
// After an error the outcome is unknown.
func (r *Rail) Lookup(ctx context.Context, reference string) (rail.Outcome, error) {
	return ask(ctx, r, "look up", reference, func(ctx context.Context) (rail.Outcome, error) {
		one, err := r.find(ctx, reference, "")
		if err != nil {
			return rail.Outcome{}, err
		}
		if one == nil {
			return rail.Outcome{Status: rail.Unseen}, nil
		}
		return r.resolve(ctx, one)
	})
}

// cancel cancels an intent that has not moved money, and returns its state afterwards.
func (r *Rail) cancel(ctx context.Context, id string, why api.PaymentIntentCancellationReason) (*api.PaymentIntent, error) {
	one, err := again(ctx, func(ctx context.Context) (*api.PaymentIntent, error) {
		params := &api.PaymentIntentCancelParams{CancellationReason: api.String(string(why)), Expand: expanded()}
		return r.client.V1PaymentIntents.Cancel(ctx, id, params)
	})
	if invalid(err) {
		return r.retrieve(ctx, id)
	}
	return one, err
}

// useUp makes a reference unusable: an intent without a card takes its key, the n-th or a
// later one, and is canceled. If the reference was used before, it returns the intent of that use.
func (r *Rail) useUp(ctx context.Context, reference string, why rail.Reason, n int) (*api.PaymentIntent, error) {
	for ; ; n++ {
		one, key, err := r.create(ctx, reference, "", n, func() *api.PaymentIntentCreateParams {
			return &api.PaymentIntentCreateParams{
				Amount: api.Int64(placeholderCents), Currency: api.String("usd"), CaptureMethod: api.String(string(api.PaymentIntentCaptureMethodManual)),
				PaymentMethodTypes: api.StringSlice([]string{"card"}), Description: api.String("Uses up " + reference + "; no payment"),
				Metadata: map[string]string{metaReference: reference, metaRefused: string(why)},
			}
		})
		switch {
		case invalid(err) && stored(err) && key < maxKeys:
			n = key
		case err != nil:
			return nil, fmt.Errorf("use up the reference: %w", err)
		case one.Metadata[metaRefused] == "":
			return one, nil
		default:
			return r.cancel(ctx, one.ID, api.PaymentIntentCancellationReasonDuplicate)
		}
	}
}

// placeholderCents is the amount of an intent that is never paid: above Stripe's minimum.
const placeholderCents = 100

// statement shortens a description to what Stripe accepts.
func statement(description string) string {
	description = strings.ToValidUTF8(description, "\uFFFD")
	if len(description) > maxDescription {
		description = strings.ToValidUTF8(description[:maxDescription], "")
	}
	return description
}
