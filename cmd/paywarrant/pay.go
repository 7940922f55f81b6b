package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/money"
)

type payCmd struct {
	URL     string `arg:"" help:"The URL to fetch and pay for."`
	Mandate string `help:"The mandate's token, or - to read it from standard input." env:"SERVICE_MANDATE" placeholder:"TOKEN|-"`
	Bundle  string `help:"The token of a credit bundle, or - to read it from standard input." env:"SERVICE_BUNDLE_TOKEN" placeholder:"TOKEN|-"`
	Wallet  string `help:"File with the private key of a wallet that holds USDC, in hexadecimal; - reads standard input. Or set SERVICE_WALLET_KEY to the key." placeholder:"FILE|-"`
	Max     string `default:"0.50" help:"Maximum price, in dollars. Default: ${default}." placeholder:"USD"`
	Method  string `help:"The HTTP method. Default: GET, or POST with --data." short:"X"`
	Data    string `help:"JSON body to send." short:"d"`
	JSON    bool   `help:"Print one line of JSON to standard output, even if nothing was paid." name:"json"`
	Key     string `help:"With --journal: requests with one key, such as an order's id, are paid once, in every run. Default: none." name:"purchase-key" placeholder:"KEY"`
	journalFlag

	Service    string `help:"The service that issued the mandate. Default: ${default}." env:"SERVICE_API_URL" default:"http://127.0.0.1:4020" placeholder:"URL"`
	Token      string `help:"The access token with which the agent uses the mandate, or - to read it from standard input. Prefer the environment variable." env:"SERVICE_ACCESS_TOKEN" placeholder:"TOKEN|-"`
	MerchantID string `help:"With --api-key in place of --token: the merchant." env:"SERVICE_MERCHANT_ID" name:"merchant-id" placeholder:"ID"`
	APIKey     string `help:"In place of --token: a merchant's API key. An agent should not have one." env:"SERVICE_API_KEY" name:"api-key" placeholder:"KEY"`
}

// Help is the longer text of the command.
func (payCmd) Help() string {
	return "Requests the address, shows the price and the ways to pay, pays by the cheapest that --max allows, and shows the receipt and the answer. Without --mandate, --wallet and --bundle it shows the price and fails.\n\n" +
		"Exit codes: 0 paid and served, 1 failure, 2 usage, 3 refused by a limit or the seller, 4 unreachable.\n\n" +
		"Examples:\n  paywarrant pay http://127.0.0.1:8081/weather --wallet key.txt\n" +
		"  SERVICE_MANDATE=dtok_… SERVICE_ACCESS_TOKEN=token_… paywarrant pay http://127.0.0.1:8081/report"
}

// Run pays and prints. It fails if the address did not answer with 2xx.
func (c payCmd) Run(ctx context.Context, o output) (err error) {
	if u, err := url.Parse(c.URL); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return usage("%q is not a URL such as https://api.example.com/weather", c.URL)
	}
	p := paid{URL: c.URL, Challenge: []wayOffered{}}
	cfg, err := c.config(&p)
	if err != nil {
		return err
	}
	if ctx, err = c.withPurchaseKey(ctx, c.Key); err != nil {
		return err
	}
	purchases, end, err := c.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	cfg.Journal = purchases
	a, err := agent.New(cfg)
	if err != nil {
		return err
	}
	defer a.CloseIdleConnections()
	got, err := a.Fetch(ctx, agent.FetchParams{URL: c.URL, Method: c.Method, Body: []byte(c.Data)})
	p.Receipt, p.Status, p.ContentType, p.Content = got.Receipt, got.Status, got.ContentType, string(got.Content)
	var refused *agent.PaymentError
	if errors.As(err, &refused) {
		p.Challenge, p.Choice = ways(refused.Offers), nil
		err = refused
	}
	var bought *agent.PurchasedError
	if errors.As(err, &bought) {
		p.Receipt = bought.Receipt
		err = fmt.Errorf("%w: the purchase of --purchase-key %s", agent.ErrPurchased, c.Key)
	}
	switch {
	case err == nil && got.Status == http.StatusPaymentRequired:
		err = &exitError{code: exitRefused, err: errors.New("the seller refused the payment: it answered 402 again")}
	case err == nil && (got.Status < 200 || got.Status > 299):
		err = fmt.Errorf("the seller answered %d", got.Status)
		if got.Receipt != nil {
			err = fmt.Errorf("the seller was paid and answered %d; ask the seller for a refund", got.Status)
		}
	case errors.Is(err, agent.ErrNoMethod) && c.Mandate == "" && c.Bundle == "" && cfg.Wallet == nil:
		err = &exitError{code: exitRefused, err: fmt.Errorf("%s costs money: give --wallet, --mandate or --bundle to pay", c.URL)}
	case errors.Is(err, agent.ErrTooExpensive):
		err = &exitError{code: exitRefused, err: fmt.Errorf("%w; --max %s allows it", err, cheapest(refused.Offers))}
	}
	if err != nil {
		err = &exitError{code: exitCode(err), err: printableError{err}}
	}
	p.reason = err
	if err := p.print(o, c.JSON); err != nil {
		return err
	}
	return err
}

