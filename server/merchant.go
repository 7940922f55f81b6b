package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/mail"
	"net/url"
	"strings"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/internal/account"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/x402"
)

// MerchantParams describes a new merchant account.
type MerchantParams struct {
	// Name is shown to people. Required.
	Name string
	// Website is an http or https URL. Optional.
	Website string
	// Email is an address without a display name. Optional.
	Email string
	// PayTo is the address of the merchant's wallet; the caller has verified that it
	// belongs to the merchant. Empty: the merchant takes cards only.
	PayTo string
}

// Merchant is a new account with its credentials. Printed or logged, it hides its API key.
type Merchant struct {
	// ID identifies the merchant: "mer_…".
	ID string
	// APIKey is the account's first API key. Only its hash is stored: it cannot be read again.
	APIKey string
	// PayTo is the address of the merchant's wallet. Empty if it has none.
	PayTo string
}

type printedMerchant Merchant

func (m Merchant) hidden() printedMerchant {
	if m.APIKey != "" {
		m.APIKey = redacted
	}
	return printedMerchant(m)
}

// Format hides the API key, for every verb.
func (m Merchant) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), m.hidden())
}

// LogValue hides what Format hides.
func (m Merchant) LogValue() slog.Value { return slog.AnyValue(m.hidden()) }

// CreateMerchant creates a merchant account. It returns a [*ParamError] if a parameter
// is invalid; other errors are those of the store.
func (s *Server) CreateMerchant(ctx context.Context, p MerchantParams) (Merchant, error) {
	return createMerchant(ctx, s.accounts, p, func(string) error { return nil })
}

// ParamError reports an invalid parameter.
type ParamError struct {
	// Param is the name of the field: "PayTo".
	Param string
	// Err is the reason.
	Err error
}

func (e *ParamError) Error() string { return "create merchant: " + e.Param + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *ParamError) Unwrap() error { return e.Err }

// maxName limits the length of names and addresses, in bytes.
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
	if err := checkEmail(p.Email); err != nil {
		return err
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

// checkEmail returns a [*ParamError] if email is neither empty nor an address without a name.
func checkEmail(email string) error {
	if email == "" {
		return nil
	}
	if a, err := mail.ParseAddress(email); err != nil || a.Address != email || text.Check(email, maxName) != nil {
		return &ParamError{"Email", errors.New("not an email address")}
	}
	return nil
}

// createMerchant creates an account. It calls before with the new id once the parameters
// are accepted, and creates nothing if that fails.
func createMerchant(ctx context.Context, accounts *account.Accounts, p MerchantParams, before func(merchantID string) error) (Merchant, error) {
	if err := p.validate(); err != nil {
		return Merchant{}, err
	}
	if p.PayTo != "" {
		if _, err := accounts.Store.MerchantByWallet(ctx, p.PayTo); err == nil {
			return Merchant{}, &ParamError{"PayTo", account.ErrWalletTaken}
		} else if !errors.Is(err, ledger.ErrNotFound) {
			return Merchant{}, fmt.Errorf("create merchant: %w", err)
		}
	}
	merchantID := id.New(id.Merchant, accounts.Clock())
	if err := before(merchantID); err != nil {
		return Merchant{}, err
	}
	c, err := accounts.Create(ctx, account.NewMerchant{ID: merchantID, Name: p.Name, Website: p.Website, Email: p.Email, PayTo: p.PayTo})
	if errors.Is(err, account.ErrWalletTaken) {
		return Merchant{}, &ParamError{"PayTo", account.ErrWalletTaken}
	}
	if err != nil {
		return Merchant{}, err
	}
	return Merchant{ID: c.Merchant.ID, APIKey: c.APIKey, PayTo: c.Merchant.PayTo}, nil
}
