package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
)

type exportCmd struct {
	Transactions exportTransactionsCmd `cmd:"" help:"Export charges, one row each, whatever their status."`
	Postings     exportPostingsCmd     `cmd:"" help:"Export the postings of the charges that were settled and of their refunds, one row each."`
	Fees         exportFeesCmd         `cmd:"" help:"Export the fees that merchants owe, one row for each charge with a fee."`
}

// exportFlags are what every export takes.
type exportFlags struct {
	Config   configFile `required:"" help:"The configuration file of serve." placeholder:"FILE" type:"existingfile"`
	From     instant    `help:"Export from this time on: a date in UTC, or an RFC 3339 time. Default: from the beginning." placeholder:"TIME"`
	To       instant    `help:"Export what is before this time. Default: to the end." placeholder:"TIME"`
	Merchant string     `help:"Export for one merchant only." placeholder:"mer_…"`
	Format   string     `enum:"csv,jsonl" default:"csv" help:"csv, or jsonl for one JSON object a line. Default: ${default}." placeholder:"FORMAT"`
	Out      string     `help:"Write to this file, which appears only when it is complete. Default: standard output." placeholder:"FILE"`
}

const exportHelp = `Rows are in the order of transaction ids, from one snapshot of the ledger; the service may run meanwhile.
The number of rows is written to standard error at the end. Without it, and with an exit code other than 0,
the output is incomplete. docs/reference/exports.md describes the columns.

Example:
  paywarrant export `

// instant is a time that is written as a date in UTC or in RFC 3339.
type instant struct{ time.Time }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (t *instant) UnmarshalText(text []byte) (err error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t.Time, err = time.Parse(layout, string(text)); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%q is neither a date such as 2026-11-01 nor a time such as 2026-11-01T00:00:00Z", text)
}

func (f exportFlags) selection(settled bool) (ledger.Selection, error) {
	if !f.From.IsZero() && !f.To.IsZero() && !f.From.Before(f.To.Time) {
		return ledger.Selection{}, usage("--to: must be after --from")
	}
	return ledger.Selection{MerchantID: f.Merchant, From: f.From.Time, To: f.To.Time, Settled: settled}, nil
}

// export writes the rows that read returns, and their number. what names the rows.
func export[R any](
	ctx context.Context, f exportFlags, o output, what string, columns []column[R], read func(*server.Operator, func(R) error) error,
) error {
	if err := checkFile("--out", f.Out); err != nil {
		return err
	}
	rows := 0
	err := operateOn(ctx, f.Config, false, func(op *server.Operator) error {
		return writeOut(f.Out, o.out, func(w io.Writer) error {
			t, err := newTableWriter(w, f.Format, columns)
			if err != nil {
				return err
			}
			err = read(op, func(r R) error {
				if err := t.write(r); err != nil {
					return err
				}
				rows++
				return nil
			})
			if err != nil {
				return err
			}
			return t.flush()
		})
	})
	if err != nil {
		if rows > 0 {
			return fmt.Errorf("the export is incomplete, it ended after %d %s: %w", rows, what, err)
		}
		return err
	}
	_, err = fmt.Fprintf(o.errors, "exported %d %s\n", rows, what)
	return err
}

type exportTransactionsCmd struct {
	exportFlags

	By string `enum:"created,settled" default:"created" help:"The time that --from and --to compare: created, or settled for the charges that succeeded. Default: ${default}." placeholder:"TIME"`
}

// Help is the longer text of the command.
func (exportTransactionsCmd) Help() string {
	return exportHelp + `transactions --config pay.toml --by settled --from 2026-11-01 --to 2026-12-01 --out november.csv`
}

// Run exports charges.
func (c exportTransactionsCmd) Run(ctx context.Context, o output) error {
	selection, err := c.selection(c.By == "settled")
	if err != nil {
		return err
	}
	return export(ctx, c.exportFlags, o, "transactions", transactionColumns, func(op *server.Operator, each func(*ledger.Charge) error) error {
		return op.EachCharge(ctx, selection, func(charge ledger.Charge) error { return each(&charge) })
	})
}

type exportPostingsCmd struct{ exportFlags }

// Help is the longer text of the command.
func (exportPostingsCmd) Help() string {
	return `--from and --to compare the time at which the charge of a posting was settled, and for a refund the time at which
the refund was posted: it belongs to its own month.
` + exportHelp + `postings --config pay.toml --from 2026-11-01 --to 2026-12-01 --format jsonl`
}

// Run exports postings.
func (c exportPostingsCmd) Run(ctx context.Context, o output) error {
	selection, err := c.selection(true)
	if err != nil {
		return err
	}
	return export(ctx, c.exportFlags, o, "postings", postingColumns, func(op *server.Operator, each func(postingRow) error) error {
		return op.EachChargePostings(ctx, selection, func(charge ledger.Charge, postings []ledger.Posting) error {
			for i := range postings {
				if err := each(postingRow{&charge, &postings[i]}); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

type exportFeesCmd struct{ exportFlags }

// Help is the longer text of the command.
func (exportFeesCmd) Help() string {
	return `--from and --to compare the time at which the charge of a fee was settled.
` + exportHelp + `fees --config pay.toml --from 2026-11-01 --to 2026-12-01 --merchant mer_01K…`
}

// Run exports fees.
func (c exportFeesCmd) Run(ctx context.Context, o output) error {
	selection, err := c.selection(true)
	if err != nil {
		return err
	}
	return export(ctx, c.exportFlags, o, "fees", feeColumns, func(op *server.Operator, each func(postingRow) error) error {
		return op.EachChargePostings(ctx, selection, func(charge ledger.Charge, postings []ledger.Posting) error {
			fee, owed := ledger.FeePosting(charge, postings)
			if !owed {
				return nil
			}
			return each(postingRow{&charge, &fee})
		})
	})
}
