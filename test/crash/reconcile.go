package main

import (
	"context"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
)

// reconcile compares the ledger with the processor's own list, as an operator does: nothing
// is in flight once the service has stopped and everything is decided.
func (d *drill) reconcile(ctx context.Context, store ledger.Reader) (faults []string, err error) {
	cards, err := card.New(card.Config{Gateway: d.processor})
	if err != nil {
		return nil, err
	}
	_, err = server.Reconcile(ctx, server.ReconcileConfig{Ledger: store, Rails: []rail.Rail{cards}, Settling: time.Nanosecond}, func(f server.Difference) error {
		faults = append(faults, fmt.Sprintf("%s: %s %s %s: %s", f.Cause, f.TransactionID, f.RefundID, f.Reference, f.Detail))
		return nil
	})
	return faults, err
}
