package bundle_test

import (
	"fmt"

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
