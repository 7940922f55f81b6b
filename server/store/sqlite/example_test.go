package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "sqlite-")
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
	defer store.Close() // server.Config{Store: store} closes it with the server

	report, err := ledger.Check(ctx, store)
	fmt.Println(report.Charges, report.Faults, err)
	// Output: 0 [] <nil>
}
