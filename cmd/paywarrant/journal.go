package main

import (
	"context"
	"fmt"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/agent/journal"
)

// journalFlag is the journal of a command that pays.
type journalFlag struct {
	Journal string `help:"File that records purchases. If the command is killed or an answer is lost, the same request with the same file does not pay twice. One process uses it at a time. Default: none." env:"SERVICE_JOURNAL" placeholder:"FILE"`
}

// open returns the journal, or nil without one, and what closes it.
func (f journalFlag) open() (j agent.Journal, end func() error, err error) {
	if f.Journal == "" {
		return nil, func() error { return nil }, nil
	}
	file, err := journal.OpenFile(f.Journal)
	if err != nil {
		return nil, nil, &exitError{code: exitUsage, err: fmt.Errorf("--journal: %w", err)}
	}
	return file, file.Close, nil
}

// withPurchaseKey returns a context in which requests are the purchase of the key.
func (f journalFlag) withPurchaseKey(ctx context.Context, key string) (context.Context, error) {
	switch {
	case key == "":
		return ctx, nil
	case f.Journal == "":
		return ctx, usage("--purchase-key needs --journal, which remembers the purchase")
	}
	return agent.WithPurchaseKey(ctx, key), nil
}
