package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/client"
)

type tokensCmd struct {
	Create tokensCreateCmd `cmd:"" help:"Create an access token for an agent, and print it. It is shown only once."`
	List   tokensListCmd   `cmd:"" help:"List the merchant's access tokens, newest first."`
	Revoke tokensRevokeCmd `cmd:"" help:"Revoke an access token at once, by its id."`
}

type tokensCreateCmd struct {
	account

	Name    string   `help:"Name of the token." placeholder:"TEXT"`
	Scope   []string `enum:"pay,balance,revoke" help:"What the token permits, separated by commas: pay, balance, revoke. Default: all." placeholder:"SCOPE,…"`
	Mandate string   `help:"The only mandate that the token may use: its token or its id. Default: every mandate that the merchant asked for." placeholder:"TOKEN|ID"`
	Days    int64    `default:"90" help:"Number of days for which the token is valid, at most 90. Default: ${default}." placeholder:"N"`
	JSON    bool     `help:"Print one line of JSON." name:"json"`
}

// Help is the longer text of the command.
func (tokensCreateCmd) Help() string {
	return `An agent pays with an access token and a mandate, and needs no API key. Bind the token to the mandate that the agent uses.

Example:
  export SERVICE_MERCHANT_ID=mer_… SERVICE_API_KEY=sk_test_…
  export SERVICE_ACCESS_TOKEN=$(paywarrant tokens create --name "shopping agent" --scope pay,balance --mandate del_01K…)`
}

// Run prints the token alone, so that it can be captured.
func (c tokensCreateCmd) Run(ctx context.Context, o output) error {
	merchant, err := c.client()
	if err != nil {
		return err
	}
	if c.Days < 1 {
		return usage("--days: %d is not a number of days, such as 30", c.Days)
	}
	p := client.AccessTokenParams{Name: c.Name, Mandate: c.Mandate, ExpiresInDays: c.Days}
	for _, s := range c.Scope {
		p.Scopes = append(p.Scopes, client.Scope(s))
	}
	t, err := merchant.CreateAccessToken(ctx, p)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(o.out).Encode(t)
	}
	if c.Mandate == "" {
		fmt.Fprintln(o.errors, "The token may use all mandates of the merchant; --mandate binds it to one.") // a notice beside the result
	}
	_, err = fmt.Fprintln(o.out, t.Token)
	return err
}

type tokensListCmd struct {
	account

	JSON bool `help:"Print JSON, one object a line." name:"json"`
}

// Run lists all tokens.
func (c tokensListCmd) Run(ctx context.Context, o output) error {
	merchant, err := c.client()
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(o.out)
	table := [][]string{{"TOKEN", "NAME", "ENDS WITH", "SCOPES", "MANDATE", "LAST USED", "STATE"}}
	for t, err := range merchant.AccessTokens(ctx, client.ListParams{Limit: 100}) {
		if err != nil {
			return err
		}
		if c.JSON {
			if err := encoder.Encode(t); err != nil {
				return err
			}
			continue
		}
		table = append(table, tokenRow(t))
	}
	if c.JSON {
		return nil
	}
	return printTable(o.out, table)
}

func tokenRow(t client.AccessToken) []string {
	var scopes []string
	for _, s := range t.Scopes {
		scopes = append(scopes, string(s))
	}
	used, state := "never", string(t.Status)
	if !t.LastUsedAt.IsZero() {
		used = t.LastUsedAt.UTC().Format(time.RFC3339)
	}
	switch t.Status {
	case client.TokenRevoked:
		state += " " + t.RevokedAt.UTC().Format(time.RFC3339)
	case client.TokenActive:
		state += " until " + t.ExpiresAt.UTC().Format(time.RFC3339)
	case client.TokenExpired:
		state += " " + t.ExpiresAt.UTC().Format(time.RFC3339)
	}
	mandate := t.MandateID
	if mandate == "" {
		mandate = "all"
	}
	return []string{t.ID, printable(t.Name), "…" + t.LastFour, strings.Join(scopes, " "), mandate, used, state}
}

type tokensRevokeCmd struct {
	account

	Token string `arg:"" help:"The token's id, as list prints it." placeholder:"tok_…"`
	JSON  bool   `help:"Print one line of JSON." name:"json"`
}

// Run revokes a token.
func (c tokensRevokeCmd) Run(ctx context.Context, o output) error {
	merchant, err := c.client()
	if err != nil {
		return err
	}
	t, err := merchant.RevokeAccessToken(ctx, c.Token)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(o.out).Encode(t)
	}
	return printTable(o.out, [][]string{{"Token", t.ID}, {"Name", printable(t.Name)}, {"State", "revoked " + t.RevokedAt.UTC().Format(time.RFC3339)}})
}
