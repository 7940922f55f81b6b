package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "server-")
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
	srv, err := server.New(ctx, server.Config{
		BaseURL: "https://pay.example", Mode: server.Sandbox, Store: store, Rails: []rail.Rail{card.Sandbox(store)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close() // closes rails and store as well
	if err := srv.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	shop, err := srv.CreateMerchant(ctx, server.MerchantParams{Name: "Shop"})
	if err != nil {
		fmt.Println(err)
		return
	}

	// srv is an http.Handler: http.ListenAndServe(":8080", srv)
	balance := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/merchants/stats", http.NoBody)
	balance.Header.Set("X-Service-Merchant-Id", shop.ID)
	balance.Header.Set("X-Service-Api-Key", shop.APIKey)
	answer := httptest.NewRecorder()
	srv.ServeHTTP(answer, balance)
	fmt.Println(answer.Code)
	// Output: 200
}
