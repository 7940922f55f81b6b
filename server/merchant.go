package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/server/internal/account"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/x402"
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
// themselves in the dashboard. An error that names the parameter that is wrong, or
// the store's.
func (s *Server) CreateMerchant(ctx context.Context, p MerchantParams) (Merchant, error) {
	return createMerchant(ctx, s.accounts, p)
}

// CreateMerchant makes a merchant's account in the store of a service of a mode,
// which may be running meanwhile. Errors as [Server.CreateMerchant].
func CreateMerchant(ctx context.Context, store ledger.Accounts, mode Mode, p MerchantParams) (Merchant, error) {
	return createMerchant(ctx, account.New(account.Config{Store: store, Clock: &clock.Movable{}, Live: mode == Live}), p)
}

func createMerchant(ctx context.Context, accounts *account.Accounts, p MerchantParams) (Merchant, error) {
	if strings.TrimSpace(p.Name) == "" {
		return Merchant{}, errors.New("create merchant: Name is required")
	}
	if p.PayTo != "" {
		var err error
		if p.PayTo, err = x402.ParseAddress(p.PayTo); err != nil {
			return Merchant{}, fmt.Errorf("create merchant: PayTo: %w", err)
		}
	}
	c, err := accounts.Create(ctx, account.NewMerchant{Name: p.Name, Website: p.Website, Email: p.Email, PayTo: p.PayTo})
	if err != nil {
		return Merchant{}, err
	}
	return Merchant{ID: c.Merchant.ID, APIKey: c.APIKey, PayTo: c.Merchant.PayTo}, nil
}
