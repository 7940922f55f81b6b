package payment

import (
	"context"
	"errors"
	"net/url"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// MinimumByCard is the smallest price of a paywall that a card pays.
const MinimumByCard = 50 * money.MicrosPerCent

// PaywallRequest asks to take a paywall's price from a mandate.
type PaywallRequest struct {
	Token          string
	Price          ledger.Micros
	PayTo          string
	Resource       *url.URL
	IdempotencyKey string
	RequestID      string
}

// SettlePaywall charges a bare mandate for the merchant whose wallet is to be
// paid. The mandate must name that merchant: one that allows anybody is no
// permission for who happens to hold it. Errors are those of [Service.Charge].
func (s *Service) SettlePaywall(ctx context.Context, r PaywallRequest) (Charged, error) {
	payee, err := s.Accounts.MerchantByWallet(ctx, r.PayTo)
	if errors.Is(err, ledger.ErrNotFound) {
		return Charged{}, &ledger.Refusal{Code: ledger.MerchantNotAllowed, RequestID: r.RequestID}
	}
	if err != nil {
		return Charged{}, err
	}
	order := []rail.Name{rail.Chain}
	if r.Price >= MinimumByCard {
		order = append(order, rail.Fiat)
	}
	return s.Charge(ctx, ChargeRequest{
		Payee: payee, Token: r.Token, Amount: r.Price, Currency: "usdc",
		Description:    "Access to " + r.Resource.Host + r.Resource.Path,
		IdempotencyKey: r.IdempotencyKey, RequestID: r.RequestID, kind: "paywall:", named: true, rails: order,
	})
}
