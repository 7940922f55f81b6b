package postgres_test

import (
	"context"
	"fmt"

	"github.com/paywarrant/paywarrant/server/store/postgres"
)

func ExampleOpen() {
	ctx := context.Background()
	store, err := postgres.Open(ctx, "postgres://pay@db.example/pay?sslmode=verify-full")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close() // server.Config{Store: store} closes it with the server
}

func ExampleOpenConfig() {
	_, err := postgres.OpenConfig(context.Background(), postgres.Config{SkipMigrations: true})
	fmt.Println(err)
	// Output: postgres: URL is required
}
