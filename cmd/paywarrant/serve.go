package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/vault"
)

type serveCmd struct {
	Config configFile `required:"" help:"The configuration file, in TOML; docs/operations.md describes it." placeholder:"FILE" type:"existingfile"`
}

// Run serves until ctx is done, or the listener fails.
func (c serveCmd) Run(ctx context.Context, o output) error {
	cfg, err := c.Config.read()
	if err != nil {
		return err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.LogLevel)); err != nil {
		return fmt.Errorf("%s: log_level must be debug, info, warn or error", c.Config)
	}
	log := slog.New(slog.NewJSONHandler(o.errors, &slog.HandlerOptions{Level: level}))
	l, err := listen(ctx, cfg.Listen)
	if err != nil {
		return err
	}
	srv, err := newService(ctx, cfg, log, extras{})
	if err != nil {
		return errors.Join(err, l.stop())
	}
	if err := srv.Start(ctx); err != nil {
		return errors.Join(err, l.stop(), srv.Close())
	}
	l.serve(srv, cfg.TLS.Cert, cfg.TLS.Key)
	log.Info("serving", slog.String("address", l.Addr().String()), slog.String("baseUrl", cfg.BaseURL), slog.String("mode", cfg.Mode))
	select {
	case <-ctx.Done():
		log.Info("stopping")
	case err = <-l.done:
		l.done <- err // for stop
	}
	return errors.Join(l.stop(), srv.Close())
}

// extras are what a development system adds to a configuration.
type extras struct {
	clock server.Clock // nil: the default
	rails []rail.Rail  // besides the card
}

// newService opens what the configuration names and puts the service together;
// what it opened is closed again where it fails.
func newService(ctx context.Context, cfg config, log *slog.Logger, more extras) (*server.Server, error) {
	if cfg.Mode == string(server.Live) {
		return nil, errors.New("mode live: no rail for real money is built yet; use mode sandbox")
	}
	wrapper, err := vault.KeyFile(cfg.KeyFile)
	if err != nil {
		return nil, err
	}
	store, err := openStore(ctx, cfg.Store, true)
	if err != nil {
		return nil, err
	}
	fiat, err := cardRail(cfg.SandboxCard, store, log)
	if err == nil {
		var srv *server.Server
		srv, err = server.New(ctx, server.Config{
			BaseURL: cfg.BaseURL, Mode: server.Mode(cfg.Mode), Store: store, Rails: append([]rail.Rail{fiat}, more.rails...), Wrapper: wrapper, Clock: more.clock,
			Logger: log, RequestsPerSecond: cfg.RequestsPerSecond,
		})
		if err == nil {
			return srv, nil
		}
	}
	return nil, errors.Join(err, store.Close())
}

// cardRail is the sandbox card rail: its processor in the process, or elsewhere.
func cardRail(cfg cardsConfig, beside card.Neighbour, log *slog.Logger) (*card.Rail, error) {
	if cfg.ProcessorURL == "" {
		return card.Sandbox(beside), nil
	}
	gateway, err := card.NewHTTP(card.HTTPConfig{BaseURL: cfg.ProcessorURL, Key: card.Key(cfg.ProcessorKey)})
	if err != nil {
		return nil, err
	}
	return card.New(card.Config{Gateway: gateway, Logger: log})
}
