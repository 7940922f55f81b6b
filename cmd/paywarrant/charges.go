package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

type chargesCmd struct {
	List      chargesListCmd      `cmd:"" help:"List the pending charges of all merchants, or the charges of one merchant."`
	Show      chargesShowCmd      `cmd:"" help:"Show a charge, its refunds and tab, and the actions on it."`
	Conflicts chargesConflictsCmd `cmd:"" help:"List charges whose rail later reported a different outcome."`
	Resolve   chargesResolveCmd   `cmd:"" help:"Decide a charge that its rail leaves pending, from what the processor or the chain shows."`
}

type chargeArg struct {
	operatorFlags

	Transaction string `arg:"" help:"The transaction id." placeholder:"txn_…"`
}

// chargeLine is how a charge is printed.
type chargeLine struct {
	TransactionID string        `json:"transactionId"`
	Status        string        `json:"status"`
	AmountMicros  int64         `json:"amountMicros"`
	Refunded      int64         `json:"refundedMicros,omitzero"`
	Refunding     int64         `json:"refundingMicros,omitzero"`
	Authorized    int64         `json:"authorizedMicros,omitzero"`
	HeldUntil     string        `json:"authorizedUntil,omitempty"`
	Usage         *ledger.Usage `json:"usage,omitempty"`
	Source        string        `json:"source"`
	Payer         string        `json:"payer,omitempty"`
	MandateID     string        `json:"mandateId"`
	MerchantID    string        `json:"merchantId"`
	Rail          string        `json:"rail,omitempty"`
	ProcessorID   string        `json:"processorPaymentId,omitempty"`
	TxHash        string        `json:"txHash,omitempty"`
	FailureReason string        `json:"failureReason,omitempty"`
	Attempts      int           `json:"recoveryAttempts"`
	LeaseOwner    string        `json:"leaseOwner,omitempty"`
	LeaseUntil    string        `json:"leaseUntil,omitempty"`
	CreatedAt     string        `json:"createdAt"`
	SettledAt     string        `json:"settledAt,omitempty"`
	TabID         string        `json:"tabId,omitempty"`
	Refunds       []refundLine  `json:"refunds,omitempty"`
	Audit         []auditLine   `json:"audit,omitempty"`
}

type auditLine struct {
	At     string `json:"at"`
	Actor  string `json:"actor"`
	Action string `json:"action"`
	Reason string `json:"reason,omitempty"`
	Detail string `json:"detail,omitempty"`
}

func at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// mandateOf returns the mandate of a charge; empty if a wallet signed the charge itself.
func mandateOf(c ledger.Charge) string {
	if c.Direct() {
		return ""
	}
	return c.MandateID
}

func lineOfCharge(c ledger.Charge) chargeLine {
	return chargeLine{
		Refunded: int64(c.Refunded), Refunding: int64(c.Refunding),
		Authorized: int64(c.Authorized), HeldUntil: at(c.AuthorizedUntil), Usage: c.Usage,
		TransactionID: c.ID, Status: string(c.Status), AmountMicros: int64(c.Amount), Source: string(c.Source), Payer: c.Payer(),
		MandateID: mandateOf(c), MerchantID: c.MerchantID, Rail: string(c.Waiting()), ProcessorID: c.ProcessorID, TxHash: c.TxHash,
		FailureReason: string(c.FailureReason), Attempts: c.Asked, LeaseOwner: c.LeaseOwner, LeaseUntil: at(c.LeaseUntil),
		CreatedAt: at(c.CreatedAt), SettledAt: at(c.SettledAt), TabID: c.TabID,
	}
}

