package payment

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// Transfers returns the ledger for the settlement of one signed transfer: source is its
// protocol, and resource the URL that is paid for, as the payer wrote it. A transfer to a
// wallet of a merchant is a charge of that merchant.
func (s *Service) Transfers(source ledger.Source, resource string) rail.TransferLedger {
	t := &transfers{Service: s, source: source, description: "Signed transfer"}
	u, err := url.Parse(resource)
	if err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && len(resource) <= maxTransferResource {
		t.resource, t.description = normalResource(u), accessTo(u)
	}
	return t
}

// maxTransferResource limits the resources that are stored with a transfer.
const maxTransferResource = 2048

// firstTransferPause is the pause before recovery asks about a transfer that was pending
// when its request ended.
const firstTransferPause = time.Second

type transfers struct {
	*Service

	source                ledger.Source
	resource, description string
}

// Begin implements [rail.TransferLedger].
func (t *transfers) Begin(ctx context.Context, of rail.SignedTransfer) (string, error) {
	done, err := t.begin()
	if err != nil {
		return "", err
	}
	defer done()
	payee, err := t.Accounts.MerchantByWallet(ctx, of.PayTo)
	if errors.Is(err, ledger.ErrNotFound) {
		payee, err = ledger.WalletPayee(of.PayTo), nil
	}
	if err != nil {
		return "", err
	}
	c, err := t.Ledger.BeginTransfer(ctx, ledger.Transfer{
		ChargeID: id.New(id.Charge, t.Clock()), Key: of.Key, Payer: of.Payer, Payee: payee, PayTo: of.PayTo, Amount: of.Amount,
		Source: t.source, Resource: t.resource, Description: t.description, Lease: leaseFor,
	})
	if err != nil {
		return "", err
	}
	failpoint.Hit(failpoint.SettlementBegun)
	return c.ID, nil
}

// End implements [rail.TransferLedger].
func (t *transfers) End(ctx context.Context, reference string, o rail.Outcome) error {
	done, err := t.begin()
	if err != nil {
		return err
	}
	defer done()
	c, err := t.Ledger.Charge(ctx, reference)
	if err != nil {
		return err
	}
	if o.Status == rail.Pending {
		_, _, err := t.Ledger.PutOff(ctx, c, t.Clock().Add(firstTransferPause))
		return err
	}
	_, err = t.settleTransfer(ctx, c, o)
	return err
}

// settleTransfer records the outcome of a signed transfer. One that contradicts the outcome
// that decided it is stored as a conflict, logged and counted.
func (s *Service) settleTransfer(ctx context.Context, c ledger.Charge, o rail.Outcome) (ledger.Charge, error) {
	settled, err := s.settle(ctx, c, ledger.Settlement{Rail: rail.Chain, Outcome: o})
	failpoint.Hit(failpoint.SettlementRecorded)
	if errors.Is(err, ledger.ErrConflictingOutcome) {
		return settled, nil
	}
	return settled, err
}

// finishTransfer asks the rail about a signed transfer whose request has ended. A transfer
// that the rail has not seen will never arrive: the lease outlasts the request that began
// it. So it fails, and its payer may present it again.
func (s *Service) finishTransfer(ctx context.Context, c ledger.Charge, how attempt) (ledger.Charge, error) {
	one, _ := s.Rails.Rail(rail.Chain)
	follower, ok := one.(rail.TransferFollower)
	if !ok {
		return s.putOffTransfer(ctx, c, errors.New("no rail follows signed transfers"))
	}
	within, cancel := context.WithTimeout(ctx, how.within)
	defer cancel()
	o, err := follower.TransferOutcome(within, c.ID)
	switch {
	case err == nil && o.Status == rail.Unseen:
		o = rail.Outcome{Status: rail.Refused, Reason: rail.Unavailable}
	case err != nil || o.Status == rail.Pending:
		return s.putOffTransfer(ctx, c, err)
	}
	return s.settleTransfer(ctx, c, o)
}

func (s *Service) putOffTransfer(ctx context.Context, c ledger.Charge, why error) (ledger.Charge, error) {
	if why != nil {
		s.Logger.WarnContext(ctx, "outcome of signed transfer unknown, will ask again",
			slog.String("transactionId", c.ID), slog.Int("asked", c.Asked), slog.String("error", why.Error()))
	}
	off, _, err := s.Ledger.PutOff(ctx, c, s.Clock().Add(putOff(c.Asked)))
	if err != nil {
		return c, nil //nolint:nilerr // its lease expires by itself
	}
	return off, nil
}
