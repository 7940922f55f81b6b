package main

import (
	"context"

	"github.com/paywarrant/paywarrant/conformance"
	"github.com/paywarrant/paywarrant/internal/money"
)

type validateCmd struct {
	URL    string `arg:"" help:"The paid endpoint."`
	Method string `help:"The HTTP method. Default: GET, or POST with --body." short:"X"`
	Body   string `help:"JSON body to send." short:"d"`
	Pay    bool   `help:"Also check what only a payment shows: receipts, replays, concurrency."`
	Budget string `default:"0.10" help:"With --pay: the most that may be paid in total, in dollars. Default: ${default}." placeholder:"USD"`
	Wallet string `help:"With --pay: file with the private key of a wallet that holds USDC, in hexadecimal; - reads standard input. Or set SERVICE_WALLET_KEY to the key." placeholder:"FILE|-"`
	reportFlags
}

// Help is the longer text of the command.
func (validateCmd) Help() string {
	return "Judges any paywall as clients and directories do: x402 versions 1 and 2, MPP, headers, caching, CORS, refusals, discovery. " +
		"Each line is a rule with its result; a rule that did not pass is shown with its remedy and its source. docs/reference/rules.md lists the rules.\n\n" +
		"Without --pay no money moves: the command sends requests without payment, malformed credentials, and payments of a random wallet that is empty.\n\n" +
		"Exit codes: 0 no rule failed, 1 a rule failed, 2 usage, 4 unreachable.\n\n" +
		"Examples:\n  paywarrant validate https://api.example.com/weather\n" +
		"  paywarrant validate http://127.0.0.1:8081/weather --pay --budget 0.10 --wallet key.txt --junit report.xml"
}

// Run validates and prints the results.
func (c validateCmd) Run(ctx context.Context, o output) error {
	if err := c.check(); err != nil {
		return err
	}
	cfg := conformance.Config{URL: c.URL, Method: c.Method, Body: []byte(c.Body)}
	if c.Pay {
		limit, err := money.ParseDecimal(c.Budget)
		if err != nil || limit <= 0 {
			return usage("--budget: %q is not an amount of dollars, such as 0.10", c.Budget)
		}
		if cfg.Wallet, err = walletOf(c.Wallet); err != nil {
			return &exitError{code: exitUsage, err: err}
		}
		if cfg.Wallet == nil {
			return usage("--pay: give --wallet FILE or set %s", walletKey)
		}
		cfg.BudgetMicros = int64(limit)
	} else if c.Wallet != "" {
		return usage("--wallet: is only used with --pay")
	}
	report, err := conformance.Validate(ctx, cfg)
	if err != nil {
		return notJudged(err)
	}
	return c.write(o, "paywarrant validate "+report.URL, report)
}
