package server

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/internal/letter"
	"github.com/paywarrant/paywarrant/server/internal/account"
	"github.com/paywarrant/paywarrant/server/internal/api"
	"github.com/paywarrant/paywarrant/server/internal/dashboard"
	"github.com/paywarrant/paywarrant/server/internal/notices"
	"github.com/paywarrant/paywarrant/server/internal/pages"
	"github.com/paywarrant/paywarrant/server/internal/signin"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// walletSigning returns the rail that verifies what wallets sign, and its chain; nil if there is none.
func (s *Server) walletSigning() (v rail.SignatureVerifier, chainID uint64) {
	for _, r := range s.config.Rails {
		if found, ok := r.(rail.SignatureVerifier); ok {
			v = found
		}
		if w, ok := r.(rail.Wallets); ok {
			chainID = w.ChainID()
		}
	}
	return v, chainID
}

// newPages returns the pages of people, and sets the authors of their messages.
func (s *Server) newPages(look *site.Site) *pages.Pages {
	cfg := s.config
	p := pages.Config{
		Site: look, Audit: s.audit, Payments: s.payments, Merchants: cfg.Store, Clock: cfg.Clock, Logger: cfg.Logger,
		Sandbox: cfg.Mode == Sandbox, BaseURL: cfg.BaseURL, DocsURL: cfg.DocsURL, Links: cfg.links(), Methods: s.methods,
		Mails: s.mailsOfPages(), Codes: s.signIns, People: s.signIns.Sessions("me", look.Failed, signin.Email, signin.Wallet),
		Owners: cfg.Store, Notices: cfg.Store, MostNotices: notices.MostADay, Mailbox: cfg.mailbox(),
	}
	p.Wallets, p.ChainID = s.walletSigning()
	shown := pages.New(p)
	s.write(pages.MandateConfirmed, shown.Confirmation)
	s.write(pages.CardConnected, shown.CardConnected)
	s.write(pages.CardChanged, shown.CardChanged)
	s.write(notices.LimitUsed, func(ctx context.Context, subject string) (letter.Letter, error) {
		mandateID, kind, level, err := notices.ParseSubject(subject)
		if err != nil {
			return letter.Letter{}, err
		}
		return shown.LimitUsed(ctx, mandateID, kind, level)
	})
	s.write(notices.PaymentMade, shown.PaymentMade)
	return shown
}

// newDashboard returns the pages of merchants.
func (s *Server) newDashboard(look *site.Site) *dashboard.Dashboard {
	cfg := s.config
	d := dashboard.Config{
		Site: look, Payments: s.payments, Store: cfg.Store, Keys: s.accounts, Tokens: s.accounts, Webhooks: s.events, SignIns: s.signIns,
		Clock: cfg.Clock, Logger: cfg.Logger, Audit: s.audit, SignUp: cfg.MerchantSignUp, NewMerchant: s.signUp, Post: s.post(dashboard.AccountMail),
		Receiver: func(url string) error { return api.CheckReceiver(url, cfg.Mode == Sandbox) },
	}
	d.Wallets, _ = s.walletSigning()
	if box := s.sandbox(); box != nil {
		d.Methods = s.methods(rail.Card, rail.Chain)
		if box.Open && box.Key == "" && box.Advance != nil { // as the test helper that moves it
			d.Advance = s.advance
		}
	}
	shown := dashboard.New(d)
	s.write(dashboard.AccountMail, shown.AccountLetter)
	return shown
}

// advance moves the sandbox's clock.
func (s *Server) advance(step time.Duration) error {
	if s.config.Clock().Add(step).After(clock.Last) {
		return fmt.Errorf("the clock cannot move past %s", clock.Last.Format(time.DateOnly))
	}
	s.config.AdvanceClock(step)
	return nil
}

// signUp creates the account of a merchant who has proven an email address.
func (s *Server) signUp(ctx context.Context, name, website, email string) (ledger.Merchant, error) {
	m, err := s.accounts.Open(ctx, account.NewMerchant{Name: name, Website: website, Email: email})
	if err != nil {
		return ledger.Merchant{}, err
	}
	s.audit.Did(ctx, audit.Merchant(m.ID), "merchant.create", m.ID)
	s.audit.Record(ctx, audit.MerchantCreated, slog.String("merchantId", m.ID))
	return m, nil
}
