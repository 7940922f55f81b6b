package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
)

type devCmd struct {
	Addr      string   `default:"127.0.0.1:4020" help:"Address on which the service listens; port 0 takes a free one. Default: ${default}." placeholder:"HOST:PORT"`
	BaseURL   string   `help:"URL at which clients reach the service. Required if --addr names no single address, such as 0.0.0.0:4020." name:"base-url" placeholder:"URL"`
	APIAddr   string   `default:"127.0.0.1:0" help:"Address on which the demo API listens. Default: ${default}." name:"api-addr" placeholder:"HOST:PORT"`
	Env       string   `help:"File to source in a shell, with addresses, credentials and a mandate. It is written once everything is ready, and removed at exit. A file that dev did not write is not replaced." placeholder:"FILE" type:"path"`
	Data      string   `help:"Folder for the data. Default: a temporary folder that is removed at exit." placeholder:"DIR" type:"path"`
	Postgres  string   `help:"PostgreSQL database to use instead of SQLite; --data then stores only the keys." placeholder:"URL"`
	Processor string   `help:"Address of a sandbox card processor to use, instead of one in this process." placeholder:"URL"`
	NoChain   bool     `help:"Start no development chain: cards only." xor:"chain"`
	ChainURL  string   `help:"JSON-RPC URL of a development chain in another process, instead of one in this process. Requires --data." placeholder:"URL" xor:"chain"`
	Upstream  []string `help:"Another catalog of paid endpoints whose entries the market lists, as KIND=URL; KIND is x402 or mpp. May be repeated." placeholder:"KIND=URL" sep:"none"`
	JSON      bool     `help:"Print one line of JSON instead of the screen, as without a terminal." name:"json"`
	Verbose   bool     `help:"Log every request." short:"v"`
}

// Help is the longer text of the command.
func (devCmd) Help() string {
	return `On a terminal it prints links, credentials and commands to try. Otherwise, one line of JSON on standard output has all addresses and credentials once everything is ready; logs go to standard error.

Examples:
  paywarrant dev
  paywarrant dev --env dev.env        then, in another terminal: . ./dev.env
  paywarrant dev --addr 127.0.0.1:0 > dev.json
  paywarrant dev --data ~/.paywarrant-dev --no-chain
  paywarrant dev --addr 0.0.0.0:4020 --base-url http://127.0.0.1:4020    in a container that publishes the port

With --addr 0.0.0.0 everybody who reaches the port can use the sandbox, its test helpers and its mailbox included.`
}

// ready describes the running system. Fields of features that are not built are absent.
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
	baseURL, err := c.checkAddr()
	if err != nil {
		return err
	}
	env := &envFile{path: c.Env}
	if err := env.check(); err != nil {
		return err
	}
	person := !c.JSON && isTerminal(o.out)
	log := c.logger(person, o)
	cfg := devSystemConfig{
		Addr: c.Addr, BaseURL: baseURL, APIAddr: c.APIAddr, Dir: c.Data, Logger: log, Postgres: c.Postgres, Processor: c.Processor,
		NoChain: c.NoChain, ChainURL: c.ChainURL, Upstreams: c.upstreams(),
		Listening: env.clear,
	}
	if err := server.CheckUpstreams(config{Upstreams: cfg.Upstreams}.upstreams()); err != nil {
		return usage("--upstream: %w", err)
	}
	if person {
		cfg.Events = (&eventPrinter{out: o.out}).print
	}
	s, err := startDevSystem(ctx, cfg)
	if err != nil {
		return err
	}
	if err = c.show(ctx, s, env, o, person, log); err == nil {
		<-ctx.Done()
		log.Info("stopping")
	}
	return errors.Join(err, env.remove(), s.Close())
}

// upstreams returns the catalogs of the flags, named by their order.
func (c devCmd) upstreams() []upstreamConfig {
	var all []upstreamConfig
	for i, text := range c.Upstream {
		kind, address, _ := strings.Cut(text, "=")
		all = append(all, upstreamConfig{Name: kind + "-" + strconv.Itoa(i+1), Kind: kind, URL: address})
	}
	return all
}

// show makes a mandate for whom it shows one, and prints and writes what runs.
func (c devCmd) show(ctx context.Context, s *devSystem, env *envFile, o output, person bool, log *slog.Logger) (err error) {
	var mandate client.Session
	var token string
	if person || c.Env != "" {
		mandate, token, err = s.ownMandate(ctx)
	}
	if err == nil {
		err = s.subscribe(ctx, log)
	}
	if err == nil && c.Env != "" {
		err = env.write(s.variables(mandate.Mandate, token))
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(s.ready())
	if err != nil {
		return err
	}
	if person {
		return s.showScreen(o.out, text, mandate, token)
	}
	_, err = fmt.Fprintf(o.out, "%s\n", text)
	return err
}

// logger returns the logger of the system. A person sees warnings, and requests only
// with --verbose; events are on the screen.
func (c devCmd) logger(person bool, o output) *slog.Logger {
	level := slog.LevelInfo
	switch {
	case c.Verbose:
		level = slog.LevelDebug
	case person && isTerminal(o.errors):
		level = slog.LevelWarn
	}
	return slog.New(slog.NewTextHandler(o.errors, &slog.HandlerOptions{Level: level}))
}

// checkAddr returns the base URL, checked; empty if it is the address itself.
func (c devCmd) checkAddr() (string, error) {
	if c.BaseURL != "" {
		if err := server.CheckBaseURL(c.BaseURL); err != nil {
			return "", usage("--base-url: %w", err)
		}
		return strings.TrimRight(c.BaseURL, "/"), nil
	}
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return "", usage("--addr: %q is not HOST:PORT, such as 127.0.0.1:4020", c.Addr)
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		return "", usage("--addr %s listens on every address: give --base-url too, the URL that clients use, such as http://127.0.0.1:4020", c.Addr)
	}
	return "", nil
}

func (s *devSystem) ready() ready {
	r := ready{BaseURL: s.BaseURL, MetricsURL: s.Metrics, people: s.People}
	if s.Chain != nil {
		r.Chain, r.Wallets = infoOf(s.Chain), wallets()
		r.Facilitator = &facilitatorInfo{URL: s.BaseURL + "/v1/x402"}
	}
	r.Paywall.BaseURL, r.Paywall.Routes, r.Paywall.Bundle = s.API.BaseURL, s.API.Routes, s.API.Bundle
	return r
}
