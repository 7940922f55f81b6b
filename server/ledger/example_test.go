package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "ledger-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "pay.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	l, err := ledger.New(ledger.Config{Store: store, Clock: time.Now})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	fmt.Println(charge(ctx, l))
	// Output:
	// succeeded, 600000 left
	// monthly: 600000 left
	// <nil>
}

// charge confirms a mandate of one dollar a month and charges it twice.
func charge(ctx context.Context, l *ledger.Ledger) error {
	const cent = 10_000
	now := time.Now().Truncate(time.Second)
	shop := ledger.Merchant{ID: "mer_1", Name: "Shop", Active: true, CreatedAt: now}
	terms := ledger.Terms{
		MaxPerTx: 100 * cent, MaxMonthly: 100 * cent, Rails: []rail.Name{rail.Card}, Payees: []string{shop.ID}, ExpiresAt: now.AddDate(0, 1, 0),
	}
	session := ledger.Session{
		Hash: "hash", MerchantID: shop.ID, Status: ledger.SessionPending, Terms: terms, CreatedAt: now, ExpiresAt: now.Add(time.Hour),
	}
	if err := l.CreateSession(ctx, session); err != nil {
		return err
	}
	m, err := l.CompleteSession(ctx, ledger.Completion{SessionHash: session.Hash, MandateID: "del_1", Terms: terms})
	if err != nil {
		return err
	}
	r, err := l.Reserve(ctx, ledger.Reserve{
		ChargeID: "txn_1", MandateID: m.ID, TokenValid: true, Payee: shop, Amount: 40 * cent, Currency: "usd", Rails: terms.Rails,
		IdempotencyKey: "order-1", Fingerprint: "order-1", Lease: time.Minute,
	})
	if err != nil {
		return err
	}
	// Here a rail moves the money.
	c, err := l.Settle(ctx, r.Charge, ledger.Settlement{Rail: rail.Card, Outcome: rail.Outcome{Status: rail.Succeeded, ProcessorID: "pay_1"}})
	if err != nil {
		return err
	}
	fmt.Printf("%s, %d left\n", c.Status, r.Mandate.Windows[0].Left())

	_, err = l.Reserve(ctx, ledger.Reserve{
		ChargeID: "txn_2", MandateID: m.ID, TokenValid: true, Payee: shop, Amount: 70 * cent, Currency: "usd", Rails: terms.Rails,
		IdempotencyKey: "order-2", Fingerprint: "order-2", Lease: time.Minute,
	})
	var refusal *ledger.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	fmt.Printf("%s: %d left\n", refusal.Code, refusal.Remaining)
	return nil
}
