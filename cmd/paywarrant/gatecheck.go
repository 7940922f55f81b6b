package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/paywall"
)

// checkService asks the service whether it knows the merchant's API key, so that a wrong one is
// found before the first buyer finds it. A service that does not answer is a warning, because it
// may start later than the gate.
func (g *runningGate) checkService(ctx context.Context, f gateFile) error {
	c, err := f.config()
	if err != nil || c.Paywall.APIURL == "" {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyFor)
	defer cancel()
	err = ask(ctx, c.Paywall.APIURL, c.Paywall.Merchant)
	switch {
	case errors.Is(err, client.ErrUnauthorized):
		return fmt.Errorf("%s refuses the merchant id and its API key: %w", c.Paywall.APIURL, err)
	case err != nil && !errors.Is(err, client.ErrInsufficientScope): // a key that only charges may not read
		g.log.WarnContext(ctx, "the service does not answer; nothing can be paid until it does",
			slog.String("service", c.Paywall.APIURL), slog.String("error", err.Error()))
	}
	return nil
}

// ask sends the service one request, as the merchant if there is one.
func ask(ctx context.Context, service string, m paywall.Merchant) error {
	if m.ID == "" {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, service, http.NoBody)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		return answer.Body.Close()
	}
	api, err := client.New(client.Config{BaseURL: service, MerchantID: m.ID, APIKey: m.APIKey, MaxRetries: -1})
	if err != nil {
		return err
	}
	_, err = api.Stats(ctx)
	return err
}
