package gateproxy

import (
	"context"
	"net/http"
	"time"

	"github.com/felixge/httpsnoop"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/paywarrant/paywarrant/paywall"
)

// outcome is the result of a request.
type outcome string

// The outcomes.
const (
	unpaid        outcome = "unpaid"         // it brought no credential: 402
	refused       outcome = "refused"        // its credential was refused
	paid          outcome = "paid"           // it was paid and answered
	free          outcome = "free"           // it was answered without payment
	upstreamError outcome = "upstream_error" // the upstream did not answer
)

// metrics counts requests and payments.
type metrics struct {
	requests *prometheus.CounterVec
	micros   *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newMetrics(to prometheus.Registerer) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "paywarrant_gate_requests_total", Help: "Requests by route and outcome: unpaid, refused, paid, free, upstream_error.",
		}, []string{"route", "outcome"}),
		micros: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "paywarrant_gate_paid_micro_dollars_total", Help: "What was paid, in millionths of a US dollar.",
		}, []string{"route"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "paywarrant_gate_request_duration_seconds", Help: "How long requests took, with their responses.",
		}, []string{"route"}),
	}
	if to != nil {
		to.MustRegister(m.requests, m.micros, m.duration)
	}
	return m
}

// seen is what is known of a running request.
type seen struct {
	outcome outcome
	route   string
	m       *metrics
}

type seenKey struct{}

// of counts the requests of a route.
func (m *metrics) of(route string, next http.Handler) http.Handler {
	duration := m.duration.WithLabelValues(route)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := &seen{route: route, m: m}
		begun := time.Now()
		defer func() {
			duration.Observe(time.Since(begun).Seconds())
			m.requests.WithLabelValues(route, string(s.outcome)).Inc()
		}()
		wrapped := httpsnoop.Wrap(w, httpsnoop.Hooks{
			WriteHeader: func(write httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc {
				return func(code int) {
					s.answered(code)
					write(code)
				}
			},
		})
		next.ServeHTTP(wrapped, r.WithContext(context.WithValue(r.Context(), seenKey{}, s)))
	})
}

// answered notes the answer of the gate itself.
func (s *seen) answered(status int) {
	switch {
	case s.outcome != "":
	case status == http.StatusPaymentRequired:
		s.outcome = unpaid
	case status >= http.StatusBadRequest:
		s.outcome = refused
	default:
		s.outcome = free
	}
}

// note notes an outcome. It returns nil if the request is not counted.
func note(ctx context.Context, o outcome) *seen {
	s, ok := ctx.Value(seenKey{}).(*seen)
	if ok {
		s.outcome = o
	}
	return s
}

// onPaid counts a payment.
func onPaid(r *http.Request, p paywall.Payment) {
	if s := note(r.Context(), paid); s != nil {
		s.m.micros.WithLabelValues(s.route).Add(float64(p.AmountMicros))
	}
}

// onRefused counts a refusal.
func onRefused(r *http.Request, _ paywall.Refusal) { note(r.Context(), refused) }
