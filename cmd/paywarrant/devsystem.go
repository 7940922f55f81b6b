package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/server/rail/chain/devrail"
	"github.com/paywarrant/paywarrant/server/vault"
	"github.com/paywarrant/paywarrant/webhook"
)

// devSystemConfig says what a development system is made of.
type devSystemConfig struct {
	Addr string // of the service
	// BaseURL is where clients reach the service. Empty: at Addr.
	BaseURL string
	// APIAddr is where the demo API listens. Empty: on a free port of 127.0.0.1.
	APIAddr string
	// Events gets the events of the merchant, besides the log. May be nil.
	Events func(webhook.Event)
	// Dir keeps the data. Empty: a temporary folder, removed at the end.
	Dir    string
	Logger *slog.Logger
	// Postgres is the URL of the database. Empty: an SQLite file.
	Postgres string
	// Processor is the address of a sandbox processor. Empty: one in the process.
	Processor string
	// NoChain leaves the chain out: cards only.
	NoChain bool
	// ChainURL is a development chain in another process. Empty: one in this one.
	ChainURL string
	// Listening is called once the ports are taken. May be nil.
	Listening func() error
	// Upstreams are other catalogs, whose entries the market lists.
	Upstreams []upstreamConfig
}

// devSystem is the service in sandbox mode and a merchant's API, each on a listener
// of its own, as in life.
type devSystem struct {
	Service *server.Server
	BaseURL string
	Metrics string // their address
	Dir     string // of the data
	API     *demoAPI
	People  people
	Chain   *devrail.Dev // nil: there is none

	mailbox mailbox
	direct  bool // clients reach BaseURL without a proxy in between
	events  func(webhook.Event)
	closers []func() error
}

// people are the merchants of a development system.
type people struct {
	Merchant person `json:"merchant"`
	Other    person `json:"otherMerchant"`
}

type person struct {
	ID     string `json:"id"`
	APIKey string `json:"apiKey"`
	// WebhookSecret signs the events for the merchant's API, which logs them.
	WebhookSecret string `json:"webhookSecret,omitempty"`
	PayTo         string `json:"payTo"`
	// PayToKey is the key of that wallet of the development chain. Everyone may know it.
	PayToKey string `json:"payToKey,omitempty"`
}

// startDevSystem starts everything; what it started is stopped again where it fails.
func startDevSystem(ctx context.Context, cfg devSystemConfig) (s *devSystem, err error) {
	s = &devSystem{events: cfg.Events}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if cfg.Dir == "" {
		if cfg.Dir, err = os.MkdirTemp("", "paywarrant-"); err != nil {
			return s, err
		}
		s.closers = append(s.closers, func() error { return os.RemoveAll(cfg.Dir) })
	} else if err = os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return s, err
	}
	s.Dir = cfg.Dir
	if cfg.Postgres == "" { // a database may be shared, and its keys with it
		unlock, err := lockFolder(cfg.Dir)
		if err != nil {
			return s, err
		}
		s.closers = append(s.closers, unlock)
		if unlock, err = lockSQLite(filepath.Join(cfg.Dir, "pay.db")); err != nil {
			return s, err
		}
		s.closers = append(s.closers, unlock)
	}
	l, err := listen(ctx, "--api-addr", cmp.Or(cfg.APIAddr, "127.0.0.1:0"))
	if err != nil {
		return s, err
	}
	s.API = newDemoAPI(l)
	if err := s.startService(ctx, cfg); err != nil {
		return s, errors.Join(err, l.stop())
	}
	if s.People, err = hire(ctx, s.Service, filepath.Join(cfg.Dir, "merchants.json")); err == nil {
		err = s.API.start(s.BaseURL, s.People.Merchant, s.http(), cfg.Logger)
	}
	if err != nil {
		return s, errors.Join(err, l.stop())
	}
	s.closers = append(s.closers, s.API.stop)
	return s, nil
}

func (s *devSystem) startService(ctx context.Context, cfg devSystemConfig) error {
	l, err := listen(ctx, "--addr", cfg.Addr)
	if err != nil {
		return err
	}
	if cfg.Listening != nil {
		if err := cfg.Listening(); err != nil {
			return errors.Join(err, l.stop())
		}
	}
	s.BaseURL = cmp.Or(cfg.BaseURL, l.origin())
	s.direct = s.BaseURL == l.origin()
	m, err := startMeter(ctx, "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, l.stop())
	}
	s.closers = append(s.closers, m.stop)
	s.Metrics = m.url()
	clock := &devrail.Clock{}
	s.API.clock = clock.Now
	extra := extras{clock: clock.Now, advanceClock: clock.Advance, metrics: m.metrics, links: s.links()}
	if s.local() { // the mailbox shows private links
		extra.mailer, extra.mailbox, extra.signUp = &s.mailbox, s.mailbox.messages, true
	}
	if !cfg.NoChain {
		extra.chain = func(ctx context.Context, open records, v *vault.Vault, log *slog.Logger) (*chain.Rail, error) {
			dev, err := devrail.Start(ctx, devrail.Config{Vault: v, Logger: log, URL: cfg.ChainURL, Records: open})
			if err != nil {
				return nil, err
			}
			s.closers = append(s.closers, dev.Close)
			s.Chain, clock.Chain = dev, dev
			return dev.Rail, nil
		}
	}
	s.Service, err = newService(ctx, config{
		Mode: string(server.Sandbox), BaseURL: s.BaseURL, Store: cmp.Or(cfg.Postgres, filepath.Join(cfg.Dir, "pay.db")),
		KeyFile: filepath.Join(cfg.Dir, "key-encryption-key"), RequestsPerSecond: 1000, // ten times the default
		SandboxCard: cardsConfig{ProcessorURL: cfg.Processor}, Upstreams: cfg.Upstreams,
	}, cfg.Logger, extra)
	if err == nil {
		s.closers = append(s.closers, s.Service.Close)
		err = s.Service.Start(ctx)
	}
	if err != nil {
		return errors.Join(err, l.stop())
	}
	l.serve(s.Service, "", "")
	s.closers = append(s.closers, l.stop)
	return nil
}

// Close stops everything in the opposite order of its start.
func (s *devSystem) Close() error {
	var err error
	for i := len(s.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, s.closers[i]())
	}
	s.closers = nil
	return err
}

// hire makes the two merchants, or finds those of an earlier run.
func hire(ctx context.Context, srv *server.Server, file string) (people, error) {
	var p people
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	p.Merchant.PayToKey, p.Other.PayToKey = devchain.Payee(0).PrivateKey(), devchain.Payee(1).PrivateKey()
	if !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	for i, m := range []struct {
		to   *person
		name string
	}{{&p.Merchant, "Weather & Co"}, {&p.Other, "Other Shop"}} {
		m.to.PayTo = devchain.Payee(i).Address.Hex()
		created, err := srv.CreateMerchant(ctx, server.MerchantParams{Name: m.name, Website: "https://example.com", PayTo: m.to.PayTo})
		if err != nil {
			return p, err
		}
		m.to.ID, m.to.APIKey = created.ID, created.APIKey
	}
	if text, err = json.Marshal(p); err != nil {
		return p, fmt.Errorf("encode merchants: %w", err)
	}
	return p, os.WriteFile(file, text, 0o600)
}
