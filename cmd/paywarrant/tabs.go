package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/money"
)

type tabsCmd struct {
	List  tabsListCmd  `cmd:"" help:"List a merchant's tabs, newest first."`
	Close tabsCloseCmd `cmd:"" help:"Capture what was drawn from a tab now."`
}

type tabsListCmd struct {
	account

	Limit int  `default:"20" help:"Number of tabs to list. Default: ${default}." placeholder:"N"`
	JSON  bool `help:"Print JSON, one tab a line." name:"json"`
}

// Help is the longer text of the command.
func (tabsListCmd) Help() string {
	return `A card cannot pay less than 50 cents. Smaller payments are drawn from a block that the card holds, and captured as one sum.

Example:
  paywarrant tabs list --limit 5`
}

// Run lists the tabs.
func (c tabsListCmd) Run(ctx context.Context, o output) error {
	if c.Limit < 1 {
		return usage("--limit: %d is not a number of tabs", c.Limit)
	}
	merchant, err := c.client()
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', 0)
	if !c.JSON {
		fmt.Fprintln(table, "TAB\tSTATUS\tPAYMENTS\tDRAWN\tBLOCK\tCAPTURED\tCLOSES")
	}
	n := 0
	for tab, err := range merchant.Tabs(ctx, client.ListParams{Limit: min(c.Limit, listPage)}) {
		if err != nil {
			return err
		}
		if c.JSON {
			err = json.NewEncoder(o.out).Encode(tab)
		} else {
			_, err = fmt.Fprintln(table, lineOfTab(tab))
		}
		if n++; err != nil || n == c.Limit {
			return flushed(table, err)
		}
	}
	return flushed(table, nil)
}

// flushed writes a table unless there was an error before.
func flushed(table *tabwriter.Writer, err error) error {
	if err == nil {
		err = table.Flush()
	}
	return err
}

// lineOfTab is the line of a tab in the table.
func lineOfTab(t client.Tab) string {
	cents := func(n int64) string { return "$" + (money.Micros(n) * money.MicrosPerCent).Decimal() }
	return t.ID + "\t" + string(t.Status) + "\t" + strconv.FormatInt(t.Draws, 10) + "\t$" + money.Micros(t.DrawnMicros).Decimal() + "\t" +
		cents(t.BlockCents) + "\t" + cents(t.CapturedCents) + "\t" + t.ClosesAt.UTC().Format(time.RFC3339)
}

type tabsCloseCmd struct {
	account

	Tab string `arg:"" help:"The tab (tab_…)."`
}

// Help is the longer text of the command.
func (tabsCloseCmd) Help() string {
	return `The sum of the payments is captured within seconds. A sum below 50 cents is voided, and the operator pays it.

Example:
  paywarrant tabs close tab_01…`
}

// Run closes the tab and prints it.
func (c tabsCloseCmd) Run(ctx context.Context, o output) error {
	merchant, err := c.client()
	if err != nil {
		return err
	}
	tab, err := merchant.CloseTab(ctx, c.Tab)
	if err != nil {
		return err
	}
	return json.NewEncoder(o.out).Encode(tab)
}
