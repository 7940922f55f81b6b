package bundle_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/paywall/bundle"
)

func ExampleNew() {
	key, err := bundle.HS256("2026-11", []byte("from the environment, 32 bytes or more"))
	if err != nil {
		fmt.Println(err)
		return
	}
	shop, err := bundle.New(bundle.Config{
		Issuer: "https://api.example.com", Keys: []bundle.Key{key},
		Tiers:       []paywall.Tier{{Name: "small", USDCents: 500, Requests: 1000}},
		PurchaseURL: "https://api.example.com/bundles", BalanceURL: "https://api.example.com/bundles/balance",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	offered := shop.CreditBundle() // of paywall.Config
	fmt.Println(offered.Tiers[0].Name, key)
	// Output: small bundle.Key{HS256 2026-11}
}

// An order, its bundle, and the requests that the bundle pays for.
func ExampleShop_Purchase() {
	key, err := bundle.HS256("2026-11", []byte("from the environment, 32 bytes or more"))
	if err != nil {
		fmt.Println(err)
		return
	}
	shop, err := bundle.New(bundle.Config{
		Issuer: "https://api.example.com", Keys: []bundle.Key{key},
		Tiers:       []paywall.Tier{{Name: "small", USDCents: 500, Requests: 2}},
		PurchaseURL: "https://api.example.com/bundles", BalanceURL: "https://api.example.com/bundles/balance",
		Sell: func(_ context.Context, o bundle.Order) (bundle.Sale, error) {
			return bundle.Sale{Paid: true, TenantID: "acme"}, nil // or bundle.ByCheckout(client)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	order := httptest.NewRequest(http.MethodPost, "/bundles", strings.NewReader(`{"tier":"small"}`))
	order.Header.Set("Idempotency-Key", "a random key of the order")
	sold := httptest.NewRecorder()
	shop.Purchase().ServeHTTP(sold, order)
	var bought struct{ BundleToken string }
	if err := json.Unmarshal(sold.Body.Bytes(), &bought); err != nil {
		fmt.Println(err)
		return
	}
	for range 3 { // as a gate does for each request
		r, err := shop.ValidateAndDeduct(context.Background(), bought.BundleToken)
		fmt.Println(r.Valid, r.CreditsRemaining, r.TenantID, err)
	}
	// Output:
	// true 1 acme <nil>
	// true 0 acme <nil>
	// false 0 acme <nil>
}
