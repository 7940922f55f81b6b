package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/vault"
)

type reconcileCmd struct {
	operatorFlags

	From     instant       `help:"Compare what has succeeded from this time on: a date in UTC, or an RFC 3339 time. Default: everything." placeholder:"TIME"`
	Settling time.Duration `default:"1h" help:"The age from which a movement must be final; younger charges are in flight. Default: ${default}." placeholder:"DURATION"`
}

// Help is the longer text of the command.
func (reconcileCmd) Help() string {
	return `Every charge and refund that succeeded must have one movement of its amount, and every movement its
charge. Each difference is printed with its cause:
  movement_without_charge  money moved, and the ledger has no such charge or refund
  charge_without_movement  a charge or refund succeeded, and no money moved
  wrong_amount             another amount moved
  moved_twice              money moved more than once
  two_outcomes             a charge or refund failed, and money moved; or a rail reported a second outcome
The exit code is 1 if there is a difference; otherwise 5 if a rail that lists no movements has charges or refunds in this
time, which were not compared. The service may be running.

Examples:
  paywarrant reconcile --config pay.toml
  paywarrant reconcile --config pay.toml --from 2026-11-01 --json`
}

// differenceLine is how a difference is printed.
type differenceLine struct {
	Cause          string   `json:"cause"`
	Rail           string   `json:"rail"`
	TransactionID  string   `json:"transactionId,omitempty"`
	RefundID       string   `json:"refundId,omitempty"`
	Reference      string   `json:"reference,omitempty"`
	RecordedMicros int64    `json:"recordedMicros"`
	MovedMicros    int64    `json:"movedMicros"`
	Movements      []string `json:"movements,omitempty"`
	Detail         string   `json:"detail"`
}

// reconciledLine is the last line of the output as JSON.
type reconciledLine struct {
	Charges     int64       `json:"charges"`
	Refunds     int64       `json:"refunds"`
	Movements   int64       `json:"movements"`
	Differences int64       `json:"differences"`
	Unlisted    []rail.Name `json:"unlistedRails,omitempty"`
	Uncompared  int64       `json:"uncompared,omitzero"`
}

// Run compares, and fails if there is a difference.
func (c reconcileCmd) Run(ctx context.Context, o output) error {
	if c.Settling < 0 {
		return usage("--settling: must not be negative")
	}
	cfg, err := c.Config.read()
	if err != nil {
		return err
	}
	store, err := openOwned(ctx, cfg, false)
	if err != nil {
		return err
	}
	rails, closeRails, err := reconciledRails(ctx, c.Config, cfg, store)
	var r server.Reconciliation
	if err == nil {
		r, err = server.Reconcile(ctx, server.ReconcileConfig{Ledger: store, Rails: rails, From: c.From.Time, Settling: c.Settling}, func(d server.Difference) error {
			return c.printDifference(o, d)
		})
	}
	if err := errors.Join(err, closeRails(), store.Close()); err != nil {
		return err
	}
	return c.printResult(o, r)
}

// reconciledRails opens the rails of a configuration for reading. closeRails closes those
// that were opened, also after an error.
func reconciledRails(ctx context.Context, file configFile, cfg config, store database) (rails []rail.Rail, closeRails func() error, err error) {
	var more extras
	release := func() {}
	closeRails = func() (err error) {
		defer release()
		for _, r := range rails {
			if c, ok := r.(io.Closer); ok {
				err = errors.Join(err, c.Close())
			}
		}
		return err
	}
	wrapper, err := openKeyFile(ctx, cfg.KeyFile, store)
	if err != nil {
		return nil, closeRails, err
	}
	if cfg.Chain != nil {
		there, err := cfg.Chain.reach(ctx, cfg.live())
		if err != nil {
			return nil, closeRails, fmt.Errorf("%s: %w", file, err)
		}
		release, more.chain = there.node.Close, there.rail
	}
	rails, err = openRails(ctx, cfg, store, vault.New(wrapper), slog.New(slog.DiscardHandler), more)
	return rails, closeRails, err
}

func (c reconcileCmd) printDifference(o output, d server.Difference) error {
	if c.JSON {
		return json.NewEncoder(o.out).Encode(differenceLine{
			string(d.Cause), string(d.Rail), d.TransactionID, d.RefundID, d.Reference, int64(d.Recorded), int64(d.Moved), d.Movements, d.Detail,
		})
	}
	what := d.Reference
	switch {
	case d.RefundID != "":
		what = d.TransactionID + " refund " + d.RefundID
	case d.TransactionID != "":
		what = d.TransactionID
	}
	_, err := fmt.Fprintf(o.out, "%s: %s on %s: recorded $%s, moved $%s: %s %s\n",
		d.Cause, what, d.Rail, d.Recorded.Decimal(), d.Moved.Decimal(), d.Detail, strings.Join(d.Movements, " "))
	return err
}

func (c reconcileCmd) printResult(o output, r server.Reconciliation) error {
	var err error
	if c.JSON {
		err = json.NewEncoder(o.out).Encode(reconciledLine{r.Charges, r.Refunds, r.Movements, r.Differences, r.Unlisted, r.Uncompared})
	} else {
		for _, name := range r.Unlisted {
			_, e := fmt.Fprintf(o.out, "%s cannot list its movements: nothing of it was compared\n", name)
			err = errors.Join(err, e)
		}
		_, e := fmt.Fprintf(o.out, "%d charges, %d refunds, %d movements: %d differences%s\n", r.Charges, r.Refunds, r.Movements, r.Differences, uncompared(r))
		err = errors.Join(err, e)
	}
	switch {
	case err != nil:
		return err
	case r.Differences > 0:
		return errSaid
	case r.Uncompared > 0:
		return &exitError{code: exitIncomplete, err: errSaid}
	}
	return nil
}

// uncompared returns what the summary says about charges that were not compared.
func uncompared(r server.Reconciliation) string {
	if r.Uncompared == 0 {
		return ""
	}
	return fmt.Sprintf("; %d charges and refunds were not compared", r.Uncompared)
}
