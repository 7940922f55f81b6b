package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/paywarrant/paywarrant/server/ledger"
)

type ledgerCmd struct {
	Check ledgerCheckCmd `cmd:"" help:"Recompute every counter and total from the postings, and compare."`
}

type ledgerCheckCmd struct {
	Store string `required:"" help:"The store: a path of an SQLite file, or a postgres:// URL." placeholder:"STORE"`
	JSON  bool   `help:"Print JSON." name:"json"`
}

// Run checks the ledger; a fault fails the command.
func (c ledgerCheckCmd) Run(ctx context.Context, o output) error {
	store, err := openStore(ctx, c.Store, false)
	if err != nil {
		return err
	}
	r, err := ledger.Check(ctx, store)
	if err := errors.Join(err, store.Close()); err != nil {
		return err
	}
	if c.JSON {
		text, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("encode report: %w", err)
		}
		if _, err := fmt.Fprintf(o.out, "%s\n", text); err != nil {
			return err
		}
	} else if err := printReport(o, r); err != nil {
		return err
	}
	if len(r.Faults) > 0 {
		return errSaid
	}
	return nil
}

func printReport(o output, r ledger.Report) error {
	_, err := fmt.Fprintf(o.out, "%d mandates, %d charges (%d succeeded, %d failed, %d pending), %d postings, volume $%s\n",
		r.Mandates, r.Charges, r.Succeeded, r.Failed, r.Pending, r.Postings, r.Volume.Decimal())
	for _, f := range r.Faults {
		_, e := fmt.Fprintln(o.out, "FAULT:", f)
		err = errors.Join(err, e)
	}
	verdict := "ledger is sound"
	if len(r.Faults) > 0 {
		verdict = "ledger is NOT sound"
	}
	_, e := fmt.Fprintln(o.out, verdict)
	return errors.Join(err, e)
}
