package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/paywarrant/paywarrant/client"
)

type demoCmd struct {
	JSON bool `help:"Print the steps as JSON lines." name:"json"`
}

// Help is the longer text of the command.
func (demoCmd) Help() string {
	return "Starts the whole system in this process, on free ports of the loopback interface and in a temporary folder, and plays every part of the story against it over HTTP."
}

// demoTimeout is longer than the story ever takes.
const demoTimeout = time.Minute

// Run runs the demo. It fails if anything does not happen as printed.
func (c demoCmd) Run(ctx context.Context, o output) error {
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	s, err := startDevSystem(ctx, devSystemConfig{Addr: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	merchant, err := client.New(client.Config{BaseURL: s.BaseURL, MerchantID: s.People.Merchant.ID, APIKey: s.People.Merchant.APIKey})
	if err != nil {
		return errors.Join(err, s.Close())
	}
	t := newPrinter(o.out, c.JSON)
	d := &story{printer: t, system: s, merchant: merchant}
	began := time.Now()
	err = d.tellAll(ctx)
	if err = errors.Join(err, s.Close(), t.err); err != nil {
		return fmt.Errorf("the demo stopped after step %d: %w", t.step, err)
	}
	t.end(fmt.Sprintf("All of it happened, in %d ms. Next: paywarrant dev", time.Since(began).Milliseconds()))
	return nil
}
