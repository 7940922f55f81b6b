package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/paywarrant/paywarrant/server/rail/card"
)

type sandboxProcessorCmd struct {
	Addr string `default:"127.0.0.1:4030" help:"Address on which the processor listens." placeholder:"HOST:PORT"`
	File string `required:"" help:"The SQLite file of the processor." placeholder:"FILE" type:"path"`
	Key  string `help:"The key that callers must send. Default: none, and any caller is served." env:"PAYWARRANT_PROCESSOR_KEY" placeholder:"KEY"`
}

// Run serves the processor until ctx is done.
func (c sandboxProcessorCmd) Run(ctx context.Context, o output) error {
	p, err := card.OpenProcessor(ctx, card.ProcessorConfig{Path: c.File, Key: card.Key(c.Key)})
	if err != nil {
		return err
	}
	l, err := listen(ctx, "--addr", c.Addr)
	if err != nil {
		return errors.Join(err, p.Close())
	}
	l.serve(p.Handler(), "", "")
	_, err = fmt.Fprintf(o.out, "{\"processorUrl\":%q}\n", l.origin())
	if err == nil {
		<-ctx.Done()
	}
	return errors.Join(err, l.stop(), p.Close())
}
