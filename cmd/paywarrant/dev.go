package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
)

type devCmd struct {
	Addr      string `default:"127.0.0.1:4020" help:"Where the service listens; port 0 takes a free one. Default: ${default}." placeholder:"HOST:PORT"`
	Data      string `help:"Keep the data in this folder. Without it they are gone at the end." placeholder:"DIR" type:"path"`
	Postgres  string `help:"Keep the ledger in this database instead of SQLite; --data then keeps the keys that belong to it." placeholder:"URL"`
	Processor string `help:"Use the sandbox processor at this address instead of one in the process." placeholder:"URL"`
	NoChain   bool   `help:"Leave the development chain out: cards only." xor:"chain"`
	ChainURL  string `help:"Use the development chain of another process, by its JSON-RPC, instead of one in this one; with --data." placeholder:"URL" xor:"chain"`
	Verbose   bool   `help:"Log every request." short:"v"`
}

// Help is the longer text of the command.
func (devCmd) Help() string {
	return `When all is ready, one line of JSON on standard output has the addresses and credentials; logs go to standard error.

Examples:
  paywarrant dev --addr 127.0.0.1:0 > dev.json
  paywarrant dev --data ~/.paywarrant-dev --no-chain`
}

// ready is the line that tells that all is ready. Fields of features that are
// not built are absent.
type ready struct {
	BaseURL    string `json:"baseUrl"`
	MetricsURL string `json:"metricsUrl"`
	people
	Chain   *chainInfo   `json:"chain,omitempty"`
	Wallets []walletInfo `json:"wallets,omitempty"`
	// Facilitator settles x402 payments on the chain.
	Facilitator *facilitatorInfo `json:"facilitator,omitempty"`
	Paywall     struct {
		BaseURL string      `json:"baseUrl"`
		Routes  []demoRoute `json:"routes"`
		Bundle  bundleInfo  `json:"bundle"`
	} `json:"paywall"`
}

// Run runs the development system until ctx is done.
func (c devCmd) Run(ctx context.Context, o output) error {
	level := slog.LevelInfo
	if c.Verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(o.errors, &slog.HandlerOptions{Level: level}))
	s, err := startStack(ctx, stackConfig{Addr: c.Addr, Dir: c.Data, Logger: log, Postgres: c.Postgres, Processor: c.Processor, NoChain: c.NoChain, ChainURL: c.ChainURL})
	if err != nil {
		return err
	}
	if err := s.hear(ctx, log); err != nil {
		return errors.Join(err, s.Close())
	}
	line := ready{BaseURL: s.BaseURL, MetricsURL: s.Metrics, people: s.People}
	if s.Chain != nil {
		line.Chain, line.Wallets = infoOf(s.Chain), wallets()
		line.Facilitator = &facilitatorInfo{URL: s.BaseURL + "/v1/x402"}
	}
	line.Paywall.BaseURL, line.Paywall.Routes, line.Paywall.Bundle = s.API.BaseURL, s.API.Routes, s.API.Bundle
	text, err := json.Marshal(line)
	if err == nil {
		_, err = fmt.Fprintf(o.out, "%s\n", text)
	}
	if err != nil {
		return errors.Join(err, s.Close())
	}
	<-ctx.Done()
	log.Info("stopping")
	return s.Close()
}
