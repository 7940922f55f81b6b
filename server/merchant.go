package server

import (
	"context"

	"github.com/paywarrant/paywarrant/server/internal/account"
)

// MerchantParams begin a merchant's account.
type MerchantParams struct {
	// Name is shown to people. Required.
	Name string
	// Website and Email may be empty.
	Website, Email string
	// PayTo is the merchant's wallet, proven to be its own. Empty: cards only.
	PayTo string
}

// Merchant is a new account with its credentials. The key cannot be had again.
type Merchant struct {
	ID, APIKey string
	// PayTo is its wallet; empty where it has none.
	PayTo string
}

// CreateMerchant makes a merchant's account, for operators; merchants sign up
// themselves in the dashboard.
func (s *Server) CreateMerchant(ctx context.Context, p MerchantParams) (Merchant, error) {
	c, err := s.accounts.Create(ctx, account.NewMerchant{Name: p.Name, Website: p.Website, Email: p.Email, PayTo: p.PayTo})
	if err != nil {
		return Merchant{}, err
	}
	return Merchant{ID: c.Merchant.ID, APIKey: c.APIKey, PayTo: c.Merchant.PayTo}, nil
}
