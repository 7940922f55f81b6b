package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/paywarrant/paywarrant/x402"
)

// payMetered: a stream costs what it used, and the rest of its price returns to the mandate.
func (d *story) payMetered(ctx context.Context) error {
	token, err := d.grant(ctx, "wallet")
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.system.API.BaseURL+"/answer", http.NoBody)
	if err != nil {
		return err
	}
	r.Header.Set("X-Service-Mandate", token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // the trailer follows the body
	if err != nil {
		return err
	}
	receipt, err := x402.DecodeSettlement(resp.Trailer.Get("X-PAYMENT-RESPONSE"))
	if err != nil || resp.StatusCode != http.StatusOK || !receipt.Success || receipt.Metered == nil {
		return fmt.Errorf("the metered stream answered %s: %s: %w", resp.Status, body, err)
	}
	m := receipt.Metered
	words := int64(strings.Count(string(body), "data: "))
	if m.CapturedMicros != words*wordMicros || m.Usage == nil || m.Usage.Quantity != words {
		return errors.New("the receipt does not name what was streamed")
	}
	b, err := d.merchant.Balance(ctx, token)
	if err != nil {
		return err
	}
	if b.CurrentMonthlySpendCents*10_000-m.CapturedMicros >= 10_000 {
		return errors.New("the rest of the price was not given back")
	}
	d.announce("A metered stream costs what it used; the rest of its price returns to the mandate",
		fact{"at most", fmt.Sprintf("$%.4f, held before the first word", float64(m.AuthorizedMicros)/1e6)},
		fact{"used", fmt.Sprintf("%d words at $%.4f", words, float64(m.Usage.UnitPriceMicros)/1e6)},
		fact{"charged", fmt.Sprintf("$%.4f over the chain", float64(m.CapturedMicros)/1e6)}, fact{"transaction", receipt.Transaction})
	return nil
}
