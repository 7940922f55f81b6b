package server

import (
	"context"
	"log/slog"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/server/internal/account"
	"github.com/paywarrant/paywarrant/server/internal/api"
	"github.com/paywarrant/paywarrant/server/internal/dashboard"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// newDashboard returns the pages of merchants.
func (s *Server) newDashboard(look *site.Site) *dashboard.Dashboard {
	cfg := s.config
	return dashboard.New(dashboard.Config{
		Site: look, Payments: s.payments, Store: cfg.Store, Keys: s.accounts, Webhooks: s.events, SignIns: s.signIns,
		Clock: cfg.Clock, Logger: cfg.Logger, Audit: s.audit, SignUp: cfg.MerchantSignUp, NewMerchant: s.signUp,
		Receiver: func(url string) error { return api.CheckReceiver(url, cfg.Mode == Sandbox) },
	})
}

// signUp creates the account of a merchant who has proven an e-mail address.
func (s *Server) signUp(ctx context.Context, name, website, email string) (ledger.Merchant, error) {
	m, err := s.accounts.Open(ctx, account.NewMerchant{Name: name, Website: website, Email: email})
	if err != nil {
		return ledger.Merchant{}, err
	}
	s.audit.Did(ctx, audit.Merchant(m.ID), "merchant.create", m.ID)
	s.audit.Record(ctx, audit.MerchantCreated, slog.String("merchantId", m.ID))
	return m, nil
}
