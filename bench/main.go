// Command bench prints what is fast, as ratios to a baseline that is measured in
// the same run, with the aim beside each. Times alone are never compared: the
// machine may be any.
//
//	go run ./bench            # all tables
//	go run ./bench mandate    # one
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
)

// tables are the groups of rows, in the order in which they are printed.
var tables = []struct {
	name string
	rows func(context.Context) ([]row, error)
}{
	{"paywall", paywallRows},
	{"gate", gateRows},
	{"mandate", mandateRows},
	{"service", serviceRows},
	{"webhooks", webhookRows},
	{"chain", chainRows},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) == 4 && os.Args[1] == bareProxy {
		fmt.Fprintln(os.Stderr, "bench:", serveBareProxy(ctx, os.Args[2], os.Args[3]))
		os.Exit(1)
	}
	for _, t := range tables {
		if len(os.Args) > 1 && !slices.Contains(os.Args[1:], t.name) {
			continue
		}
		rows, err := t.rows(ctx)
		if err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", t.name, err)
			os.Exit(1)
		}
		printTable(os.Stdout, t.name, rows)
	}
}
