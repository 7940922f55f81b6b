package server

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/server/internal/account"
	"github.com/paywarrant/paywarrant/server/internal/api"
	"github.com/paywarrant/paywarrant/server/internal/dashboard"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// newDashboard returns the pages of merchants.
func (s *Server) newDashboard(look *site.Site) *dashboard.Dashboard {
	cfg := s.config
	d := dashboard.Config{
		Site: look, Payments: s.payments, Store: cfg.Store, Keys: s.accounts, Webhooks: s.events, SignIns: s.signIns,
		Clock: cfg.Clock, Logger: cfg.Logger, Audit: s.audit, SignUp: cfg.MerchantSignUp, NewMerchant: s.signUp,
		Receiver: func(url string) error { return api.CheckReceiver(url, cfg.Mode == Sandbox) },
	}
	for _, r := range cfg.Rails {
		if v, ok := r.(rail.SignatureVerifier); ok {
			d.Wallets = v
		}
	}
	if box := s.sandbox(); box != nil {
		d.Methods = s.methods(rail.Card, rail.Chain)
		if box.Open && box.Key == "" && box.Advance != nil { // as the test helper that moves it
			d.Advance = s.advance
		}
	}
	return dashboard.New(d)
}

// advance moves the sandbox's clock.
func (s *Server) advance(step time.Duration) error {
	if s.config.Clock().Add(step).After(clock.Last) {
		return fmt.Errorf("the clock cannot move past %s", clock.Last.Format(time.DateOnly))
	}
	s.config.AdvanceClock(step)
	return nil
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
