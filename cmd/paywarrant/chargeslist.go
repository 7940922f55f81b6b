package main

import (
	"context"
	"strconv"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
)

type chargesListCmd struct {
	operatorFlags

	Pending  bool   `help:"List the pending charges of all merchants, those due earliest first." xor:"which" required:""`
	Merchant string `help:"List the charges of one merchant, newest first." placeholder:"mer_…" xor:"which" required:""`
	Limit    int    `default:"100" help:"Number of charges to list. Default: ${default}." placeholder:"N"`
}

// Help is the longer text of the command.
func (chargesListCmd) Help() string {
	return `Examples:
  paywarrant charges list --config pay.toml --pending
  paywarrant charges list --config pay.toml --merchant mer_01K… --limit 20`
}

// Run lists the charges.
func (c chargesListCmd) Run(ctx context.Context, o output) error {
	if c.Limit < 1 {
		return usage("--limit: %d is not a number of charges", c.Limit)
	}
	return c.operator(ctx, func(op *server.Operator) error {
		list, err := c.read(ctx, op)
		if err != nil {
			return err
		}
		var objects []any
		table := [][]string{{"TRANSACTION", "STATUS", "AMOUNT", "MERCHANT", "RAIL", "ATTEMPTS", "CREATED"}}
		for _, charge := range list {
			l := lineOfCharge(charge)
			objects = append(objects, l)
			table = append(table, []string{
				l.TransactionID, statusOf(l), "$" + charge.Amount.Decimal(), l.MerchantID, l.Rail, strconv.Itoa(l.Attempts), l.CreatedAt,
			})
		}
		return c.print(o, objects, table)
	})
}

// statusOf is the status of a charge in the table.
func statusOf(l chargeLine) string {
	if l.Status == string(ledger.ChargeAuthorized) {
		return l.Status + " until " + l.HeldUntil
	}
	return l.Status
}

func (c chargesListCmd) read(ctx context.Context, op *server.Operator) (list []ledger.Charge, err error) {
	if c.Pending {
		return op.PendingCharges(ctx, c.Limit)
	}
	for before := ""; len(list) < c.Limit; {
		most := min(c.Limit-len(list), listPage)
		page, err := op.Charges(ctx, c.Merchant, before, most)
		if err != nil {
			return nil, err
		}
		list = append(list, page...)
		if len(page) < most {
			break
		}
		before = page[len(page)-1].ID
	}
	return list, nil
}