func (c chargeArg) show(ctx context.Context, o output, op *server.Operator) error {
	charge, log, err := op.Charge(ctx, c.Transaction)
	if err != nil {
		return err
	}
	refunds, err := refundsOf(ctx, op, charge.ID)
	if err != nil {
		return err
	}
	l := lineOfCharge(charge)
	table := [][]string{
		{"Transaction", l.TransactionID},
		{"Status", l.Status},
		{"Amount", "$" + charge.Amount.Decimal()},
		{"Source", l.Source},
		{"Mandate", l.MandateID},
		{"Merchant", l.MerchantID},
		{"Rail", l.Rail},
		{"Created", l.CreatedAt},
	}
	if charge.Direct() {
		table[4] = []string{"Payer", l.Payer}
	}
	if charge.Step != "" {
		table = append(table, []string{"Authorized", "up to $" + charge.Authorized.Decimal() + " until " + l.HeldUntil})
	}
	if charge.Refunds > 0 {
		text := "$" + charge.Refunded.Decimal()
		if charge.Refunding > 0 {
			text += ", and $" + charge.Refunding.Decimal() + " pending"
		}
		table = append(table, []string{"Refunded", text})
	}
	if u := charge.Usage; u != nil {
		table = append(table, []string{"Usage", fmt.Sprintf("%d × %s at $%s", u.Quantity, u.Unit, u.UnitPrice.Decimal())})
	}
	for _, r := range refunds {
		one := lineOfRefund(r)
		l.Refunds = append(l.Refunds, one)
		text := one.RefundID + " of " + one.CreatedAt + ": $" + r.Amount.Decimal() + " " + one.Status
		table = append(table, []string{"Refund", strings.TrimSpace(text + " " + one.ProcessorID + one.TxHash + one.FailureReason)})
	}
	for _, more := range [][]string{{"Tab", l.TabID}, {"Processor id", l.ProcessorID}, {"Transaction hash", l.TxHash}, {"Failure", l.FailureReason}, {"Settled", l.SettledAt}} {
		if more[1] != "" {
			table = append(table, more)
		}
	}
	if charge.Status == ledger.ChargePending {
		table = append(table, []string{"Not asked again before", l.LeaseUntil})
	}
	for _, e := range log {
		a := auditLine{At: at(e.At), Actor: e.Actor, Action: e.Action, Reason: e.Reason, Detail: e.Detail}
		l.Audit = append(l.Audit, a)
		table = append(table, []string{a.Action, a.At + " by " + a.Actor + ": " + a.Detail + ": " + a.Reason})
	}
	return c.print(o, []any{l}, table)
}

type chargesShowCmd struct{ chargeArg }

// Run shows a charge.
func (c chargesShowCmd) Run(ctx context.Context, o output) error {
	return c.operator(ctx, func(op *server.Operator) error { return c.show(ctx, o, op) })
}

type chargesResolveCmd struct {
	chargeArg

	Outcome     string `required:"" enum:"succeeded,failed" help:"The outcome: succeeded or failed." placeholder:"OUTCOME"`
	Reason      string `required:"" help:"How you know the outcome, for the audit log." placeholder:"TEXT"`
	Rail        string `help:"The rail that moved the money. Default: the rail that the charge waits for." enum:",fiatrail,chainrail" default:"" placeholder:"RAIL"`
	ProcessorID string `help:"With succeeded, by card: the processor's id of the payment." placeholder:"ID"`
	TxHash      string `help:"With succeeded, on the chain: the hash of the transaction." placeholder:"0x…"`
	Failure     string `help:"With failed: the failure reason that the merchant sees. Default: processor_error." placeholder:"CODE" default:"" enum:",card_declined,insufficient_funds,expired_card,reverted,out_of_gas,allowance_missing,wallet_blocked,rail_unavailable,processor_error"`
}

// Run decides the charge.
func (c chargesResolveCmd) Run(ctx context.Context, o output) error {
	return c.operator(ctx, func(op *server.Operator) error {
		_, err := op.ResolveCharge(ctx, c.Transaction, server.Resolution{
			Succeeded: c.Outcome == "succeeded", ProcessorID: c.ProcessorID, TxHash: c.TxHash, FailureReason: rail.Reason(c.Failure),
			Rail: rail.Name(c.Rail), Reason: c.Reason,
		})
		if err != nil {
			return err
		}
		return c.show(ctx, o, op)
	})
}

// Help is the longer text of the command.
func (chargesResolveCmd) Help() string {
	return "A charge that is decided is left as it is. If the rail reports another outcome later, that is counted and logged as a conflict.\n\n" +
		"Examples:\n  paywarrant charges resolve txn_01K… --config pay.toml --outcome succeeded --processor-id pay_7 --reason \"shown as captured\"\n" +
		"  paywarrant charges resolve txn_01K… --config pay.toml --outcome failed --reason \"unknown to the processor\""
}
