package server

import (
	"context"
	"errors"
	"net/mail"
	"net/url"
	"strings"

	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/internal/text"
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
	// PayTo is its wallet; empty if it has none.
	PayTo string
}

// CreateMerchant makes a merchant's account. The returned error names the invalid
// parameter, as a [*ParamError], or is the store's.
func (s *Server) CreateMerchant(ctx context.Context, p MerchantParams) (Merchant, error) {
	return createMerchant(ctx, s.accounts, p)
}

// CreateMerchant makes a merchant's account in the store of a service of a mode,
// which may be running meanwhile. Errors as [Server.CreateMerchant].
func CreateMerchant(ctx context.Context, store ledger.Accounts, mode Mode, p MerchantParams) (Merchant, error) {
	return createMerchant(ctx, account.New(account.Config{Store: store, Clock: clock.System{}, Live: mode == Live}), p)
}

// ParamError reports an invalid parameter.
type ParamError struct {
	Param string // the field's name: "PayTo"
	Err   error
}

func (e *ParamError) Error() string { return "create merchant: " + e.Param + ": " + e.Err.Error() }

// Unwrap returns what is wrong with it.
func (e *ParamError) Unwrap() error { return e.Err }

// maxName is how long names and addresses of merchants may be.
const maxName = 200

func (p *MerchantParams) validate() error {
	if strings.TrimSpace(p.Name) == "" {
		return &ParamError{"Name", errors.New("required")}
	}
	for name, value := range map[string]string{"Name": p.Name, "Website": p.Website, "Email": p.Email} {
		if err := text.Check(value, maxName); err != nil {
			return &ParamError{name, err}
		}
	}
	if p.Email != "" {
		if a, err := mail.ParseAddress(p.Email); err != nil || a.Address != p.Email {
			return &ParamError{"Email", errors.New("not an e-mail address")}
		}
	}
	if p.Website != "" {
		if u, err := url.Parse(p.Website); err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" {
			return &ParamError{"Website", errors.New(`not a URL such as "https://shop.example"`)}
		}
	}
	if p.PayTo != "" {
		var err error
		if p.PayTo, err = x402.ParseAddress(p.PayTo); err != nil {
			return &ParamError{"PayTo", err}
		}
	}
	return nil
}

func createMerchant(ctx context.Context, accounts *account.Accounts, p MerchantParams) (Merchant, error) {
	if err := p.validate(); err != nil {
		return Merchant{}, err
	}
	c, err := accounts.Create(ctx, account.NewMerchant{Name: p.Name, Website: p.Website, Email: p.Email, PayTo: p.PayTo})
	if errors.Is(err, account.ErrWalletTaken) {
		return Merchant{}, &ParamError{"PayTo", account.ErrWalletTaken}
	}
	if err != nil {
		return Merchant{}, err
	}
	return Merchant{ID: c.Merchant.ID, APIKey: c.APIKey, PayTo: c.Merchant.PayTo}, nil
}
