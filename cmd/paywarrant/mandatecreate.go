package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/money"
)

type mandateCreateCmd struct {
	account

	PerTx   string   `default:"5" help:"Limit for one payment, in dollars. Default: ${default}." name:"per-tx" placeholder:"USD"`
	Monthly string   `default:"50" help:"Limit for a calendar month, in dollars. Default: ${default}." placeholder:"USD"`
	Daily   string   `help:"Limit for a day, in dollars. Default: no limit." name:"max-daily" placeholder:"USD"`
	Total   string   `help:"Limit for all payments together, in dollars. Default: no limit." name:"max-total" placeholder:"USD"`
	PerDay  int64    `help:"Limit for the number of payments of a day. Default: no limit." name:"max-payments-per-day" placeholder:"N"`
	Payee   string   `help:"Limit for what one payee receives in a month, in dollars. Default: no limit." name:"max-per-payee" placeholder:"USD"`
	Method  []string `default:"card_visa" help:"The test cards and wallets to connect, separated by commas. Default: ${default}. docs/errors/README.md lists them." placeholder:"NAME,…"`
	Anyone  bool     `help:"Allow any payee. Default: the merchant alone."`
	JSON    bool     `help:"Print one line of JSON, with an access token that pays from the mandate." name:"json"`
	Env     bool     `help:"Print commands for a shell that export SERVICE_MANDATE, and SERVICE_ACCESS_TOKEN with an access token that pays from the mandate."`
}

// Help is the longer text of the command.
func (mandateCreateCmd) Help() string {
	return `Makes a setup session in a sandbox, confirms it as a person would, and prints the mandate.

Example:
  export SERVICE_MERCHANT_ID=mer_… SERVICE_API_KEY=sk_test_…
  paywarrant mandate create --env > agent.env
  . ./agent.env && paywarrant pay http://127.0.0.1:8081/report`
}

// Run prints the mandate alone, so that it can be captured, unless --json or --env is set.
func (c mandateCreateCmd) Run(ctx context.Context, o output) error {
	merchant, err := c.client()
	if err != nil {
		return err
	}
	p, err := c.params()
	if err != nil {
		return err
	}
	if c.JSON && c.Env {
		return usage("--json and --env exclude each other")
	}
	s, err := merchant.CreateSession(ctx, p)
	if err != nil {
		return &exitError{code: exitCode(err), err: errors.New(asFlags.Replace(err.Error()))}
	}
	done, err := merchant.CompleteTestSession(ctx, s.SessionToken, client.TestCompletion{PaymentMethods: c.Method})
	if errors.Is(err, client.ErrNotFound) {
		return fmt.Errorf("mandates are confirmed by people; this command works in a sandbox only: %w", err)
	}
	if err != nil {
		return err
	}
	if !c.JSON && !c.Env {
		_, err = fmt.Fprintln(o.out, done.Mandate)
		return err
	}
	token, err := merchant.CreateAccessToken(ctx, client.AccessTokenParams{Name: "mandate create", Mandate: done.Mandate})
	if err != nil {
		return err
	}
	if c.Env {
		_, err = fmt.Fprintf(o.out, "export SERVICE_MANDATE=%s\nexport SERVICE_ACCESS_TOKEN=%s\n", done.Mandate, token.Token)
		return err
	}
	return json.NewEncoder(o.out).Encode(struct { //nolint:gosec // showing the token is what the command is for
		DelegateID    string `json:"delegateId"`
		IntentMandate string `json:"intentMandate"`
		AccessToken   string `json:"accessToken"`
	}{done.MandateID, done.Mandate, token.Token})
}

// asFlags names the fields of a session by their flags.
var asFlags = strings.NewReplacer(
	"maxPerTxCents", "--per-tx", "maxMonthlySpendCents", "--monthly", "maxDailySpendCents", "--max-daily", "maxTotalSpendCents", "--max-total",
	"maxMonthlyPerPayeeCents", "--max-per-payee", "maxPaymentsPerDay", "--max-payments-per-day",
)

// params returns the session that the flags ask for.
func (c mandateCreateCmd) params() (client.SessionParams, error) {
	var p client.SessionParams
	for _, l := range []struct {
		flag, text string
		to         *int64
		optional   bool
	}{
		{"--per-tx", c.PerTx, &p.MaxPerTxCents, false},
		{"--monthly", c.Monthly, &p.MaxMonthlySpendCents, false},
		{"--max-daily", c.Daily, &p.MaxDailySpendCents, true},
		{"--max-total", c.Total, &p.MaxTotalSpendCents, true},
		{"--max-per-payee", c.Payee, &p.MaxMonthlyPerPayeeCents, true},
	} {
		if l.optional && l.text == "" {
			continue
		}
		m, err := money.ParseDecimal(l.text)
		cents, whole := m.WholeCents()
		if err != nil || !whole || cents < 1 {
			return p, usage("%s: %q is not an amount of dollars, such as 5 or 12.50", l.flag, l.text)
		}
		*l.to = int64(cents)
	}
	if c.PerDay < 0 {
		return p, usage("--max-payments-per-day: %d is not a number of payments, such as 10", c.PerDay)
	}
	p.MaxPaymentsPerDay = c.PerDay
	if c.Anyone {
		p.AllowedMerchantIDs = []string{"*"}
	}
	return p, nil
}
