package payment

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// ErrNoRecipient reports a recipient that is no merchant of the service.
var ErrNoRecipient = errors.New("payment: there is no such recipient")

// AgentPayment asks to pay from a mandate in the name of the agent that uses it.
type AgentPayment struct {
	// Account is the merchant whose access token the agent has.
	Account ledger.Merchant
	// Recipient is a merchant's id or a wallet address. Empty: Account.
	Recipient string
	// Charge is the payment without its payee. Its Token is the mandate's token or id.
	Charge ChargeRequest
}

// PayAsAgent charges a mandate for the payee that an agent names, if the mandate allows that
// payee. Idempotency keys belong to the mandate: an agent shares none with a merchant.
//
// It returns [ErrTokenNeeded], [ErrNoRecipient], [ErrNoRail], ledger.ErrNotFound, and the
// errors of [Service.Charge].
func (s *Service) PayAsAgent(ctx context.Context, p AgentPayment) (Charged, error) {
	r := p.Charge
	m, err := s.agentMandate(ctx, p.Account, r.Token, r.RequestID)
	if err != nil {
		return Charged{}, err
	}
	if r.Payee, err = s.recipient(ctx, p, m); err != nil {
		return Charged{}, err
	}
	if ledger.IsWallet(r.Payee.ID) {
		r.rails, r.Tab = []rail.Name{rail.Chain}, false
		if len(s.Configured(r.rails)) == 0 {
			return Charged{}, ErrNoRail
		}
	}
	r.mandateID, r.mandateRails = m.ID, nil
	for _, name := range m.Terms.Rails {
		r.mandateRails = append(r.mandateRails, mandate.Rail(name))
	}
	// The request's spelling of the payee: a wallet that registers in between is the same payee.
	r.kind, r.scope, r.same = ledger.AgentKey, m.ID, []string{strings.ToLower(p.Recipient), p.Account.ID}
	return s.Charge(ctx, r)
}

// agentMandate returns the mandate that an agent of an account names by its token or id.
func (s *Service) agentMandate(ctx context.Context, account ledger.Merchant, idOrToken, requestID string) (ledger.Mandate, error) {
	m, err := s.Mandate(ctx, account.ID, idOrToken)
	switch {
	case errors.Is(err, mandate.ErrInvalid): // not stored: anyone can make up such tokens without end
		return m, &ledger.Refusal{Code: ledger.MandateInvalid, RequestID: requestID}
	case err != nil:
		return m, err
	case id.Valid(id.Mandate, idOrToken) && m.MerchantID != account.ID:
		return m, ErrTokenNeeded
	case !account.Active:
		return m, &ledger.Refusal{Code: ledger.MerchantInactive, RequestID: requestID}
	}
	return m, nil
}

// recipient returns the payee of an agent's payment.
func (s *Service) recipient(ctx context.Context, p AgentPayment, m ledger.Mandate) (ledger.Merchant, error) {
	if p.Recipient == "" || p.Recipient == p.Account.ID {
		return p.Account, nil
	}
	if id.Valid(id.Merchant, p.Recipient) {
		payee, err := s.Accounts.Merchant(ctx, p.Recipient)
		if errors.Is(err, ledger.ErrNotFound) {
			return payee, ErrNoRecipient
		}
		return payee, err
	}
	payee, err := s.Accounts.MerchantByWallet(ctx, p.Recipient)
	switch {
	case errors.Is(err, ledger.ErrNotFound) && m.Terms.Allows(ledger.AnyPayee):
		return ledger.WalletPayee(p.Recipient), nil
	case errors.Is(err, ledger.ErrNotFound):
		return payee, &ledger.Refusal{Code: ledger.MerchantNotAllowed, RequestID: p.Charge.RequestID}
	case err != nil:
		return payee, fmt.Errorf("find recipient: %w", err)
	}
	return payee, nil
}
