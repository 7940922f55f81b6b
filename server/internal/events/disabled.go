package events

import (
	"context"
	"errors"
	"fmt"

	"github.com/paywarrant/paywarrant/internal/letter"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// Disabled writes to the merchant that deliveries to an endpoint have ended.
func (s *Service) Disabled(ctx context.Context, endpointID string) (letter.Letter, error) {
	e, err := s.Store.WebhookEndpoint(ctx, endpointID)
	if errors.Is(err, ledger.ErrNotFound) {
		return letter.Letter{}, nil // deleted since
	}
	if err != nil {
		return letter.Letter{}, err
	}
	m, err := s.Store.Merchant(ctx, e.MerchantID)
	if err != nil {
		return letter.Letter{}, err
	}
	return letter.Letter{
		To: m.Email, Subject: "Your webhook endpoint was disabled",
		Intro:  fmt.Sprintf("No more events are sent to %s, because %s.", e.URL, e.Disabled),
		Notes:  []string{"Your events are kept for 30 days. When the receiver works again, add the endpoint again and resend them."},
		Footer: "Webhook endpoint " + e.ID,
	}, nil
}
