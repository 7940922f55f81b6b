// Command webhooks delivers many events to a receiver that behaves badly, and
// shows that each arrives, in order for each mandate, none is invented, and that
// another endpoint notices nothing.
//
//	go run ./test/webhooks -events 100000
//	go run ./test/webhooks -kills 50        # the service is killed while it delivers
//
// The bad receiver fails 30 % of the time, answers slowly, resets connections and
// is restarted. The service's clock runs fast, so that retries are due soon.
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
	flag.IntVar(&o.Kills, "kills", 0, "how often to kill the service instead")
	flag.Uint64Var(&o.Seed, "seed", 1, "of the receiver's moods")
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
