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

// defaultRemember is how many events are remembered where Config does not say.
const defaultRemember = 10_000

// Config configures [Handler]. Printed, it does not show the secrets.
type Config struct {
	// Secrets, Tolerance and Clock are those of [Verifier]. Secrets are required:
	// without, every delivery is answered 500.
	Secrets   []string
	Tolerance time.Duration
	Clock     func() time.Time

	// One function a type. Nil: events of the type are taken and dropped. An error
	// makes the answer 500, so that the event is sent again; the error is logged and
	// not sent. ctx is the request's.
	PaymentSucceeded func(context.Context, Event, Payment) error
	PaymentFailed    func(context.Context, Event, Payment) error
	DelegateCreated  func(context.Context, Event, Delegate) error
	DelegateRevoked  func(context.Context, Event, Delegate) error
	// Other gets events of types that this version does not know, and test events.
	Other func(context.Context, Event) error

	// Remember is how many events the handler remembers, so as not to hand them out
	// twice, the latest ones; it forgets all when the process ends. Default: 10,000.
	// Negative: none. Where twice would do harm across restarts, or over several
	// processes, keep the event's id with what the function writes.
	Remember int
	// Logger is told what failed, without secrets. Default: nothing.
	Logger *slog.Logger
}

// Format hides the secrets from every verb of package fmt.
func (c Config) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "webhook.Config{Secrets:[%d redacted] Tolerance:%s Remember:%d}", len(c.Secrets), c.Tolerance, c.Remember)
}

// Handler receives deliveries: it verifies each and calls the function for its
// type. It answers 204 once the event was taken, now or earlier; 500 where the
// function returned an error; 400 where the delivery does not verify; 405 and 413
// for what is no delivery at all.
func Handler(cfg Config) http.Handler {
	h := &handler{Config: cfg, log: cfg.Logger}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	switch {
	case cfg.Remember == 0:
		h.seen = newSeen(defaultRemember)
	case cfg.Remember > 0:
		h.seen = newSeen(cfg.Remember)
	}
	return h
}

type handler struct {
	Config

	log  *slog.Logger
	seen *seen // nil: nothing is remembered
}

// ServeHTTP receives one delivery.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	e, err := Verifier{Secrets: h.Secrets, Tolerance: h.Tolerance, Clock: h.Clock}.Verify(r.Header, body)
	switch {
	case errors.Is(err, ErrSecret):
		h.log.ErrorContext(r.Context(), "webhook handler has no usable secret")
		http.Error(w, "the receiver is not configured", http.StatusInternalServerError)
	case err != nil:
		h.log.WarnContext(r.Context(), "webhook refused", slog.String("error", err.Error()))
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		h.receive(w, r, e)
	}
}

func (h *handler) receive(w http.ResponseWriter, r *http.Request, e Event) {
	err := h.once(r.Context(), e)
	if err != nil {
		h.log.ErrorContext(r.Context(), "webhook not taken", slog.String("event", e.ID), slog.String("type", string(e.Type)),
			slog.String("error", err.Error()))
		http.Error(w, "the event was not taken", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// once dispatches an event that was not taken yet.
func (h *handler) once(ctx context.Context, e Event) error {
	if h.seen == nil {
		return h.dispatch(ctx, e)
	}
	return h.seen.do(ctx, e.ID, func() error { return h.dispatch(ctx, e) })
}

func (h *handler) dispatch(ctx context.Context, e Event) error {
	switch e.Type {
	case PaymentSucceeded:
		return typed(ctx, e, h.PaymentSucceeded)
	case PaymentFailed:
		return typed(ctx, e, h.PaymentFailed)
	case DelegateCreated:
		return typed(ctx, e, h.DelegateCreated)
	case DelegateRevoked:
		return typed(ctx, e, h.DelegateRevoked)
	default: // Test, and those of newer services
	}
	if h.Other == nil {
		return nil
	}
	return h.Other(ctx, e)
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
