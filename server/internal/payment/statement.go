package payment

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

const (
	// statementCharges is the number of payments, and of tabs, on a mandate's private page.
	statementCharges = 50
	// statementDraws is the number of draws shown for each tab.
	statementDraws = 100
)

// MandateProof returns the unguessable part of a private page's address. Only the person
// who confirmed the mandate receives it. The merchant does not, since the page shows
// payments to others.
func (s *Service) MandateProof(mandateID string) string {
	mac := hmac.New(sha256.New, s.ReceiptKey)
	mac.Write([]byte("mandate page/" + mandateID))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// IsMandateProof reports whether a text is the proof of a mandate.
func (s *Service) IsMandateProof(mandateID, proof string) bool {
	return hmac.Equal([]byte(proof), []byte(s.MandateProof(mandateID)))
}

// MandateURL returns the address of a mandate's private page.
func (s *Service) MandateURL(mandateID string) string {
	return s.BaseURL + "/m/" + mandateID + "/" + s.MandateProof(mandateID)
}

// Statement is the content of a mandate's private page.
type Statement struct {
	Mandate ledger.Mandate
	// Total is the sum of the payments that succeeded.
	Total ledger.Micros
	// Charges are the latest payments, newest first, at most 50. Draws are in Tabs.
	Charges []ledger.Charge
	// Tabs are the latest tabs from which something was drawn, newest first, at most 50.
	Tabs []TabStatement
	// Held is what merchants may still charge although the mandate is revoked.
	Held ledger.Micros
}

// TabStatement is a tab with its first draws, at most 100.
type TabStatement struct {
	ledger.Tab

	First []ledger.Charge
}

// MandateAt returns the mandate of a private page. It returns ledger.ErrNotFound
// if the proof is wrong.
func (s *Service) MandateAt(ctx context.Context, mandateID, proof string) (ledger.Mandate, error) {
	if !s.IsMandateProof(mandateID, proof) {
		return ledger.Mandate{}, ledger.ErrNotFound
	}
	return s.Ledger.Mandate(ctx, mandateID)
}

// StatementOf returns what a mandate's private page shows.
func (s *Service) StatementOf(ctx context.Context, m ledger.Mandate) (Statement, error) {
	total, err := s.Ledger.MandateVolume(ctx, m.ID)
	if err != nil {
		return Statement{}, fmt.Errorf("sum payments of %s: %w", m.ID, err)
	}
	charges, err := s.Ledger.MandateCharges(ctx, m.ID, statementCharges)
	if err != nil {
		return Statement{}, fmt.Errorf("list payments of %s: %w", m.ID, err)
	}
	tabs, err := s.tabsOf(ctx, m)
	if err != nil {
		return Statement{}, err
	}
	held, err := s.HeldByCard(ctx, m)
	if err != nil {
		return Statement{}, err
	}
	return Statement{Mandate: m, Total: total, Charges: charges, Tabs: tabs, Held: held}, nil
}

func (s *Service) tabsOf(ctx context.Context, m ledger.Mandate) ([]TabStatement, error) {
	tabs, err := s.Ledger.MandateTabs(ctx, m.ID, statementCharges)
	if err != nil {
		return nil, fmt.Errorf("list tabs of %s: %w", m.ID, err)
	}
	var all []TabStatement
	for _, t := range tabs {
		if t.Draws == 0 {
			continue
		}
		first, err := s.Ledger.Draws(ctx, t.ID, "", statementDraws)
		if err != nil {
			return nil, fmt.Errorf("list draws of %s: %w", t.ID, err)
		}
		all = append(all, TabStatement{Tab: t, First: first})
	}
	return all, nil
}

// HeldByCard returns the sum that merchants may still charge to the card of a revoked
// mandate, because the processor has held it since before the revocation. It is zero for
// other mandates.
func (s *Service) HeldByCard(ctx context.Context, m ledger.Mandate) (ledger.Micros, error) {
	if m.Status != ledger.MandateRevoked {
		return 0, nil
	}
	held, err := s.Ledger.MandateHeld(ctx, m.ID, rail.Card)
	if err != nil {
		return 0, fmt.Errorf("sum holds of %s: %w", m.ID, err)
	}
	return held, nil
}

// StopMandate revokes the mandate of a private page. It succeeds once the ledger has
// recorded the revocation; repeating it changes nothing. It returns ledger.ErrNotFound
// if the proof is wrong.
func (s *Service) StopMandate(ctx context.Context, mandateID, proof string) (ledger.Mandate, error) {
	m, err := s.MandateAt(ctx, mandateID, proof)
	if err != nil {
		return ledger.Mandate{}, err
	}
	_, failed := s.RevokeAs(ctx, m.ID, ledger.RevokedByUser)
	m, err = s.Ledger.Mandate(ctx, m.ID)
	if err != nil || m.Status != ledger.MandateRevoked {
		return ledger.Mandate{}, errors.Join(failed, err)
	}
	return m, nil
}
