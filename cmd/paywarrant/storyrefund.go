package main

import (
	"context"
	"fmt"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail/chain/devrail"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// giveBack refunds a payment on the chain. The merchant's wallet signs. The mandate's month
// stays used, since the contract counts no refunds.
func (d *story) giveBack(ctx context.Context) error {
	m, err := d.grant(ctx, "wallet")
	if err != nil {
		return err
	}
	c, err := d.chargeVia(ctx, m, 300, client.USDC, client.ChainUsed)
	if err != nil {
		return err
	}
	before, err := d.merchant.Balance(ctx, m)
	if err != nil {
		return err
	}
	r, err := d.merchant.Refund(ctx, c.TransactionID, client.RefundParams{AmountCents: 200, Reason: "Two of three images were late"})
	if err == nil && r.Signature == nil {
		err = fmt.Errorf("refund %s is %s and waits for no signature", r.ID, r.Status)
	}
	if err != nil {
		return err
	}
	signature, err := devrail.Wallet(devchain.Payee(0)).SignRefund(ctx, r.Signature.TypedData, evm.RefundTerms{MaxCents: 200, Until: r.Signature.ExpiresAt})
	if err != nil {
		return err
	}
	r, err = d.merchant.SignRefund(ctx, c.TransactionID, r.ID, signature)
	if err == nil && r.Status != client.RefundSucceeded {
		err = fmt.Errorf("refund %s is %s: %s", r.ID, r.Status, r.FailureReason)
	}
	if err != nil {
		return err
	}
	after, err := d.merchant.Balance(ctx, m)
	if err != nil {
		return err
	}
	d.announce("The merchant refunds a part, signed by its wallet; the contract still counts it this month",
		fact{"paid", dollars(c.AmountCents)}, fact{"refunded", dollars(r.AmountCents)}, fact{"transaction", r.TxHash},
		fact{"left this month", dollars(before.RemainingMonthlySpendCents) + " before, " + dollars(after.RemainingMonthlySpendCents) + " after"})
	return nil
}
