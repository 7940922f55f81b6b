// Command agent fetches a page that costs money, within limits. Run
// `paywarrant dev --env dev.env`, and in another terminal:
//
//	. ./dev.env
//	go run ./examples/agent $API/report
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/paywarrant/paywarrant/agent"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: agent URL")
	}
	service, token := os.Getenv("SERVICE_API_URL"), os.Getenv("SERVICE_ACCESS_TOKEN")
	if err := read(context.Background(), os.Stdout, service, token, os.Getenv("SERVICE_MANDATE"), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func read(ctx context.Context, out io.Writer, service, token, m, url string) error {
	transport, err := agent.NewTransport(agent.Config{
		ServiceURL: service, Token: token, Mandate: m,
		MaxPriceMicros: 1_000_000,                                                        // a dollar for one request
		VelocityLimits: []agent.VelocityLimit{{Window: time.Hour, MaxMicros: 5_000_000}}, // five an hour
		Approve: func(_ context.Context, p agent.Purchase) error {
			fmt.Fprintf(out, "paying %s USD by %s for %s\n", p.Price(), p.Method, p.URL)
			return nil // an error would stop it: ask a person here
		},
	})
	if err != nil {
		return err
	}
	defer transport.CloseIdleConnections()
	hc := &http.Client{Transport: transport}

	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := hc.Do(r) // a 402 is paid, and the request sent again
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if receipt, ok := agent.ReceiptFrom(resp); ok {
		fmt.Fprintf(out, "paid with %s %s\n", receipt.Network, receipt.Transaction)
	}
	_, err = io.Copy(out, resp.Body)
	return err
}
