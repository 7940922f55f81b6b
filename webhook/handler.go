package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"
)

// defaultRemember is the default of [Config.Remember].
const defaultRemember = 10_000

// Config configures a [Handler]. Printed, it does not show the secrets.
type Config struct {
	// Secrets are the signing secrets that are accepted; see [Verifier.Secrets]. Required.
	Secrets []string
	// Tolerance is the largest age of a delivery; see [Verifier.Tolerance]. Default: 300 s.
	Tolerance time.Duration
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time

	// PaymentSucceeded handles [PaymentSucceeded] events. This function and those below get
	// the context of the request. If one returns an error, the handler logs it and answers
	// 500, and the service sends the event again. Default: the event is acknowledged.
	PaymentSucceeded func(context.Context, Event, Payment) error
	// PaymentFailed handles [PaymentFailed] events. Default: the event is acknowledged.
	PaymentFailed func(context.Context, Event, Payment) error
	// PaymentAuthorized handles [PaymentAuthorized] events. Default: the event is acknowledged.
	PaymentAuthorized func(context.Context, Event, Payment) error
	// PaymentVoided handles [PaymentVoided] events. Default: the event is acknowledged.
	PaymentVoided func(context.Context, Event, Payment) error
	// PaymentWrittenOff handles [PaymentWrittenOff] events. Default: the event is acknowledged.
	PaymentWrittenOff func(context.Context, Event, Payment) error
	// PaymentRefunded handles [PaymentRefunded] events. Default: the event is acknowledged.
	PaymentRefunded func(context.Context, Event, Payment) error
	// PaymentRefundFailed handles [PaymentRefundFailed] events. Default: the event is acknowledged.
	PaymentRefundFailed func(context.Context, Event, Payment) error
	// PaymentReversed handles [PaymentReversed] events. Default: the event is acknowledged.
	PaymentReversed func(context.Context, Event, Payment) error
	// MandateCreated handles [MandateCreated] events. Default: the event is acknowledged.
	MandateCreated func(context.Context, Event, Mandate) error
	// MandateRevoked handles [MandateRevoked] events. Default: the event is acknowledged.
	MandateRevoked func(context.Context, Event, Mandate) error
	// Other handles [Test] events, and events of types that this version does not know.
	// Default: the event is acknowledged.
	Other func(context.Context, Event) error

	// Remember is the number of the latest events that the handler remembers, so that it
	// passes each on once. It forgets them when the process ends. If an event must not be
	// handled twice across restarts or by several processes, store its id together with what
	// the function writes. Default: 10,000. Negative: none.
	Remember int
	// Logger logs errors, never secrets. Default: none.
	Logger *slog.Logger
}

// Format hides the secrets for every verb.
func (c Config) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "webhook.Config{Secrets:[%d redacted] Tolerance:%s Remember:%d}", len(c.Secrets), c.Tolerance, c.Remember)
}

// Handler is an http.Handler that receives deliveries. It verifies each one and calls the
// function for its type. Create one with [NewHandler]. It is safe for concurrent use.
//
// It answers 204 if the event was handled, now or earlier; 500 if the function returned an
// error; 400 if the delivery does not verify; and 405 or 413 if the request is not a delivery.
type Handler struct {
	config Config
	log    *slog.Logger
	seen   *seen // nil: nothing is remembered
}

// NewHandler returns a Handler. The returned error names the invalid field; it matches
// [ErrSecret] if a secret is missing or malformed, and never shows it.
func NewHandler(cfg Config) (*Handler, error) {
	if len(cfg.Secrets) == 0 {
		return nil, fmt.Errorf("%w: Secrets is empty", ErrSecret)
	}
	for i, secret := range cfg.Secrets {
		if _, err := keys([]string{secret}); err != nil {
			return nil, fmt.Errorf("%w: Secrets[%d]", err, i)
		}
	}
	if cfg.Tolerance < 0 {
		return nil, errors.New("webhook: Tolerance is negative")
	}
	h := &Handler{config: cfg, log: cfg.Logger}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	switch {
	case cfg.Remember == 0:
		h.seen = newSeen(defaultRemember)
	case cfg.Remember > 0:
		h.seen = newSeen(cfg.Remember)
	}
	return h, nil
}

// ServeHTTP handles a delivery.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "deliveries are sent with POST", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		http.Error(w, ErrTooLarge.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		http.Error(w, "the body ended early", http.StatusBadRequest)
		return
	}
	e, err := Verifier{Secrets: h.config.Secrets, Tolerance: h.config.Tolerance, Clock: h.config.Clock}.Verify(r.Header, body)
	if err != nil {
		h.log.WarnContext(r.Context(), "webhook refused", slog.String("error", err.Error()))
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.receive(w, r, e)
}

func (h *Handler) receive(w http.ResponseWriter, r *http.Request, e Event) {
	err := h.once(r.Context(), e)
	if err != nil {
		h.log.ErrorContext(r.Context(), "webhook not handled", slog.String("event", e.ID), slog.String("type", string(e.Type)),
			slog.String("error", err.Error()))
		http.Error(w, "the event was not handled", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// once dispatches an event unless it was handled before.
func (h *Handler) once(ctx context.Context, e Event) error {
	if h.seen == nil {
		return h.dispatch(ctx, e)
	}
	return h.seen.do(ctx, e.ID, func() error { return h.dispatch(ctx, e) })
}

func (h *Handler) dispatch(ctx context.Context, e Event) error {
	switch e.Type {
	case PaymentSucceeded:
		return typed(ctx, e, h.config.PaymentSucceeded)
	case PaymentFailed:
		return typed(ctx, e, h.config.PaymentFailed)
	case PaymentAuthorized:
		return typed(ctx, e, h.config.PaymentAuthorized)
	case PaymentVoided:
		return typed(ctx, e, h.config.PaymentVoided)
	case PaymentWrittenOff:
		return typed(ctx, e, h.config.PaymentWrittenOff)
	case PaymentRefunded:
		return typed(ctx, e, h.config.PaymentRefunded)
	case PaymentRefundFailed:
		return typed(ctx, e, h.config.PaymentRefundFailed)
	case PaymentReversed:
		return typed(ctx, e, h.config.PaymentReversed)
	case MandateCreated:
		return typed(ctx, e, h.config.MandateCreated)
	case MandateRevoked:
		return typed(ctx, e, h.config.MandateRevoked)
	default: // Test, and types of newer services
	}
	if h.config.Other == nil {
		return nil
	}
	return h.config.Other(ctx, e)
}

func typed[Data any](ctx context.Context, e Event, f func(context.Context, Event, Data) error) error {
	if f == nil {
		return nil
	}
	var data Data
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return fmt.Errorf("decode data of %s: %w", e.Type, err)
	}
	return f(ctx, e, data)
}
