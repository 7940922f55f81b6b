package main

import (
	"context"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

type chargesConflictsCmd struct{ operatorFlags }

// Help is the longer text of the command.
func (chargesConflictsCmd) Help() string {
	return `A charge keeps the outcome that decided it. If its rail reports another one later, money may have moved
that the ledger does not show, or a payment was taken back: compare with the processor or the chain.

Example:
  paywarrant charges conflicts --config pay.toml`
}

// conflictLine is how a conflicting outcome is printed.
type conflictLine struct {
	TransactionID string `json:"transactionId"`
	Status        string `json:"status"`
	AmountMicros  int64  `json:"amountMicros"`
	MerchantID    string `json:"merchantId"`
	Rail          string `json:"reportedRail"`
	Reported      string `json:"reported"`
	FailureReason string `json:"reportedFailureReason,omitempty"`
	TxHash        string `json:"reportedTxHash,omitempty"`
	ProcessorID   string `json:"reportedProcessorPaymentId,omitempty"`
	At            string `json:"reportedAt"`
}

// Run lists the conflicts of all charges.
func (c chargesConflictsCmd) Run(ctx context.Context, o output) error {
	return c.operator(ctx, func(op *server.Operator) error {
		var objects []any
		table := [][]string{{"CHARGE", "STATUS", "AMOUNT", "REPORTED", "BY", "TRANSACTION", "AT"}}
		for after := (ledger.OutcomeConflict{}); ; {
			page, err := op.Conflicts(ctx, after, listPage)
			if err != nil {
				return err
			}
			for _, x := range page {
				charge, _, err := op.Charge(ctx, x.ChargeID)
				if err != nil {
					return err
				}
				l := lineOfConflict(x, charge)
				after = x
				objects = append(objects, l)
				table = append(table, []string{
					l.TransactionID, l.Status, "$" + charge.Amount.Decimal(), l.Reported + " " + l.FailureReason, l.Rail, l.TxHash + l.ProcessorID, l.At,
				})
			}
			if len(page) < listPage {
				return c.print(o, objects, table)
			}
		}
	})
}

func lineOfConflict(x ledger.OutcomeConflict, c ledger.Charge) conflictLine {
	reported := string(x.Status)
	if x.Status == rail.Refused {
		reported = "failed"
	}
	return conflictLine{
		TransactionID: c.ID, Status: string(c.Status), AmountMicros: int64(c.Amount), MerchantID: c.MerchantID, Rail: string(x.Rail),
		Reported: reported, FailureReason: string(x.Reason), TxHash: x.TxHash, ProcessorID: x.ProcessorID, At: at(x.At),
	}
}
