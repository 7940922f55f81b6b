package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/user"
	"strings"
	"text/tabwriter"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store/postgres"
)

// operatorFlags are what every operator's command takes.
type operatorFlags struct {
	Config configFile `required:"" help:"The configuration file of serve." placeholder:"FILE" type:"existingfile"`
	JSON   bool       `help:"Print JSON, one object a line." name:"json"`
}

// operator opens the service's store for as long as use takes. The service may be
// running meanwhile.
func (f operatorFlags) operator(ctx context.Context, use func(*server.Operator) error) error {
	return operateOn(ctx, f.Config, false, use)
}

// operateOn opens the store of a configuration for as long as use takes. If create is set,
// a store that does not exist is created.
func operateOn(ctx context.Context, file configFile, create bool, use func(*server.Operator) error) error {
	cfg, err := file.read()
	if err != nil {
		return err
	}
	store, err := openOwned(ctx, cfg, create)
	if errors.Is(err, postgres.ErrOldSchema) {
		return fmt.Errorf("store: the schema is older than this program: run paywarrant migrate --config %s", file)
	}
	if err != nil {
		return err
	}
	o, err := server.NewOperator(server.OperatorConfig{Store: store, Mode: server.Mode(cfg.Mode), Actor: actor()})
	if err == nil {
		err = use(o)
	}
	if errors.Is(err, ledger.ErrNotFound) {
		err = fmt.Errorf("%s: not found", strings.TrimSuffix(err.Error(), ": "+ledger.ErrNotFound.Error()))
	}
	return errors.Join(err, store.Close())
}

// actor is who runs the command, for the audit log.
func actor() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return "operator:" + u.Username
	}
	return "operator"
}

// print prints one object a line, or else a table; the first row is its head.
func (f operatorFlags) print(o output, objects []any, table [][]string) error {
	if f.JSON {
		for _, v := range objects {
			text, err := json.Marshal(v)
			if err != nil {
				return fmt.Errorf("encode: %w", err)
			}
			if _, err := fmt.Fprintf(o.out, "%s\n", text); err != nil {
				return err
			}
		}
		return nil
	}
	return printTable(o.out, table)
}

// printTable prints rows with aligned columns.
func printTable(to io.Writer, table [][]string) error {
	w := tabwriter.NewWriter(to, 0, 4, 2, ' ', 0)
	for _, row := range table {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}
