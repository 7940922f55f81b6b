package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/paywarrant/paywarrant/server"
)

type merchantsCmd struct {
	Create merchantsCreateCmd `cmd:"" help:"Make a merchant's account, and print its credentials. Its key cannot be had again."`
}

type merchantsCreateCmd struct {
	Config  configFile `required:"" help:"The configuration file of serve." placeholder:"FILE" type:"existingfile"`
	Name    string     `required:"" help:"What people are shown." placeholder:"NAME"`
	Website string     `help:"What people are shown beside it." placeholder:"URL"`
	Email   string     `help:"Where the merchant is written to." placeholder:"ADDRESS"`
	PayTo   string     `help:"The wallet that the chain rail pays, which the merchant has proven to be its own. Default: cards only." placeholder:"0x…"`
}

// newMerchant is what is printed, as on the ready line of dev.
type newMerchant struct {
	ID     string `json:"id"`
	APIKey string `json:"apiKey"`
	PayTo  string `json:"payTo,omitempty"`
}

// Run makes the account; the service may be running meanwhile.
func (c merchantsCreateCmd) Run(ctx context.Context, o output) error {
	cfg, err := c.Config.read()
	if err != nil {
		return err
	}
	store, err := openStore(ctx, cfg.Store, true)
	if err != nil {
		return err
	}
	m, err := server.CreateMerchant(ctx, store, server.Mode(cfg.Mode), server.MerchantParams{
		Name: c.Name, Website: c.Website, Email: c.Email, PayTo: c.PayTo,
	})
	if err := errors.Join(err, store.Close()); err != nil {
		return err
	}
	text, err := json.Marshal(newMerchant{ID: m.ID, APIKey: m.APIKey, PayTo: m.PayTo}) //nolint:gosec // showing the key is what the command is for
	if err != nil {
		return fmt.Errorf("encode merchant: %w", err)
	}
	_, err = fmt.Fprintf(o.out, "%s\n", text)
	return err
}
