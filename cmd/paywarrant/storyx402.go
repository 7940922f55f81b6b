package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail/chain/devrail"
)

// The chapters about payments that a wallet signs itself.

// payFromWallet: the same endpoint, paid by each protocol from a wallet, settled by
// the service as facilitator.
func (d *story) payFromWallet(ctx context.Context) error {
	for _, by := range []struct {
		way  agent.Method
		name string
	}{{agent.X402V1, "x402 v1"}, {agent.X402, "x402 v2"}, {agent.MPP, "the Payment scheme (MPP)"}} {
		pays, err := agent.NewTransport(agent.Config{
			MaxPriceMicros: 20_000, Wallet: devrail.Wallet(devchain.Wallets()[0]), Methods: []agent.Method{by.way},
		})
		if err != nil {
			return err
		}
		if err := d.buyWeather(ctx, pays, by.name); err != nil {
			return fmt.Errorf("pay by %s: %w", by.name, err)
		}
	}
	return nil
}

func (d *story) buyWeather(ctx context.Context, pays http.RoundTripper, name string) error {
	url := d.system.API.BaseURL + "/weather"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: pays}).Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	receipt, ok := agent.ReceiptFrom(resp)
	if resp.StatusCode != http.StatusOK || !ok {
		return fmt.Errorf("the paywall answered %s: %s", resp.Status, body)
	}
	block, err := d.system.Chain.BlockOf(ctx, receipt.Transaction)
	if err != nil {
		return err
	}
	d.announce("A wallet signs a payment of $0.01 by "+name+"; the service settles it, and pays the gas",
		fact{"GET", url}, fact{"content", strings.TrimSpace(string(body))}, fact{"transaction", receipt.Transaction},
		fact{"block", block.String()})
	return nil
}
