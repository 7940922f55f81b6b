package payment

import (
	"context"
	"slices"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// Wallets returns the first rail to which a person can connect a wallet, and reports
// whether there is one.
func (s *Service) Wallets(rails []rail.Name) (rail.Wallets, bool) {
	for _, name := range s.Rails.Names() {
		one, _ := s.Rails.Rail(name)
		if w, ok := one.(rail.Wallets); ok && slices.Contains(rails, name) {
			return w, true
		}
	}
	return nil, false
}

// ProposeToWallet returns the messages that a wallet must sign for terms of the session.
// It returns ledger.ErrSessionFinished, ledger.ErrWidened, rail.ErrUnknownMethod, or a
// [*rail.RefusedError].
func (s *Service) ProposeToWallet(ctx context.Context, session Session, terms ledger.Terms, owner string) (rail.WalletProposal, error) {
	w, limits, err := s.walletOf(ctx, session, terms)
	if err != nil {
		return rail.WalletProposal{}, err
	}
	return w.Propose(ctx, owner, limits)
}

// AcceptFromWallet verifies the signatures of a proposal and returns the method with which
// to confirm the session. It returns the errors of [Service.ProposeToWallet],
// rail.ErrNoProposal, or rail.ErrSignature.
func (s *Service) AcceptFromWallet(ctx context.Context, session Session, terms ledger.Terms, proposal string, signatures []string) (string, error) {
	w, limits, err := s.walletOf(ctx, session, terms)
	if err != nil {
		return "", err
	}
	return w.Accept(ctx, proposal, limits, signatures)
}

func (s *Service) walletOf(ctx context.Context, session Session, terms ledger.Terms) (rail.Wallets, rail.Limits, error) {
	w, ok := s.Wallets(session.Terms.Rails)
	switch {
	case session.Status != ledger.SessionPending:
		return nil, rail.Limits{}, ledger.ErrSessionFinished
	case !terms.Narrows(session.Terms):
		return nil, rail.Limits{}, ledger.ErrWidened
	case !ok:
		return nil, rail.Limits{}, rail.ErrUnknownMethod
	}
	limits, err := s.limits(ctx, terms)
	limits.Session = session.Hash
	return w, limits, err
}