// config returns the configuration of an agent that records in p what it is about to do.
func (c payCmd) config(p *paid) (agent.Config, error) {
	limit, err := money.ParseDecimal(c.Max)
	if err != nil || limit <= 0 {
		return agent.Config{}, usage("--max: %q is not an amount of dollars, such as 0.50", c.Max)
	}
	cfg := agent.Config{MaxPriceMicros: int64(limit), AllowPrivate: true, Approve: func(_ context.Context, buy agent.Purchase) error {
		choice := way(buy.Offer)
		p.Challenge, p.Choice = ways(buy.Offers), &choice
		return nil
	}}
	fromInput := 0
	for _, secret := range []string{c.Mandate, c.Bundle, c.Wallet, c.Token} {
		if secret == "-" {
			fromInput++
		}
	}
	if fromInput > 1 {
		return cfg, usage("only one of --mandate, --token, --bundle and --wallet can be read from standard input")
	}
	if cfg.Wallet, err = walletOf(c.Wallet); err != nil {
		return cfg, &exitError{code: exitUsage, err: err}
	}
	if cfg.Mandate, err = secretOf(c.Mandate); err != nil {
		return cfg, err
	}
	if cfg.Mandate != "" {
		if cfg, err = c.access(cfg); err != nil {
			return cfg, err
		}
	}
	token, err := secretOf(c.Bundle)
	if err != nil || token == "" {
		return cfg, err
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return cfg, &exitError{code: exitUsage, err: err}
	}
	cfg.BundleTokens = map[string]string{agent.Origin(u): token}
	return cfg, nil
}

// cheapest returns the lowest price of the offers that the means of payment fit.
func cheapest(offers []agent.Offer) string {
	var best *agent.Offer
	for i, o := range offers {
		if o.Usable && (best == nil || o.AmountMicros < best.AmountMicros) {
			best = &offers[i]
		}
	}
	if best == nil {
		return "of the price"
	}
	return best.Price()
}

// access adds the credentials with which the agent uses the mandate.
func (c payCmd) access(cfg agent.Config) (agent.Config, error) {
	token, err := secretOf(c.Token)
	if err != nil {
		return cfg, err
	}
	if token != "" {
		cfg.ServiceURL, cfg.Token = c.Service, token
		return cfg, nil
	}
	if c.MerchantID == "" || c.APIKey == "" {
		return cfg, usage("--mandate: an access token is needed to use it: set SERVICE_ACCESS_TOKEN, or give --token; paywarrant tokens create makes one")
	}
	cfg.Service, err = client.New(client.Config{BaseURL: c.Service, MerchantID: c.MerchantID, APIKey: c.APIKey})
	return cfg, err
}

// secretOf returns a token, read from standard input if the value is "-".
func secretOf(value string) (string, error) {
	if value != "-" {
		return value, nil
	}
	text, err := io.ReadAll(io.LimitReader(os.Stdin, 64<<10))
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
