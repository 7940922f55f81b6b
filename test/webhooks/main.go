// Command webhooks delivers many events to receivers that behave badly, and shows
// that each arrives, in order for each mandate, none is invented, and that other
// endpoints notice nothing.
//
//	go -C test run ./webhooks                      # 100,000 events, 200 endpoints, 40 of them bad
//	go -C test run ./webhooks -postgres
//	go -C test run ./webhooks -kills 50            # the service is killed while it delivers
//	go -C test run ./webhooks -kills 50 -points    # so often at each labelled step of a delivery
//	go -C test run ./webhooks -kills 50 -instances 3 -postgres
//
// Every event goes to four endpoints that behave and to a bad one, which fails 30 %
// of the time, answers slowly or never, resets connections and is restarted. The
// service is a `paywarrant serve` of its own. Its clock is moved once all has
// happened, so that retries of hours are due soon; latencies are measured before.
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
	flag.IntVar(&o.Events, "events", 100_000, "how many events")
	flag.IntVar(&o.Endpoints, "endpoints", 200, "how many endpoints they go to, five each")
	flag.IntVar(&o.Rate, "rate", 150, "how many events a second; 0: as fast as they come")
	flag.IntVar(&o.Kills, "kills", 0, "how often to kill the service instead")
	flag.BoolVar(&o.Points, "points", false, "kill it at each labelled step of a delivery, -kills times each, instead of at random")
	flag.IntVar(&o.Instances, "instances", 1, "how many instances of the service; several need -postgres")
	flag.BoolVar(&o.Postgres, "postgres", false, "keep the ledger in PostgreSQL instead of SQLite")
	flag.Uint64Var(&o.Seed, "seed", 1, "of the receivers' moods")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	drill := deliver
	if o.Kills > 0 {
		drill = kill
	}
	r, err := drill(ctx, o)
	stop()
	fmt.Println(r)
	if err != nil {
		fmt.Fprintln(os.Stderr, "webhooks:", err)
	}
	if err != nil || r.failed() {
		os.Exit(1)
	}
}
