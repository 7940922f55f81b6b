package paywall_test

import (
	"context"

	"github.com/paywarrant/paywarrant/paywall"
)

func bundle(deduct func(context.Context, string) (paywall.BundleResult, error)) *paywall.CreditBundle {
	if deduct == nil {
		deduct = func(context.Context, string) (paywall.BundleResult, error) { return paywall.BundleResult{}, nil }
	}
	return &paywall.CreditBundle{
		Tiers:       []paywall.Tier{{Name: "Small", USDCents: 500, Requests: 1000}},
		PurchaseURL: "https://api.example.com/buy", BalanceURL: "https://api.example.com/balance", ValidateAndDeduct: deduct,
	}
}
