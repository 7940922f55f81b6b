// Command crash kills the service at random moments while it charges, and shows
// that no charge is lost, doubled or left undecided.
//
//	go -C test run ./crash -kills 200
//
// A card processor with faults runs in this process. The service is a child process that
// is killed with SIGKILL and started again on the same files; the callers send each
// charge again, with its key, until it is answered. They also authorize amounts, and
// capture, void or abandon them, and refund parts of charges. In the end the answers, the
// ledger and the processor must agree, nothing may be held, and there must be an order of
// the calls that explains each result about its mandate's limit.
//
//	go -C test run ./crash -points -kills 50
//
// kills it at each of the steps that internal/failpoint names, as often as it says.
// A step that is not reached fails the drill.
//
//	go -C test run ./crash -chain -kills 200
//
// charges wallets on a chain in this process, and kills the service between the
// broadcast of a charge and its receipt: at moments that a node in between knows to
// report, and at random.
//
//	go -C test run ./crash -chain -points -kills 10
//
// kills it at each step of the chain rail that internal/failpoint names, while wallets
// are charged, grant, revoke, sign transfers and are refunded. What a step needs beside that is
// brought about: blocks that do not come, transactions that get lost, a nonce that
// somebody else uses, reorganizations. In the end charges, grants, revocations, signed
// transfers and nonces must be the same on the chain, in the ledger, in the rail's
// records and in the answers.
//
//	go -C test run ./crash -sellers -kills 10
//
// kills it at each step of a purchase from a seller that does not know the service, and of the
// sweep of what no seller took. In the end each seller has its price once or nothing, as the
// ledger says, and everything else is back in the wallets.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/paywarrant/paywarrant/internal/failpoint"
)

func main() {
	var o options
	flag.IntVar(&o.Kills, "kills", 100, "how often to kill the service")
	flag.BoolVar(&o.Points, "points", false, "kill at each labelled step, -kills times each: of a charge, or with -chain of the chain rail")
	flag.Func("only", "with -points, kill at these steps alone, by their names with commas between", func(text string) error {
		for name := range strings.SplitSeq(text, ",") {
			p := failpoint.Point(name)
			if !slices.Contains(slices.Concat(cardPoints(), chainPoints(), failpoint.SellerPoints()), p) {
				return fmt.Errorf("there is no step %q", name)
			}
			o.Only = append(o.Only, p)
		}
		return nil
	})
	flag.IntVar(&o.Answers, "answers", 60, "how many charges are answered between two kills at most")
	flag.IntVar(&o.History, "history", 2000, "how many calls a mandate with a tight limit gets, which must be linearizable")
	flag.IntVar(&o.Callers, "callers", 8, "how many charge at once")
	flag.Uint64Var(&o.Seed, "seed", 1, "of the moments and amounts")
	flag.BoolVar(&o.Postgres, "postgres", false, "keep the ledger, and the chain rail's records, in PostgreSQL instead of SQLite")
	chain := flag.Bool("chain", false, "charge over a chain, and kill between broadcast and receipt")
	sellers := flag.Bool("sellers", false, "pay sellers that do not know the service, and kill at each step of that, -kills times each")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	failed, err := drillOf(ctx, o, *chain, *sellers)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
	}
	if failed || err != nil {
		os.Exit(1)
	}
}

// drillOf runs one of the drills and prints what it found.
func drillOf(ctx context.Context, o options, chain, sellers bool) (failed bool, err error) {
	if sellers {
		r, err := runSellers(ctx, o)
		fmt.Println(r)
		return r.failed(), err
	}
	if chain {
		r, err := runChain(ctx, o)
		fmt.Println(r)
		return r.failed(), err
	}
	r, err := run(ctx, o)
	fmt.Println(r)
	return r.failed(), err
}
