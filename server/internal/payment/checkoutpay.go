package payment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// PayByCard pays an open checkout with a payment method that the person connects for it.
// A refused payment is not an error: the returned checkout has failed. It returns the
// errors of [Service.Confirm] and [Service.Charge].
func (s *Service) PayByCard(ctx context.Context, c Checkout, method, email string) (Checkout, error) {
	if c.Status != CheckoutOpen {
		return c, nil
	}
	_, err := s.Confirm(ctx, c.session.Token, Confirmation{Terms: c.session.Terms, Methods: []string{method}, Email: email})
	if err != nil && !errors.Is(err, ledger.ErrSessionFinished) {
		return c, err
	}
	// The person has confirmed: go on even if they no longer wait. Reading the checkout
	// charges it.
	return s.Checkout(context.WithoutCancel(ctx), c.ID)
}

// PayByMandate pays an open checkout from a mandate that the person has. If the mandate
// does not allow the payment, the checkout stays open.
//
// It returns a [*ledger.Refusal], and the errors of [Service.Charge].
func (s *Service) PayByMandate(ctx context.Context, c Checkout, token string) (Checkout, error) {
	if c.Status != CheckoutOpen {
		return c, nil
	}
	m, err := s.Verifier.Verify(ctx, token)
	if err != nil {
		return c, err
	}
	if m.Bound {
		return c, errBound
	}
	if err := s.precheck(ctx, c, m.ID); err != nil {
		return c, err
	}
	return s.chargeCheckout(context.WithoutCancel(ctx), c, ChargeRequest{Token: token})
}

// precheck returns the refusal that a charge would meet, before one is stored. The charge
// itself still decides.
func (s *Service) precheck(ctx context.Context, c Checkout, mandateID string) error {
	m, err := s.Ledger.Mandate(ctx, mandateID)
	if err != nil {
		return err
	}
	r := ledger.Reserve{TokenValid: true, Payee: ledger.Merchant{ID: c.MerchantID}, Amount: c.Amount}
	if refusal := r.Precheck(m, s.Clock()); refusal != nil {
		return refusal
	}
	return nil
}

// chargeCheckout creates the checkout's one charge, or finds it.
func (s *Service) chargeCheckout(ctx context.Context, c Checkout, r ChargeRequest) (Checkout, error) {
	payee, err := s.Accounts.Merchant(ctx, c.MerchantID)
	if err != nil {
		return c, fmt.Errorf("read merchant %s: %w", c.MerchantID, err)
	}
	r.Payee, r.Amount, r.Currency, r.Description = payee, c.Amount, "usd", c.Description
	r.checkout = c.entropy
	charged, err := s.Charge(ctx, r)
	var refusal *ledger.Refusal
	switch {
	case errors.Is(err, ledger.ErrCheckoutFinished): // charged concurrently
		row, err := s.Ledger.Checkout(ctx, c.entropy)
		if err != nil {
			return c, err
		}
		return s.checkoutOf(ctx, row)
	case errors.As(err, &refusal):
		c.Status, c.FailureReason = CheckoutFailed, string(refusal.Code)
	case err != nil:
		return c, err
	}
	if refusal == nil {
		c.take(charged.Charge, charged.Reversed)
	}
	s.endCheckoutMandate(ctx, c)
	return c, nil
}

// endCheckoutMandate revokes the mandate that was created for a checkout once its charge
// is decided. If that fails, the next read of the checkout tries again, and the mandate
// expires soon in any case.
func (s *Service) endCheckoutMandate(ctx context.Context, c Checkout) {
	made := c.session.MandateID
	if made == "" || c.Status == CheckoutPending {
		return
	}
	m, err := s.Ledger.Mandate(ctx, made)
	if err == nil && m.Status == ledger.MandateActive {
		_, err = s.RevokeAs(ctx, made, ledger.RevokedByMerchant)
	}
	if err != nil {
		s.Logger.WarnContext(ctx, "revoke the mandate of a checkout", slog.String("mandateId", made), slog.String("error", err.Error()))
	}
}
