package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
)

type merchantsCmd struct {
	Create   merchantsCreateCmd   `cmd:"" help:"Create a merchant, and print its credentials. The API key is shown only once."`
	List     merchantsListCmd     `cmd:"" help:"List all merchants."`
	Show     merchantsShowCmd     `cmd:"" help:"Show one merchant."`
	Suspend  merchantsSuspendCmd  `cmd:"" help:"Refuse a merchant's charges, setups and checkouts with merchant_inactive, at once. The merchant can still read."`
	Activate merchantsActivateCmd `cmd:"" help:"Activate a suspended merchant."`
	SetLimit merchantsSetLimitCmd `cmd:"" help:"Limit the amount of a merchant's charge."`
	SetEmail merchantsSetEmailCmd `cmd:"" help:"Set the email address that signs in to a merchant's dashboard."`
}

type merchantsCreateCmd struct {
	Config  configFile `required:"" help:"The configuration file of serve." placeholder:"FILE" type:"existingfile"`
	Name    string     `required:"" help:"The name that people see." placeholder:"NAME"`
	Website string     `help:"The website that people see beside the name." placeholder:"URL"`
	Email   string     `help:"The merchant's email address." placeholder:"ADDRESS"`
	PayTo   string     `help:"The wallet that the chain rail pays. The merchant must have proven that it owns it. Default: cards only." placeholder:"0x…"`
}

// newMerchant is what is printed, as on the ready line of dev.
type newMerchant struct {
	ID     string `json:"id"`
	APIKey string `json:"apiKey"`
	PayTo  string `json:"payTo,omitempty"`
}

// paramFlags are the flags of a merchant's parameters.
var paramFlags = map[string]string{"Name": "--name", "Website": "--website", "Email": "--email", "PayTo": "--pay-to"}

