package main

import (
	"context"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
)

type refundsCmd struct {
	List refundsListCmd `cmd:"" help:"List the refunds of a charge, oldest first."`
}

type refundsListCmd struct {
	operatorFlags

	Transaction string `arg:"" help:"The charge: txn_…"`
}

// Help is the longer text of the command.
func (refundsListCmd) Help() string {
	return `Example:
  paywarrant refunds list txn_01K… --config pay.toml`
}

// refundLine is how a refund is printed.
type refundLine struct {
	RefundID      string `json:"refundId"`
	TransactionID string `json:"transactionId"`
	Status        string `json:"status"`
	AmountMicros  int64  `json:"amountMicros"`
	Reason        string `json:"reason,omitempty"`
	Rail          string `json:"rail"`
	ProcessorID   string `json:"processorRefundId,omitempty"`
	TxHash        string `json:"txHash,omitempty"`
	FailureReason string `json:"failureReason,omitempty"`
	CreatedAt     string `json:"createdAt"`
	SettledAt     string `json:"settledAt,omitempty"`
}

func lineOfRefund(r ledger.Refund) refundLine {
	return refundLine{
		RefundID: r.ID, TransactionID: r.ChargeID, Status: string(r.Status), AmountMicros: int64(r.Amount), Reason: r.Reason, Rail: string(r.Rail),
		ProcessorID: r.ProcessorID, TxHash: r.TxHash, FailureReason: string(r.FailureReason), CreatedAt: at(r.CreatedAt), SettledAt: at(r.SettledAt),
	}
}

// refundsOf returns all refunds of a charge.
func refundsOf(ctx context.Context, op *server.Operator, transactionID string) (all []ledger.Refund, err error) {
	for after := 0; ; {
		page, err := op.Refunds(ctx, transactionID, after, listPage)
		if err != nil {
			return nil, err
		}
		if all = append(all, page...); len(page) < listPage {
			return all, nil
		}
		after = all[len(all)-1].N
	}
}

// Run lists the refunds.
func (c refundsListCmd) Run(ctx context.Context, o output) error {
	return c.operator(ctx, func(op *server.Operator) error {
		list, err := refundsOf(ctx, op, c.Transaction)
		if err != nil {
			return err
		}
		var objects []any
		table := [][]string{{"REFUND", "STATUS", "AMOUNT", "RAIL", "MOVEMENT", "CREATED"}}
		for _, r := range list {
			l := lineOfRefund(r)
			objects = append(objects, l)
			table = append(table, []string{l.RefundID, l.Status, "$" + r.Amount.Decimal(), l.Rail, l.ProcessorID + l.TxHash, l.CreatedAt})
		}
		return c.print(o, objects, table)
	})
}
