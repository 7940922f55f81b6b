package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
)

type feesCmd struct {
	Statement feesStatementCmd `cmd:"" help:"Sum the charges, refunds and fees of a month for each merchant and rail."`
}

type feesStatementCmd struct {
	Config   configFile `required:"" help:"The configuration file of serve." placeholder:"FILE" type:"existingfile"`
	Month    month      `required:"" help:"The month in UTC." placeholder:"2026-11"`
	Merchant string     `help:"The statement of one merchant only." placeholder:"mer_…"`
	Format   string     `enum:"text,csv,jsonl" default:"text" help:"text, csv, or jsonl for one JSON object a line. Default: ${default}." placeholder:"FORMAT"`
}

// Help is the longer text of the command.
func (feesStatementCmd) Help() string {
	return `The charges are those that were settled in the month, the fees are the sums of their fee postings. A refund
belongs to the month in which it was made, whenever its payment was: it never changes an earlier month. Net is gross
less refunded; refunds return no fee. A month may change as long as charges of it are pending: a warning
on standard error names them. docs/reference/exports.md describes the columns.

Example:
  paywarrant fees statement --config pay.toml --month 2026-11`
}

// month is a month as a flag.
type month ledger.Month

// UnmarshalText implements [encoding.TextUnmarshaler].
func (m *month) UnmarshalText(text []byte) error {
	parsed, err := ledger.ParseMonth(string(text))
	*m = month(parsed)
	return err
}

// statementRow is a line of the statement of a month.
type statementRow struct {
	ledger.FeeLine

	month ledger.Month
}

// statementColumns are the columns of a statement; see transactionColumns.
var statementColumns = []column[statementRow]{
	{"month", func(r statementRow) any { return r.month.String() }},
	{"merchantId", func(r statementRow) any { return r.MerchantID }},
	{"rail", func(r statementRow) any { return string(r.Rail) }},
	{"charges", func(r statementRow) any { return r.Charges }},
	{"grossMicros", func(r statementRow) any { return int64(r.Gross) }},
	{"gross", func(r statementRow) any { return r.Gross.Decimal() }},
	{"feeMicros", func(r statementRow) any { return int64(r.Fees) }},
	{"fee", func(r statementRow) any { return r.Fees.Decimal() }},
	{"refunds", func(r statementRow) any { return r.Refunds }},
	{"refundedMicros", func(r statementRow) any { return int64(r.Refunded) }},
	{"refunded", func(r statementRow) any { return r.Refunded.Decimal() }},
	{"netMicros", func(r statementRow) any { return int64(r.Net()) }},
	{"net", func(r statementRow) any { return decimal(r.Net().Decimal()) }},
}

// Run prints the statement.
func (c feesStatementCmd) Run(ctx context.Context, o output) error {
	of := ledger.Month(c.Month)
	return operateOn(ctx, c.Config, false, func(op *server.Operator) error {
		pending, oldest, err := op.Backlog(ctx) // before the statement: a charge that is decided meanwhile is in it
		if err != nil {
			return err
		}
		lines, err := op.FeeStatement(ctx, of, c.Merchant)
		if err != nil {
			return err
		}
		if err := c.print(o.out, of, lines); err != nil {
			return err
		}
		return warnOpen(o.errors, of, time.Now(), pending, oldest)
	})
}

func (c feesStatementCmd) print(w io.Writer, of ledger.Month, lines []ledger.FeeLine) error {
	if c.Format == "text" {
		return printStatement(w, of, lines)
	}
	t, err := newTableWriter(w, c.Format, statementColumns)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if err := t.write(statementRow{line, of}); err != nil {
			return err
		}
	}
	return t.flush()
}

func printStatement(w io.Writer, of ledger.Month, lines []ledger.FeeLine) error {
	total := ledger.FeeLine{MerchantID: "TOTAL"}
	table := [][]string{{"MERCHANT", "RAIL", "CHARGES", "GROSS", "REFUNDS", "REFUNDED", "NET", "FEES DUE"}}
	add := func(l ledger.FeeLine) {
		table = append(table, []string{
			l.MerchantID, string(l.Rail), strconv.FormatInt(l.Charges, 10), signedDollars(l.Gross), strconv.FormatInt(l.Refunds, 10), signedDollars(l.Refunded),
			signedDollars(l.Net()), signedDollars(l.Fees),
		})
	}
	for _, l := range lines {
		add(l)
		var err error
		total.Charges += l.Charges
		if total.Gross, err = total.Gross.Add(l.Gross); err != nil {
			return err
		}
		if total.Fees, err = total.Fees.Add(l.Fees); err != nil {
			return err
		}
		total.Refunds += l.Refunds
		if total.Refunded, err = total.Refunded.Add(l.Refunded); err != nil {
			return err
		}
	}
	add(total)
	if _, err := fmt.Fprintf(w, "Charges, refunds and fees of %s (UTC)\n\n", of); err != nil {
		return err
	}
	return printTable(w, table)
}

// signedDollars formats an amount, which may be negative.
func signedDollars(m ledger.Micros) string {
	if m < 0 {
		return "-$" + (-m).Decimal()
	}
	return "$" + m.Decimal()
}

// warnOpen warns that a statement is not final.
func warnOpen(w io.Writer, of ledger.Month, now time.Time, pending int, oldest time.Time) error {
	end := of.Next().Start()
	var err error
	switch {
	case now.Before(end):
		_, err = fmt.Fprintf(w, "warning: %s has not ended, so the statement is not final\n", of)
	case pending > 0 && oldest.Before(end):
		_, err = fmt.Fprintf(w, "warning: the statement is not final: %d charges are pending, the oldest since %s; "+
			"resolve those from before %s (paywarrant charges list --pending)\n", pending, at(oldest), at(end))
	}
	return err
}
