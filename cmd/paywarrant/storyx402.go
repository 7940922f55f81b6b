package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// The chapters about payments that a wallet signs itself.

// devWallet is a funded wallet of the development chain, in an agent's hands.
type devWallet struct{ devchain.Wallet }

// Address implements [agent.Wallet].
func (w devWallet) Address() string { return w.Wallet.Address.Hex() }

// Asset implements [agent.Wallet].
func (devWallet) Asset(chainID int64) (x402.Asset, bool) { return x402.USDC(chainID) }

// SignTransfer implements [agent.Wallet]. An error where the authorization is malformed.
func (w devWallet) SignTransfer(_ context.Context, chainID int64, asset x402.Asset, a x402.Authorization) (string, error) {
	t, err := evm.ParseAuthorization(a)
	if err != nil {
		return "", err
	}
	domain := evm.Domain{
		Name: asset.Name, Version: asset.Version, ChainID: uint64(chainID), //nolint:gosec // ids of chains are positive
		Contract: common.HexToAddress(asset.Address),
	}
	signature, err := evm.Sign(evm.Digest(domain.Separator(), t), w.Key())
	return "0x" + hex.EncodeToString(signature), err
}

// payFromWallet: the same endpoint, paid by each protocol from a wallet, settled by
// the service as facilitator.
func (d *story) payFromWallet(ctx context.Context) error {
	for _, by := range []struct {
		way  agent.Way
		name string
	}{{agent.X402V1, "x402 v1"}, {agent.X402, "x402 v2"}, {agent.MPP, "the Payment scheme (MPP)"}} {
		pays := agent.NewTransport(agent.Config{
			MaxPriceMicros: 20_000, Wallet: devWallet{devchain.Wallets()[0]}, Ways: []agent.Way{by.way},
		})
		if err := d.buyWeather(ctx, pays, by.name); err != nil {
			return fmt.Errorf("pay by %s: %w", by.name, err)
		}
	}
	return nil
}

func (d *story) buyWeather(ctx context.Context, pays http.RoundTripper, name string) error {
	url := d.stack.API.BaseURL + "/weather"
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
	mined, err := d.stack.Chain.Client().TransactionReceipt(ctx, common.HexToHash(receipt.Transaction))
	if err != nil {
		return err
	}
	if mined.Status != 1 {
		return errors.New("the transaction failed")
	}
	d.tell("A wallet signs a payment of $0.01 by "+name+"; the service settles it, and pays the gas",
		fact{"GET", url}, fact{"content", strings.TrimSpace(string(body))}, fact{"transaction", receipt.Transaction},
		fact{"block", mined.BlockNumber.String()})
	return nil
}
