// Command meteredgate gates a stream that costs what it used. Run `paywarrant dev --env
// dev.env`, in another terminal the commands below, and ask for /answers.
//
//	. ./dev.env
//	go run ./examples/meteredgate
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/paywall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	gate, err := paywall.New(paywall.Config{
		Price:    "0.60", // the most that a request costs
		Metered:  true,
		PayTo:    os.Getenv("PAY_TO"),
		APIURL:   os.Getenv("SERVICE_API_URL"),
		Merchant: paywall.Merchant{ID: os.Getenv("SERVICE_MERCHANT_ID"), APIKey: os.Getenv("SERVICE_API_KEY")},
		TestMode: true,
		Resource: "http://127.0.0.1:8081/answers",
	})
	if err == nil {
		err = serve(ctx, gate, "127.0.0.1:8081")
	}
	if err != nil {
		log.Fatal(err)
	}
}

// serve serves until ctx is done, and then finishes what was captured.
func serve(ctx context.Context, gate *paywall.Gate, address string) error {
	mux := http.NewServeMux()
	mux.Handle("GET /answers", gate.Require(http.HandlerFunc(answer)))
	s := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- s.ListenAndServe() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	return errors.Join(s.Shutdown(within), gate.Shutdown(within))
}

// wordMicros is the price of a word in millionths of a dollar.
const wordMicros = 50_000

func answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	meter := paywall.MeterFrom(r.Context())
	for word := range strings.FieldsSeq("It will be cloudy, with rain in the evening.") {
		if err := meter.AddUnits("word", 1, wordMicros); err != nil {
			return // the price is used up
		}
		fmt.Fprintf(w, "data: %s\n\n", word)
		_ = http.NewResponseController(w).Flush()
	}
}
