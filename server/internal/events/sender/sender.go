// Package sender sends an event to a webhook endpoint: one signed POST, to addresses that
// may be dialed, with limits on time and on what is read of the answer. It stores nothing.
package sender

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/paywarrant/paywarrant/internal/ssrf"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/vault"
	"github.com/paywarrant/paywarrant/webhook"
)

// Config configures a Sender. Vault is required.
type Config struct {
	Vault *vault.Vault
	// Live is the value of livemode in every event.
	Live bool
	// May reports whether an address may be dialed. Default: those of the public internet.
	May func(netip.Addr) bool
	// Resolver resolves the names of endpoints. Default: the system's.
	Resolver *net.Resolver
	// Connections limits the idle connections to one endpoint.
	Connections int
}

// Sender sends events. It is safe for concurrent use.
type Sender struct {
	Config

	transport *http.Transport
}

// New returns a sender.
func New(cfg Config) *Sender {
	if cfg.May == nil {
		cfg.May = ssrf.Public
	}
	dialer := ssrf.DialerTo(Timeout, cfg.May)
	dialer.Resolver = cfg.Resolver
	return &Sender{Config: cfg, transport: &http.Transport{
		DialContext:  dialer.DialContext,
		MaxIdleConns: 4096, MaxIdleConnsPerHost: cfg.Connections, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: Timeout,
		MaxResponseHeaderBytes: 64 << 10, DisableCompression: true, ForceAttemptHTTP2: true,
	}}
}

// Close closes idle connections.
func (s *Sender) Close() { s.transport.CloseIdleConnections() }

func label(endpointID string) vault.Label {
	return vault.Label{Purpose: "webhook-secret", Owner: endpointID}
}

// NewSecret returns a signing secret for an endpoint, plain and sealed.
func (s *Sender) NewSecret(ctx context.Context, endpointID string) (secret string, sealed []byte, err error) {
	secret = webhook.NewSecret()
	if sealed, err = s.Vault.Seal(ctx, label(endpointID), []byte(secret)); err != nil {
		return "", nil, fmt.Errorf("seal webhook secret: %w", err)
	}
	return secret, sealed, nil
}

// Target is an endpoint's URL with its opened secrets.
type Target struct {
	url    *url.URL
	signer *webhook.Signer
	until  time.Time // the previous secret signs as well until then; zero: there is none
}

// Expired reports whether the target signs with a secret that is not valid any more.
func (t *Target) Expired(now time.Time) bool { return !t.until.IsZero() && !now.Before(t.until) }

// Open opens the secrets that an endpoint's deliveries are signed with at a time.
func (s *Sender) Open(ctx context.Context, e store.WebhookEndpoint, now time.Time) (_ *Target, err error) {
	to, sealed := &Target{}, [][]byte{e.Secret}
	if to.url, err = url.Parse(e.URL); err != nil {
		return nil, errors.New("the endpoint has no URL")
	}
	if len(e.PreviousSecret) > 0 && now.Before(e.PreviousUntil) {
		sealed, to.until = append(sealed, e.PreviousSecret), e.PreviousUntil
	}
	var secrets []string
	for _, b := range sealed {
		secret, err := s.Vault.Open(ctx, label(e.ID), b)
		if err != nil {
			return nil, fmt.Errorf("webhook endpoint %s: open signing secret: %w", e.ID, err)
		}
		secrets = append(secrets, string(secret))
		clear(secret)
	}
	if to.signer, err = webhook.NewSigner(secrets...); err != nil {
		return nil, fmt.Errorf("webhook endpoint %s: %w", e.ID, err)
	}
	return to, nil
}
