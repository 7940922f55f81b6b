package stripe

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	api "github.com/stripe/stripe-go/v84"
	"github.com/stripe/stripe-go/v84/webhook"

	"github.com/paywarrant/paywarrant/server/rail"
)

const (
	// tolerance is how far the time of a signature may be from now, in both directions.
	tolerance = 5 * time.Minute
	// maxEvent limits the body of an event in bytes.
	maxEvent = 1 << 20
	// rememberedEvents is the number of events that are recognized when they come again.
	rememberedEvents = 10_000
)

var _ rail.Receiver = (*Rail)(nil)

var _ rail.Notifier = (*Rail)(nil)

// OnChanged implements [rail.Notifier]. Default: none.
func (r *Rail) OnChanged(report func(ctx context.Context, c rail.Changed) error) { r.changed = report }

// Events returns the handler of a webhook endpoint. It answers 400 to an event without a
// valid signature of the last five minutes, 503 if the function of [Rail.OnChanged] failed,
// so that Stripe sends the event again, and 200 to every other, also if it came before.
func (r *Rail) Events() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxEvent))
		if err != nil {
			http.Error(w, "the event did not arrive whole", http.StatusBadRequest)
			return
		}
		event, err := r.verify(body, req.Header.Get("Stripe-Signature"))
		if err != nil {
			r.logger.WarnContext(req.Context(), "card processor: event refused", slog.String("error", err.Error()))
			http.Error(w, "the signature is not valid", http.StatusBadRequest)
			return
		}
		if r.seen.first(event.ID) {
			if err := r.happened(req.Context(), event); err != nil {
				r.seen.forget(event.ID)
				r.logger.WarnContext(req.Context(), "card processor: event not handled", slog.String("event", event.ID), slog.String("error", err.Error()))
				http.Error(w, "try again later", http.StatusServiceUnavailable)
				return
			}
		}
		w.WriteHeader(http.StatusOK)
	})
}

var (
	errNoSecret  = errors.New("no webhook secret is configured")
	errSignature = errors.New("the signature is not valid")
	errTime      = errors.New("the signature is too old or from the future")
)

// verify returns the event of a body that one of the secrets has signed.
func (r *Rail) verify(body []byte, header string) (api.Event, error) {
	if len(r.secrets) == 0 {
		return api.Event{}, errNoSecret
	}
	if age := r.clock().Sub(signedAt(header)); age > tolerance || age < -tolerance {
		return api.Event{}, errTime
	}
	for _, secret := range r.secrets {
		if webhook.ValidatePayloadIgnoringTolerance(body, header, secret.Reveal()) != nil {
			continue
		}
		var event api.Event
		if err := json.Unmarshal(body, &event); err != nil || event.ID == "" || event.Data == nil {
			return api.Event{}, errors.New("the signed body is not an event")
		}
		return event, nil
	}
	return api.Event{}, errSignature
}

// signedAt returns the time in a signature header, or the zero time unless the header has
// exactly one: of several, the signature covers only one.
func signedAt(header string) (at time.Time) {
	times := 0
	for part := range strings.SplitSeq(header, ",") {
		name, text, _ := strings.Cut(part, "=")
		if strings.TrimSpace(name) != "t" {
			continue
		}
		times++
		if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
			at = time.Unix(seconds, 0)
		}
	}
	if times != 1 {
		return time.Time{}
	}
	return at
}

// happened reports the charge or refund of an event, whatever became of it.
func (r *Rail) happened(ctx context.Context, event api.Event) error {
	var about struct {
		ID       string            `json:"id"`
		Object   string            `json:"object"`
		Intent   string            `json:"payment_intent"`
		Metadata map[string]string `json:"metadata"`
	}
	if json.Unmarshal(event.Data.Raw, &about) != nil {
		return nil //nolint:nilerr // of a kind that is not used
	}
	changed := rail.Changed{Rail: rail.Card}
	switch about.Object {
	case "payment_intent":
		changed.Reference = about.Metadata[metaReference]
	case "refund":
		if changed.Reference, changed.Refund = about.Metadata[metaRefund], true; changed.Reference != "" {
			r.ids.put(metaRefund+changed.Reference, about.ID)
		}
	case "dispute":
		r.logger.WarnContext(ctx, "card processor: dispute", slog.String("event", string(event.Type)),
			slog.String("dispute", about.ID), slog.String("payment", about.Intent))
	}
	if changed.Reference == "" || r.changed == nil {
		return nil
	}
	return r.changed(ctx, changed)
}

// seen recognizes events that came before. It forgets the older half when it is full: an
// event that is handled twice does no harm.
type seen struct {
	mu          sync.Mutex
	now, before map[string]bool
}

func (s *seen) first(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now[id] || s.before[id] {
		return false
	}
	if s.now == nil || len(s.now) >= rememberedEvents/2 {
		s.before, s.now = s.now, map[string]bool{}
	}
	s.now[id] = true
	return true
}

func (s *seen) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.now, id)
}
