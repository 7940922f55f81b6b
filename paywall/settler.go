package paywall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/retryafter"
	"github.com/paywarrant/paywarrant/x402"
)

// Settler moves the money of a credential that passed the checks of the gate. It must move
// the money at most once for an idempotency key or a signed authorization.
type Settler interface {
	// SettleMandate charges the price to a mandate or a presentation. If it returns a
	// [*client.Error] with a code of a charge, nothing moved. After any other error the
	// outcome is unknown, and a repeat of the call returns it.
	SettleMandate(ctx context.Context, p client.PaywallSettlementParams) (MandateSettlement, error)
	// SettleTransfer submits a signed transfer. Its errors are those of
	// [x402.Facilitator.Settle].
	SettleTransfer(ctx context.Context, req x402.FacilitatorRequest) (x402.Settlement, error)
}

// Verifier is a [Settler] that can check a transfer without moving money. The gate verifies
// payments of x402 version 2 with it before it claims them, unless an external facilitator
// is configured. Without a verifier, a payment-identifier whose payment was not served is
// honored only for the credential that paid, not for one that the client signs again.
type Verifier interface {
	// Verify checks a payment. Its errors are those of [x402.Facilitator.Verify].
	Verify(ctx context.Context, req x402.FacilitatorRequest) (x402.Verification, error)
}

// MandateSettlement is the outcome of [Settler.SettleMandate].
type MandateSettlement struct {
	client.PaywallSettlement

	// Replayed reports that the key was settled before, and that this is the first result.
	Replayed bool
}

const (
	// maxAnswer is the largest response of the service that is read, in bytes.
	maxAnswer = 64 << 10
	// maxRetryAfter is the longest Retry-After that is passed on to clients.
	maxRetryAfter = time.Hour
)

// service settles over HTTP.
type service struct {
	*x402.Facilitator
	url      string
	client   *http.Client
	timeout  time.Duration
	merchant Merchant
	own      bool // transfers are settled by the service, not by another facilitator
}

func newService(c Config) (*service, error) {
	s := &service{url: trimSlash(c.APIURL) + "/v1/paywall/settle", timeout: c.CallTimeout, merchant: c.Merchant}
	copied := *c.HTTPClient
	copied.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.client = &copied

	address, header := c.Facilitator, http.Header{}
	if address == "" {
		address = trimSlash(c.APIURL) + "/v1/x402"
		s.authenticate(header)
		s.own = true
	}
	var err error
	s.Facilitator, err = x402.NewFacilitator(x402.FacilitatorConfig{
		URL: address, Header: header, Timeout: c.CallTimeout, HTTPClient: c.HTTPClient, Clock: c.Clock,
	})
	if err != nil {
		return nil, field("Facilitator", err)
	}
	return s, nil
}

func (s *service) authenticate(h http.Header) {
	if s.merchant.ID != "" {
		h.Set("X-Service-Merchant-Id", s.merchant.ID)
		h.Set("X-Service-Api-Key", s.merchant.APIKey)
	}
}

// SettleTransfer implements [Settler].
func (s *service) SettleTransfer(ctx context.Context, req x402.FacilitatorRequest) (x402.Settlement, error) {
	return s.Settle(ctx, req)
}

// SettleMandate implements [Settler].
func (s *service) SettleMandate(ctx context.Context, p client.PaywallSettlementParams) (MandateSettlement, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	body, err := json.Marshal(p)
	if err != nil {
		return MandateSettlement{}, fmt.Errorf("settle mandate: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return MandateSettlement{}, fmt.Errorf("settle mandate: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set(HeaderIdempotencyKey, p.IdempotencyKey)
	s.authenticate(req.Header)
	resp, err := s.client.Do(req)
	if err != nil {
		return MandateSettlement{}, unanswered(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return MandateSettlement{}, unanswered(err)
	}
	return readSettlement(resp, data)
}

// readSettlement decodes a response. A success must name the transaction.
func readSettlement(resp *http.Response, data []byte) (MandateSettlement, error) {
	wait := retryafter.Read(resp.Header.Get("Retry-After"), maxRetryAfter)
	if len(data) > maxAnswer {
		return MandateSettlement{}, &outageError{retryAfter: wait, err: fmt.Errorf("answer over %d bytes", maxAnswer)}
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		e := &client.Error{}
		if err := json.Unmarshal(data, e); err != nil || e.Code == "" {
			return MandateSettlement{}, &outageError{retryAfter: wait, err: fmt.Errorf("answered %d without a code", resp.StatusCode)}
		}
		e.Status, e.RetryAfter = resp.StatusCode, wait
		return MandateSettlement{}, e
	}
	var s MandateSettlement
	if err := json.Unmarshal(data, &s.PaywallSettlement); err != nil {
		return MandateSettlement{}, &outageError{retryAfter: wait, err: errors.New("answer is not JSON")}
	}
	if s.Success && s.Transaction == "" && s.TransactionID == "" {
		return MandateSettlement{}, &outageError{retryAfter: wait, err: errors.New("answered success without a transaction")}
	}
	s.Replayed = strings.EqualFold(resp.Header.Get("Idempotency-Replayed"), "true")
	return s, nil
}

// outageError reports a settlement without a usable response.
type outageError struct {
	timeout    bool
	retryAfter time.Duration
	err        error
}

func (e *outageError) Error() string { return "settle mandate: " + e.err.Error() }

func (e *outageError) Unwrap() error { return e.err }

func unanswered(err error) error {
	var timeout net.Error
	late := errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &timeout) && timeout.Timeout())
	return &outageError{timeout: late, err: err}
}
