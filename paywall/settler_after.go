package paywall

import (
	"context"
	"errors"

	"github.com/paywarrant/paywarrant/client"
)

// Capturer is a [Settler] that can hold the price of a request: SettleMandate does if Metered
// is set, and returns AuthorizedUntil. Metered routes need one. A [client.Client] of the payee
// has these methods.
type Capturer interface {
	// Capture charges what was used of a held price, once, and gives back the rest. Its
	// results and errors are those of [client.Client.Capture].
	Capture(ctx context.Context, transactionID string, p client.CaptureParams) (client.Charge, error)
	// Void gives a held price back. Its results and errors are those of [client.Client.Void].
	Void(ctx context.Context, transactionID string) (client.Charge, error)
}

// Refunder is a [Settler] that can give a payment back. [Config.RefundUnserved] needs one. A
// [client.Client] of the payee has this method.
type Refunder interface {
	// Refund gives a payment back, once for an idempotency key. Its results and errors are
	// those of [client.Client.Refund].
	Refund(ctx context.Context, transactionID string, p client.RefundParams) (client.Refund, error)
}

// RefundSigner is a [Refunder] that takes the payee's signature of a refund on the chain.
// [Config.SignRefund] needs one. A [client.Client] of the payee has this method.
type RefundSigner interface {
	Refunder
	// SignRefund hands in a signature. Its results and errors are those of
	// [client.Client.SignRefund].
	SignRefund(ctx context.Context, transactionID, refundID, signature string) (client.Refund, error)
}

// afterwards sets what captures and refunds: the service with the merchant's credentials, or
// the configured settler.
func (s *shared) afterwards(c Config) error {
	settler := any(s.settler)
	if _, ok := settler.(*service); ok {
		settler = nil
		if c.Merchant.ID != "" {
			api, err := client.New(client.Config{
				BaseURL: trimSlash(c.APIURL), MerchantID: c.Merchant.ID, APIKey: c.Merchant.APIKey, HTTPClient: c.HTTPClient, Timeout: c.CallTimeout,
			})
			if err != nil {
				return field("Merchant", err)
			}
			settler = api
		}
	}
	s.capturer, _ = settler.(Capturer)
	if !c.RefundUnserved {
		if c.SignRefund != nil {
			return field("SignRefund", errors.New("is set without RefundUnserved"))
		}
		return nil
	}
	var ok bool
	if s.refunder, ok = settler.(Refunder); !ok {
		return field("RefundUnserved", errors.New("needs Merchant, or a Settler that is a Refunder: only the payee may refund"))
	}
	if _, ok = settler.(RefundSigner); !ok && c.SignRefund != nil {
		return field("SignRefund", errors.New("needs a Settler that is a RefundSigner"))
	}
	s.signRefund = c.SignRefund
	return nil
}
