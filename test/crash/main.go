// Command crash kills the service at random moments while it charges, and shows
// that no charge is lost, doubled or left undecided.
//
//	go run ./test/crash -kills 200
//
// A card processor with faults runs in this process. The service is a child
// process that is killed with SIGKILL and started again on the same files; the
// callers send each charge again, with its key, until it is answered. In the end
// the answers, the ledger and the processor must tell the same.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	var o options
	flag.IntVar(&o.Kills, "kills", 100, "how often to kill the service")
	flag.IntVar(&o.Callers, "callers", 8, "how many charge at once")
	flag.Uint64Var(&o.Seed, "seed", 1, "of the moments and amounts")
	flag.BoolVar(&o.Postgres, "postgres", false, "keep the ledger in PostgreSQL instead of SQLite")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	r, err := run(ctx, o)
	stop()
	fmt.Println(r)
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		os.Exit(1)
	}
	if r.failed() {
		os.Exit(1)
	}
}