// Run makes the account; the service may be running meanwhile.
func (c merchantsCreateCmd) Run(ctx context.Context, o output) error {
	var m server.Merchant
	err := operateOn(ctx, c.Config, true, func(op *server.Operator) (err error) {
		m, err = op.CreateMerchant(ctx, server.MerchantParams{Name: c.Name, Website: c.Website, Email: c.Email, PayTo: c.PayTo})
		return err
	})
	var param *server.ParamError
	if errors.As(err, &param) {
		err = usage("%s: %w", paramFlags[param.Param], param.Err)
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(newMerchant{ID: m.ID, APIKey: m.APIKey, PayTo: m.PayTo}) //nolint:gosec // showing the key is what the command is for
	if err != nil {
		return fmt.Errorf("encode merchant: %w", err)
	}
	_, err = fmt.Fprintf(o.out, "%s\n", text)
	return err
}

// Help is the longer text of the command.
func (merchantsCreateCmd) Help() string {
	return "Example: paywarrant merchants create --config pay.toml --name \"Weather & Co\" --email ops@weather.example"
}

// merchantLine is how a merchant is printed.
type merchantLine struct {
	ID             string `json:"id"`
	Name           string `json:"name"`
	Active         bool   `json:"active"`
	MaxChargeCents int64  `json:"maxChargeCents,omitzero"`
	PayTo          string `json:"payTo,omitempty"`
	Website        string `json:"website,omitempty"`
	Email          string `json:"email,omitempty"`
	CreatedAt      string `json:"createdAt"`
}

func lineOf(m ledger.Merchant) merchantLine {
	return merchantLine{
		ID: m.ID, Name: m.Name, Active: m.Active, MaxChargeCents: int64(m.MaxCharge.CentsDown()), PayTo: m.PayTo, Website: m.Website,
		Email: m.Email, CreatedAt: m.CreatedAt.UTC().Format(time.RFC3339),
	}
}

func (l merchantLine) state() string {
	if l.Active {
		return "active"
	}
	return "suspended"
}

func limitOf(m ledger.Merchant) string {
	if m.MaxCharge == 0 {
		return "none"
	}
	return "$" + m.MaxCharge.Decimal()
}

type merchantsListCmd struct{ operatorFlags }

// listPage is how many merchants are read at a time.
const listPage = 500

// Run lists all merchants.
func (c merchantsListCmd) Run(ctx context.Context, o output) error {
	return c.operator(ctx, func(op *server.Operator) error {
		var objects []any
		table := [][]string{{"MERCHANT", "NAME", "STATE", "LIMIT", "WALLET"}}
		for after := ""; ; {
			page, err := op.Merchants(ctx, after, listPage)
			if err != nil {
				return err
			}
			for _, m := range page {
				l := lineOf(m)
				objects, after = append(objects, l), m.ID
				table = append(table, []string{m.ID, m.Name, l.state(), limitOf(m), m.PayTo})
			}
			if len(page) < listPage {
				return c.print(o, objects, table)
			}
		}
	})
}

type merchantArg struct {
	operatorFlags

	Merchant string `arg:"" help:"The merchant's id." placeholder:"mer_…"`
}

func (c merchantArg) show(ctx context.Context, o output, op *server.Operator) error {
	m, err := op.Merchant(ctx, c.Merchant)
	if err != nil {
		return err
	}
	l := lineOf(m)
	return c.print(o, []any{l}, [][]string{
		{"Merchant", m.ID},
		{"Name", m.Name},
		{"State", l.state()},
		{"Limit", limitOf(m)},
		{"Wallet", m.PayTo},
		{"Website", m.Website},
		{"Email", m.Email},
		{"Created", l.CreatedAt},
	})
}

type merchantsShowCmd struct{ merchantArg }

// Run shows one merchant.
func (c merchantsShowCmd) Run(ctx context.Context, o output) error {
	return c.operator(ctx, func(op *server.Operator) error { return c.show(ctx, o, op) })
}

type merchantsSuspendCmd struct {
	merchantArg

	Reason string `required:"" help:"The reason, for the audit log." placeholder:"TEXT"`
}

// Run suspends a merchant.
func (c merchantsSuspendCmd) Run(ctx context.Context, o output) error {
	return c.operator(ctx, func(op *server.Operator) error {
		return errors.Join(op.SetActive(ctx, c.Merchant, false, c.Reason), c.show(ctx, o, op))
	})
}

// Help is the longer text of the command.
func (merchantsSuspendCmd) Help() string {
	return "Example: paywarrant merchants suspend mer_01K… --config pay.toml --reason \"chargebacks\""
}

type merchantsActivateCmd struct {
	merchantArg

	Reason string `help:"The reason, for the audit log." placeholder:"TEXT"`
}

// Run lets a merchant charge again.
func (c merchantsActivateCmd) Run(ctx context.Context, o output) error {
	return c.operator(ctx, func(op *server.Operator) error {
		return errors.Join(op.SetActive(ctx, c.Merchant, true, c.Reason), c.show(ctx, o, op))
	})
}

type merchantsSetLimitCmd struct {
	merchantArg

	Most   string `arg:"" help:"The limit in US dollars, or none." placeholder:"25.00"`
	Reason string `help:"The reason, for the audit log." placeholder:"TEXT"`
}

// Run limits what a merchant may charge at once.
func (c merchantsSetLimitCmd) Run(ctx context.Context, o output) error {
	var most ledger.Micros
	if c.Most != "none" {
		var err error
		if most, err = money.ParseDecimal(c.Most); err != nil || most <= 0 {
			return usage("%s is not a limit: give US dollars such as 25.00, or none", c.Most)
		}
	}
	return c.operator(ctx, func(op *server.Operator) error {
		return errors.Join(op.SetMaxCharge(ctx, c.Merchant, most, c.Reason), c.show(ctx, o, op))
	})
}

// Help is the longer text of the command.
func (merchantsSetLimitCmd) Help() string {
	return "Example: paywarrant merchants set-limit mer_01K… 25.00 --config pay.toml"
}

type merchantsSetEmailCmd struct {
	merchantArg

	Email  string `arg:"" help:"The address, or none." placeholder:"ADDRESS"`
	Reason string `help:"The reason, for the audit log." placeholder:"TEXT"`
}

// Run sets who may sign in.
func (c merchantsSetEmailCmd) Run(ctx context.Context, o output) error {
	if c.Email == "none" {
		c.Email = ""
	}
	return c.operator(ctx, func(op *server.Operator) error {
		err := op.SetEmail(ctx, c.Merchant, c.Email, c.Reason)
		var param *server.ParamError
		if errors.As(err, &param) {
			return usage("%s: %w", c.Email, param.Err)
		}
		return errors.Join(err, c.show(ctx, o, op))
	})
}

// Help is the longer text of the command.
func (merchantsSetEmailCmd) Help() string {
	return "Example: paywarrant merchants set-email mer_01K… ops@weather.example --config pay.toml"
}
