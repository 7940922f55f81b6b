package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/server/telemetry"
	"github.com/paywarrant/paywarrant/server/vault"
)

type serveCmd struct {
	Config configFile `required:"" help:"The configuration file, in TOML; docs/reference/operations.md describes it." placeholder:"FILE" type:"existingfile"`
}

// Run serves until ctx is done, or the listener fails.
func (c serveCmd) Run(ctx context.Context, o output) (failed error) {
	cfg, err := c.Config.read()
	if err != nil {
		return err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.LogLevel)); err != nil {
		return fmt.Errorf("log_level: %w", err)
	}
	log := slog.New(slog.NewJSONHandler(o.errors, &slog.HandlerOptions{Level: level}))
	if err := privateIfThere(cfg.KeyFile); err != nil {
		return fmt.Errorf("%s: key_file: %w", c.Config, err)
	}
	if cfg.Stripe != nil { // before anything is made
		if _, err := cfg.Stripe.open(cfg.live(), log); err != nil {
			return fmt.Errorf("%s: %w", c.Config, err)
		}
	}
	var more extras
	if cfg.Chain != nil {
		there, err := cfg.Chain.reach(ctx, cfg.live())
		if err != nil {
			return fmt.Errorf("%s: %w", c.Config, err)
		}
		defer there.node.Close()
		more.chain = there.rail
	}
	if cfg.Metrics != nil {
		m, err := startMeter(ctx, cfg.Metrics.Listen)
		if err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, m.stop()) }()
		more.metrics = m.metrics
		log.Info("serving metrics", slog.String("url", m.url()))
	}
	l, err := listen(ctx, "listen", cfg.Listen)
	if err != nil {
		return err
	}
	unlock, err := cfg.reserveStore(log)
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", c.Config, err), l.stop())
	}
	defer func() { failed = errors.Join(failed, unlock()) }()
	srv, err := newService(ctx, cfg, log, more)
	if err != nil {
		return errors.Join(err, l.stop())
	}
	if err := srv.Start(ctx); err != nil {
		return errors.Join(startError(c.Config, err), l.stop(), srv.Close())
	}
	l.serve(srv, cfg.TLS.Cert, cfg.TLS.Key)
	log.Info("serving", slog.String("address", l.Addr().String()), slog.String("baseUrl", cfg.BaseURL), slog.String("mode", cfg.Mode))
	select {
	case <-ctx.Done():
		log.Info("stopping")
		srv.Drain()
		l.lameDuck(cfg.LameDuck)
	case err := <-l.done:
		l.done <- err // for stop
	}
	return errors.Join(l.stop(), srv.Close())
}

// reserveStore keeps other services from an SQLite file, and logs the path of one that is
// new: a relative path in another folder would be a service without its mandates.
func (c config) reserveStore(log *slog.Logger) (unlock func() error, err error) {
	if onPostgres(c.Store) {
		return func() error { return nil }, nil
	}
	if _, err := os.Stat(c.Store); errors.Is(err, fs.ErrNotExist) {
		path, err := filepath.Abs(c.Store)
		if err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
		log.Warn("there is no store; creating an empty one", slog.String("path", path))
	}
	return lockSQLite(c.Store)
}

// lockSQLite keeps a second service from using an SQLite file, under any of its names.
func lockSQLite(path string) (unlock func() error, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if linked, err := filepath.EvalSymlinks(path); err == nil {
		path = linked
	}
	return lockStore(path)
}

// startError names the key where the chain's records are not for this configuration.
func startError(file configFile, err error) error {
	var contradicted *chain.ConfigError
	if errors.As(err, &contradicted) {
		return fmt.Errorf("%s: %w", file, inFile(err))
	}
	return err
}

