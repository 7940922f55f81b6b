package main

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strings"

	"github.com/paywarrant/paywarrant/conformance"
	"github.com/paywarrant/paywarrant/conformance/onchain"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/loopback"
	"github.com/paywarrant/paywarrant/x402/evm"
)

type conformCmd struct {
	Facilitator conformFacilitatorCmd `cmd:"" help:"Judge an x402 facilitator by eight rules, on a test chain."`
}

type conformFacilitatorCmd struct {
	URL    string `arg:"" default:"http://127.0.0.1:4020/v1/x402" help:"The facilitator's base address, to which /verify and /settle are appended. Default: ${default}, that of the sandbox."`
	Wallet string `help:"File with the private key of a wallet with test USDC on Base Sepolia, in hexadecimal; - reads standard input. Or set SERVICE_WALLET_KEY to the key. Default: a wallet of the development chain, for a facilitator on a loopback address." placeholder:"FILE|-"`
	RPC    string `help:"JSON-RPC address of the chain, to compare what the facilitator says with what happened. The wallet then also needs test ether. Default: that is not checked." env:"SERVICE_RPC_URL" name:"rpc" placeholder:"URL"`
	reportFlags
}

// Help is the longer text of the command.
func (conformFacilitatorCmd) Help() string {
	return "Settles about a dozen payments of a cent of test USDC to random accounts, and sends payments that must be refused: forged, late, unfunded, repeated, lifted from the chain. " +
		"Then it floods the facilitator with unsigned payments until they are limited. docs/reference/rules.md lists the rules.\n\n" +
		"Exit codes: 0 no rule failed, 1 a rule failed, 2 usage, 4 unreachable.\n\n" +
		"Example:\n  paywarrant dev --json > dev.json &\n  paywarrant conform facilitator --rpc $(jq -r .chain.rpcUrl dev.json)"
}

// Run judges the facilitator and prints the results.
func (c conformFacilitatorCmd) Run(ctx context.Context, o output) error {
	if err := c.check(); err != nil {
		return err
	}
	text, err := c.key()
	if err != nil {
		return err
	}
	key, err := evm.ParseKey(text)
	if err != nil {
		return usage("the wallet's key: %w", err)
	}
	cfg := conformance.FacilitatorConfig{URL: c.URL}
	if cfg.Wallet, err = evm.NewWallet(evm.WalletConfig{Key: key}); err != nil {
		return err
	}
	if c.RPC != "" {
		chain, err := onchain.New(ctx, c.RPC, key)
		if err != nil {
			return usage("--rpc: %w", err)
		}
		defer chain.Close()
		cfg.Chain = chain
	}
	report, err := conformance.Facilitator(ctx, cfg)
	if err != nil {
		return notJudged(err)
	}
	return c.write(o, "paywarrant conform facilitator "+report.URL, report)
}

// key returns the key of the wallet that pays.
func (c conformFacilitatorCmd) key() (string, error) {
	text := os.Getenv(walletKey)
	if c.Wallet != "" {
		var err error
		if text, err = keyText(c.Wallet); err != nil {
			return "", usage("--wallet: %w", err)
		}
	}
	if text = strings.TrimSpace(text); text != "" {
		return text, nil
	}
	if u, err := url.Parse(c.URL); err == nil && loopback.Host(u.Hostname()) {
		return devchain.Wallets()[len(devchain.Wallets())-1].PrivateKey(), nil
	}
	return "", usage("give --wallet FILE or set %s", walletKey)
}

// notJudged returns the error of a command that could not judge anything.
func notJudged(err error) error {
	var sent *url.Error
	switch {
	case unreachable(err):
		return &exitError{code: exitUnreachable, err: errors.New(printable(err.Error()))}
	case errors.As(err, &sent), errors.Is(err, context.Canceled):
		return errors.New(printable(err.Error()))
	}
	return &exitError{code: exitUsage, err: err}
}
