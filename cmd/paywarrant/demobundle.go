package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/paywall/bundle"
)

// bundlesPath is where the demo API sells bundles.
const bundlesPath = "/bundles"

// bundleInfo is the part of the ready line about bundles.
type bundleInfo struct {
	PurchaseURL string `json:"purchaseUrl"`
	BalanceURL  string `json:"balanceUrl"`
}

// newDemoShop sells requests of the demo API in advance, for a mandate or on a page of the service. Bundles
// are gone with the process.
func newDemoShop(baseURL, serviceURL string, m person, hc *http.Client, clock func() time.Time, log *slog.Logger) (*bundle.Shop, error) {
	c, err := client.New(client.Config{BaseURL: serviceURL, MerchantID: m.ID, APIKey: m.APIKey, HTTPClient: hc, Logger: log})
	if err != nil {
		return nil, err
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	key, err := bundle.HS256("demo", secret)
	if err != nil {
		return nil, err
	}
	return bundle.New(bundle.Config{
		Issuer: baseURL, Keys: []bundle.Key{key}, Logger: log, Clock: clock, Sell: bundle.ByCheckout(c),
		Tiers:       []paywall.Tier{{Name: "small", USDCents: 100, Requests: 100}, {Name: "large", USDCents: 500, Requests: 1000}},
		PurchaseURL: baseURL + bundlesPath, BalanceURL: baseURL + bundlesPath + "/balance",
	})
}

// payByBundle: requests bought in advance, and one of them used.
func (d *story) payByBundle(ctx context.Context) error {
	order, err := json.Marshal(map[string]string{"tier": "small", "mandate": d.token})
	if err != nil {
		return err
	}
	buyer, err := agent.New(agent.Config{MaxPriceMicros: 1, AllowPrivate: true})
	if err != nil {
		return err
	}
	defer buyer.CloseIdleConnections()
	sold, err := buyer.Fetch(ctx, agent.FetchParams{URL: d.system.API.Bundle.PurchaseURL, Body: order})
	if err != nil {
		return err
	}
	var bought struct {
		BundleToken      string `json:"bundleToken"`
		CreditsRemaining int64  `json:"creditsRemaining"`
	}
	if err := json.Unmarshal(sold.Content, &bought); err != nil || sold.Status != http.StatusCreated {
		return fmt.Errorf("the shop answered %d: %s", sold.Status, sold.Content)
	}
	d.announce("The agent buys 100 requests in advance, for $1.00 of the mandate",
		fact{"POST", d.system.API.Bundle.PurchaseURL}, fact{"credits", fmt.Sprint(bought.CreditsRemaining)},
		fact{"token", short(bought.BundleToken, 48)})

	holder, err := agent.New(agent.Config{
		MaxPriceMicros: 1, BundleTokens: map[string]string{d.system.API.BaseURL: bought.BundleToken}, AllowPrivate: true,
	})
	if err != nil {
		return err
	}
	defer holder.CloseIdleConnections()
	got, err := holder.Fetch(ctx, agent.FetchParams{URL: d.system.API.BaseURL + "/weather"})
	if err != nil {
		return err
	}
	if got.Status != http.StatusOK || got.Receipt == nil || got.Receipt.CreditsRemaining != bought.CreditsRemaining-1 {
		return fmt.Errorf("the paywall answered %d to the bundle: %s", got.Status, got.Content)
	}
	d.announce("With the bundle's token it asks for the weather: one credit, no payment",
		fact{"content", strings.TrimSpace(string(got.Content))}, fact{"credits left", fmt.Sprint(got.Receipt.CreditsRemaining)})
	return nil
}
