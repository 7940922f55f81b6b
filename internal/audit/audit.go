// Package audit logs security events in one form: failed authentications, and what was
// allowed, revoked, redeemed and created, each with the request and the client's address.
// It logs ids and never a secret.
//
//	log := audit.New(logger, clock)
//	log.Record(ctx, audit.MandateRevoked, slog.String("mandateId", m.ID))
//	log.Did(ctx, audit.Person(m.ID), "mandate.revoke", m.ID) // into the store's audit log: see Keep
//
// Operators select the records with msg="security event"; "event" is the kind.
package audit

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/paywarrant/paywarrant/internal/clientaddr"
	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/internal/ratelimit"
)

// Event is a kind of security event.
type Event string

// The kinds of events.
const (
	AuthenticationFailed Event = "authentication_failed"
	MandateConfirmed     Event = "mandate_confirmed"
	MandateRevoked       Event = "mandate_revoked"
	PersonSignedIn       Event = "person_signed_in"
	PersonErased         Event = "person_erased"
	SignInRefused        Event = "sign_in_refused"
	MandatePaused        Event = "mandate_paused"
	MandateResumed       Event = "mandate_resumed"
	SetupRefused         Event = "setup_refused" // a card returned to another browser
	LimitsLowered        Event = "limits_lowered"
	ReceiptRedeemed      Event = "receipt_redeemed"
	MerchantCreated      Event = "merchant_created"
	SecretCreated        Event = "webhook_secret_created"
	SecretRotated        Event = "webhook_secret_rotated"
	TokenCreated         Event = "access_token_created"
	TokenRevoked         Event = "access_token_revoked"
	ScopeRefused         Event = "scope_refused"
	AppConnected         Event = "app_connected"
	AppDisconnected      Event = "app_disconnected"
	CardChanged          Event = "card_changed"
	PasskeyCopied        Event = "passkey_copied"      // its count of signatures did not grow
	OAuthReuse           Event = "oauth_secret_reused" // a code or a refresh token was used twice
)

// Failures of one address are logged once a second, in bursts of noiseBurst.
const noiseBurst = 10

// Log writes security events to a logger. Nil writes nothing. It is safe for
// concurrent use.
type Log struct {
	logger *slog.Logger
	clock  func() time.Time
	trail  atomic.Pointer[trail] // nil: nothing is stored
	noise  *ratelimit.Limits
	unsaid atomic.Int64 // failures that were not logged since the last record
}

// New returns a log.
func New(logger *slog.Logger, clock func() time.Time) *Log {
	return &Log{logger: logger, clock: clock, noise: ratelimit.New(ratelimit.Config{PerSecond: 1, Burst: noiseBurst, Clock: clock})}
}

// Record logs an event of the request that ctx belongs to. A failed authentication and a
// refused scope are logged as warnings. Such records are limited by address, so that callers cannot flood
// the log; "suppressed" is the number of records left out before.
func (l *Log) Record(ctx context.Context, e Event, attrs ...slog.Attr) {
	if l == nil {
		return
	}
	client, level := httplog.ClientAddr(ctx), slog.LevelInfo
	if e == AuthenticationFailed || e == ScopeRefused {
		if !l.noise.Take(clientaddr.Network(client)).OK {
			l.unsaid.Add(1)
			return
		}
		level = slog.LevelWarn
		attrs = append(attrs, slog.Int64("suppressed", l.unsaid.Swap(0)))
	}
	about := append([]slog.Attr{
		slog.String("event", string(e)), slog.String("requestId", httplog.RequestID(ctx)), slog.String("clientAddress", client.String()),
	}, attrs...)
	l.logger.LogAttrs(ctx, level, "security event", about...)
}
