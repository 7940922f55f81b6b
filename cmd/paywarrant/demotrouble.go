package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/paywall"
)

// slowTimeout is how long the gate in front of the slow service waits for it.
const slowTimeout = time.Second

// trouble adds two routes whose gates have a service that fails, so that a client's
// handling of it can be tested: one answers 503, the other does not answer.
func (d *demoAPI) trouble(mux *http.ServeMux, m person, log *slog.Logger) error {
	mux.HandleFunc("/test/down/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "down, for tests", http.StatusServiceUnavailable)
	})
	mux.HandleFunc("/test/slow/", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for code, service := range map[string]string{"facilitator_unavailable": "/test/down", "facilitator_timeout": "/test/slow"} {
		gate, err := paywall.New(paywall.Config{
			Price: "0.50", Resource: d.BaseURL + "/test/" + code, PayTo: m.PayTo, APIURL: d.BaseURL + service, TestMode: true,
			CallTimeout: slowTimeout, Logger: log, Secrets: d.secrets,
		})
		if err != nil {
			return fmt.Errorf("gate %s: %w", code, err)
		}
		mux.Handle("GET /test/"+code, gate.Require(http.HandlerFunc(report)))
	}
	return nil
}

// unserved adds a route that takes the payment, fails, and gives the payment back. c is the
// configuration of the other routes' gate.
func (d *demoAPI) unserved(mux *http.ServeMux, c paywall.Config) error {
	c.Price, c.Resource, c.Discovery, c.RefundUnserved = "0.50", d.BaseURL+"/test/payment_refunded", nil, true
	gate, err := paywall.New(c)
	if err != nil {
		return fmt.Errorf("gate %s: %w", c.Resource, err)
	}
	mux.Handle("GET /test/payment_refunded", gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "fails, for tests", http.StatusInternalServerError)
	})))
	return nil
}
