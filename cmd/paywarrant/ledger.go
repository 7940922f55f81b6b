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
	Config configFile `help:"The configuration file of serve, which names the store." placeholder:"FILE" type:"existingfile" xor:"store" required:""`
	Store  string     `help:"The store: a path of an SQLite file, or a postgres:// URL." placeholder:"STORE" xor:"store" required:""`
	JSON   bool       `help:"Print one line of JSON." name:"json"`
}

// checked is a report as JSON.
type checked struct {
	Mandates     int   `json:"mandates"`
	Charges      int   `json:"charges"`
	Succeeded    int   `json:"succeeded"`
	Failed       int   `json:"failed"`
	Pending      int   `json:"pending"`
	Postings     int   `json:"postings"`
	VolumeMicros int64 `json:"volumeMicros"`
	// WrittenOff charges were paid by the operator, AdvancedMicros is what it has not got back.
	WrittenOff     int   `json:"writtenOff"`
	AdvancedMicros int64 `json:"advancedMicros"`
	// InSessionsMicros is the persons' money in session accounts, which no pending purchase has.
	InSessionsMicros int64    `json:"inSessionsMicros"`
	Faults           []string `json:"faults"`
}

// Run checks the ledger; a fault fails the command.
func (c ledgerCheckCmd) Run(ctx context.Context, o output) error {
	store, err := c.open(ctx)
	if err != nil {
		return err
	}
	r, err := ledger.Check(ctx, store)
	if err := errors.Join(err, store.Close()); err != nil {
		return err
	}
	if c.JSON {
		err := json.NewEncoder(o.out).Encode(checked{
			r.Mandates, r.Charges, r.Succeeded, r.Failed, r.Pending, r.Postings, int64(r.Volume), r.WrittenOff, int64(r.Advanced), int64(r.InSessions), append([]string{}, r.Faults...),
		})
		if err != nil {
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

func (c ledgerCheckCmd) open(ctx context.Context) (database, error) {
	if c.Config == "" {
		return openStore(ctx, c.Store, false)
	}
	cfg, err := c.Config.read()
	if err != nil {
		return nil, err
	}
	return openOwned(ctx, cfg, false)
}

func printReport(o output, r ledger.Report) error {
	_, err := fmt.Fprintf(o.out, "%d mandates, %d charges (%d succeeded, %d failed, %d pending, %d authorized, %d voided, %d written off), %d postings, volume $%s\n",
		r.Mandates, r.Charges, r.Succeeded, r.Failed, r.Pending, r.Authorized, r.Voided, r.WrittenOff, r.Postings, r.Volume.Decimal())
	if r.Tabs > 0 && err == nil {
		_, err = fmt.Fprintf(o.out, "%d tabs, $%s advanced by the operator\n", r.Tabs, r.Advanced.Decimal())
	}
	if r.InSessions > 0 && err == nil {
		_, err = fmt.Fprintf(o.out, "$%s in session accounts\n", r.InSessions.Decimal())
	}
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
