package bundle

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/paywarrant/paywarrant/mandate"
)

// fill sells an order and issues its bundle. An order whose bundle exists is not sold again.
// It continues if the buyer disconnects.
func (s *Shop) fill(r *http.Request, o Order) (Issued, Sale, error) {
	ctx := context.WithoutCancel(r.Context())
	b, err := s.cfg.Store.Read(ctx, bundleID(o.ID))
	switch {
	case err == nil:
		token, err := s.token(b)
		return Issued{b, token}, Sale{Paid: true, TenantID: b.TenantID}, err
	case !errors.Is(err, ErrNotFound):
		return Issued{}, Sale{}, err
	}
	sale, err := s.sell(ctx, r, o)
	if err != nil || !sale.Paid {
		return Issued{}, sale, err
	}
	issued, err := s.Issue(ctx, o.ID, o.Tier.Name, sale.TenantID)
	return issued, sale, err
}

// sell calls [Config.Sell] for an order whose mandate is valid. Orders that sell nothing count
// against the client's address: Sell calls the service with the merchant's credentials, and a
// stranger could use up the merchant's rate limit or create checkouts without end.
func (s *Shop) sell(ctx context.Context, r *http.Request, o Order) (Sale, error) {
	pass, wait := s.clients.Admit(r, "")
	if wait > 0 {
		return Sale{}, &RefusedError{
			Status: http.StatusTooManyRequests, Code: "rate_limit_exceeded", RetryAfter: wait,
			Message: "Too many unpaid orders from this address. Send the same order again later.",
		}
	}
	if err := s.verify(ctx, o); err != nil {
		return Sale{}, err
	}
	sale, err := s.cfg.Sell(ctx, o)
	if err == nil && sale.Paid {
		pass.Good()
	}
	return sale, err
}

// verify checks the mandate of an order without a call for each: its issuer, signature and
// expiry. The service checks status and limits.
func (s *Shop) verify(ctx context.Context, o Order) error {
	if s.verifier == nil || o.Mandate == "" {
		return nil
	}
	_, err := s.verifier.Verify(ctx, o.Mandate)
	var e *mandate.Error
	if errors.As(err, &e) && !errors.Is(err, mandate.ErrUnavailable) {
		status := http.StatusPaymentRequired
		if errors.Is(err, mandate.ErrMalformed) {
			status = http.StatusBadRequest
		}
		return &RefusedError{Status: status, Code: e.Code(), Message: "The mandate was refused: " + string(e.Reason) + "."}
	}
	if err != nil {
		return fmt.Errorf("verify mandate: %w", err)
	}
	return nil
}
