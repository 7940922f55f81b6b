package main

import (
	"context"
	"errors"
	"io"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/paywarrant/paywarrant/agent/mcptools"
	"github.com/paywarrant/paywarrant/agent/toolkit"
	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/loopback"
)

type mcpCmd struct {
	Service      string `help:"The service. Default: ${default}." env:"SERVICE_API_URL" default:"http://127.0.0.1:4020" placeholder:"URL"`
	Token        string `help:"The access token. Prefer the environment variable." env:"SERVICE_ACCESS_TOKEN" placeholder:"TOKEN"`
	Mandate      string `help:"The mandate that pays if a call names none: its token or its id. Default: none." env:"SERVICE_MANDATE" placeholder:"TOKEN|ID"`
	MerchantID   string `help:"With --api-key in place of --token: the merchant." env:"SERVICE_MERCHANT_ID" name:"merchant-id" placeholder:"ID"`
	APIKey       string `help:"In place of --token: a merchant's API key, with which the command makes an access token for itself." env:"SERVICE_API_KEY" name:"api-key" placeholder:"KEY"`
	AllowPrivate bool   `help:"Let tools fetch addresses that are not public. Default: only if the service is on a loopback address." name:"allow-private"`
	journalFlag

	in  io.ReadCloser  // default: standard input
	out io.WriteCloser // default: standard output
}

// Help is the longer text of the command.
func (mcpCmd) Help() string {
	return `A service has the same tools at /mcp.

Example:
  SERVICE_ACCESS_TOKEN=token_… SERVICE_MANDATE=del_01K… paywarrant mcp --service https://pay.example`
}

// Run serves until the client closes its input.
func (c mcpCmd) Run(ctx context.Context, _ output) (err error) {
	token, end, err := c.token(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	purchases, closeJournal, err := c.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeJournal()) }()
	kit, err := toolkit.New(toolkit.Config{
		ServiceURL: c.Service, Token: token, Mandate: c.Mandate, AllowPrivate: c.AllowPrivate || c.local(), Journal: purchases,
	})
	if err != nil {
		return err
	}
	defer kit.CloseIdleConnections()
	var transport mcp.Transport = &mcp.StdioTransport{}
	if c.in != nil {
		transport = &mcp.IOTransport{Reader: c.in, Writer: c.out}
	}
	err = mcptools.New(mcptools.Config{Kit: mcptools.Fixed(kit), Version: version()}).Run(ctx, transport)
	if errors.Is(err, io.EOF) || ctx.Err() != nil { // the client is gone, or the command was interrupted
		return nil
	}
	return err
}

// token returns the access token. With a merchant's key, it is a new one for one day, which end
// revokes.
func (c mcpCmd) token(ctx context.Context) (token string, end func() error, err error) {
	none := func() error { return nil }
	if c.Token != "" {
		return c.Token, none, nil
	}
	if c.MerchantID == "" || c.APIKey == "" {
		return "", none, usage("set SERVICE_ACCESS_TOKEN, or give --token; paywarrant tokens create makes one")
	}
	merchant, err := client.New(client.Config{BaseURL: c.Service, MerchantID: c.MerchantID, APIKey: c.APIKey})
	if err != nil {
		return "", none, err
	}
	t, err := merchant.CreateAccessToken(ctx, client.AccessTokenParams{Name: "paywarrant mcp", ExpiresInDays: 1})
	if err != nil {
		return "", none, err
	}
	return t.Token, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, err := merchant.RevokeAccessToken(ctx, t.ID)
		merchant.CloseIdleConnections()
		return err
	}, nil
}

// local reports whether the service is on this machine.
func (c mcpCmd) local() bool {
	u, err := url.Parse(c.Service)
	return err == nil && loopback.Host(u.Hostname())
}