// extras are what a service has beyond what is in its configuration.
type extras struct {
	clock        func() time.Time    // nil: the default
	advanceClock func(time.Duration) // moves clock
	chain        chainMaker          // nil: there is no chain
	// metrics records metrics. Default: none.
	metrics telemetry.Metrics
	// links are shown on the page at "/".
	links []server.Link
	// signUp lets merchants create accounts. Default: as the configuration says.
	signUp bool
	// mailer sends mail. Default: as the configuration says.
	mailer server.Mailer
	// mailbox returns the messages that a page shows. Default: there is none.
	mailbox func() []server.Message
}

// newService opens what the configuration names and puts the service together;
// what it opened is closed again where it fails.
func newService(ctx context.Context, cfg config, log *slog.Logger, more extras) (*server.Server, error) {
	store, err := openStore(ctx, cfg.Store, true)
	if err != nil {
		return nil, err
	}
	wrapper, err := openKeyFile(ctx, cfg.KeyFile, store)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	proxies, err := cfg.proxies()
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	if cfg.Mail != nil {
		if more.mailer, err = cfg.Mail.open(); err != nil {
			return nil, errors.Join(err, store.Close())
		}
	}
	rails, err := openRails(ctx, cfg, store, vault.New(wrapper), log, more)
	if err == nil {
		var srv *server.Server
		srv, err = server.New(ctx, server.Config{
			BaseURL: cfg.BaseURL, Mode: server.Mode(cfg.Mode), Store: store, Moved: cfg.Moved, Rails: rails, Wrapper: wrapper, Clock: more.clock, AdvanceClock: more.advanceClock,
			Logger: log, RequestsPerSecond: cfg.RequestsPerSecond, AnonymousPerSecond: cfg.AnonymousPerSecond,
			TabCents: cfg.TabCents, MaxTabAdvanceCents: cfg.MaxTabAdvanceCents, Upstreams: cfg.upstreams(),
			TrustedProxies: proxies, TestHelperKey: cfg.TestHelperKey, Metrics: more.metrics,
			MerchantSignUp: cfg.Merchants.SignUp || more.signUp, Links: more.links, Mailer: more.mailer, Mailbox: more.mailbox, ReconcileEvery: cfg.reconcileEvery(),
		})
		if err == nil {
			return srv, nil
		}
	}
	if errors.Is(err, vault.ErrSealed) {
		err = fmt.Errorf("key_file: %s does not hold the key that sealed the secrets of this store: %w", cfg.KeyFile, err)
	}
	for _, r := range rails {
		if c, ok := r.(io.Closer); ok {
			err = errors.Join(err, c.Close())
		}
	}
	return nil, errors.Join(err, store.Close())
}

// openRails opens the rails: cards over Stripe or, in the sandbox, simulated ones; and the
// chain. Those that it returns beside an error are open.
func openRails(ctx context.Context, cfg config, beside database, v *vault.Vault, log *slog.Logger, more extras) (rails []rail.Rail, err error) {
	if cfg.Stripe != nil {
		cards, err := cfg.Stripe.open(cfg.live(), log)
		if err != nil {
			return nil, err
		}
		rails = append(rails, cards)
	} else if !cfg.live() {
		fiat, err := cardRail(cfg.SandboxCard, beside, log)
		if err != nil {
			return nil, err
		}
		rails = append(rails, fiat)
	}
	if more.chain == nil {
		return rails, nil
	}
	open := func(ctx context.Context) (chain.Store, error) { return openRecords(ctx, cfg.Store, beside, true) }
	crypto, err := more.chain(ctx, open, v, log)
	if err != nil {
		return rails, err
	}
	return append(rails, crypto), nil
}

// cardRail is the sandbox card rail: its processor in the process, or elsewhere.
func cardRail(cfg cardsConfig, beside card.SidecarStore, log *slog.Logger) (*card.Rail, error) {
	if cfg.ProcessorURL == "" {
		return card.Sandbox(beside), nil
	}
	gateway, err := card.NewHTTP(card.HTTPConfig{BaseURL: cfg.ProcessorURL, Key: card.Key(cfg.ProcessorKey)})
	if err != nil {
		return nil, err
	}
	return card.New(card.Config{Gateway: gateway, Logger: log})
}
