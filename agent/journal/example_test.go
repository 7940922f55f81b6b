package journal_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/agent/journal"
)

// An order is paid once, however often the program is killed and started again.
func ExampleOpenFile() {
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "purchases.journal")

	j, err := journal.OpenFile(path) // or journal.NewSQL, for several processes
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	transport, err := agent.NewTransport(agent.Config{MaxPriceMicros: 20_000, BudgetMicros: 5_000_000, Journal: j})
	if err != nil {
		log.Fatal(err)
	}
	for _, left := range must(transport.Unfinished(context.Background())) {
		fmt.Println("repeat", left.Key)
	}
	ctx := agent.WithPurchaseKey(context.Background(), "order 1")
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example.com/weather", http.NoBody)
	fmt.Println(r.URL, errors.Is(err, agent.ErrPurchased))
	// Output: https://api.example.com/weather false
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
