package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/client"
)

// The chapters about the chain.

// grant is a new mandate with these payment methods.
func (d *story) grant(ctx context.Context, methods ...string) (string, error) {
	s, err := d.merchant.CreateSession(ctx, client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 2000})
	if err != nil {
		return "", err
	}
	done, err := d.merchant.CompleteTestSession(ctx, s.SessionToken, client.TestCompletion{PaymentMethods: methods})
	return done.Mandate, err
}

// chargeVia charges a mandate and requires the rail that it should go over.
func (d *story) chargeVia(ctx context.Context, mandate string, cents int64, currency client.Currency, want client.RailUsed) (client.Charge, error) {
	c, err := d.merchant.Charge(ctx, client.ChargeParams{Mandate: mandate, AmountCents: cents, Currency: currency, Description: "Satellite image"})
	if err == nil && (c.Status != client.Completed || c.RailUsed != want) {
		err = fmt.Errorf("charge is %s by %s, not by %s: %s", c.Status, c.RailUsed, want, c.FailureReason)
	}
	return c, err
}

func (d *story) chargeByChain(ctx context.Context) error {
	m, err := d.grant(ctx, "wallet", "card_visa")
	if err != nil {
		return err
	}
	c, err := d.chargeVia(ctx, m, 75, client.USDC, client.ChainUsed)
	if err != nil {
		return err
	}
	d.announce("A person connects a wallet too; in USDC the charge goes over the chain",
		fact{"amount", dollars(c.AmountCents)}, fact{"rail", string(c.RailUsed)}, fact{"transaction", c.TxHash},
		fact{"fee", fmt.Sprintf("$%.4f, owed by the merchant", float64(c.FeeMicros)/1e6)},
		fact{"chain", d.system.Chain.RPCURL()})
	return nil
}

func (d *story) fallBack(ctx context.Context) error {
	m, err := d.grant(ctx, "wallet_empty", "card_visa")
	if err != nil {
		return err
	}
	c, err := d.chargeVia(ctx, m, 120, client.USDC, client.CardUsed)
	if err != nil {
		return err
	}
	d.announce("The wallet is empty, so the card pays", fact{"amount", dollars(c.AmountCents)}, fact{"rail", string(c.RailUsed)},
		fact{"processor", c.ProcessorPaymentID})
	if m, err = d.grant(ctx, "card_decline_after_setup", "wallet"); err != nil {
		return err
	}
	if c, err = d.chargeVia(ctx, m, 200, client.USD, client.ChainUsed); err != nil {
		return err
	}
	d.announce("The card is declined, so the wallet pays", fact{"amount", dollars(c.AmountCents)}, fact{"rail", string(c.RailUsed)},
		fact{"transaction", c.TxHash})
	return d.revokeFromWallet(ctx, m)
}

// revokeFromWallet: the owner ends the grant on the contract, and the service sees it.
func (d *story) revokeFromWallet(ctx context.Context, mandate string) error {
	owner, tx, err := d.system.Chain.Inside.RevokeNewest(ctx)
	if err != nil {
		return err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		b, err := d.merchant.Balance(ctx, mandate)
		if err != nil {
			return err
		}
		if b.Status == client.MandateRevoked {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	_, err = d.merchant.Charge(ctx, client.ChargeParams{Mandate: mandate, AmountCents: 1, Currency: client.USD, Description: "Satellite image"})
	if !errors.Is(err, client.ErrMandateRevoked) {
		return fmt.Errorf("a mandate revoked on the chain was not refused: %w", err)
	}
	d.announce("The person revokes on the contract, from the wallet alone, and the service sees it",
		append([]fact{{"wallet", owner.Hex()}, {"transaction", tx.Hex()}}, refusal(err)...)...)
	return nil
}
