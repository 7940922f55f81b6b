// Package toolkit has the functions behind an agent's tools: ask a person for a mandate, read
// its balance, pay, fetch what costs money, and verify receipts. Each function takes and
// returns plain values, so it fits any framework; package agent/mcptools serves them by the
// Model Context Protocol.
//
//	kit, err := toolkit.New(toolkit.Config{ServiceURL: base, Token: token})
//	fetched, err := kit.Fetch(ctx, toolkit.FetchIn{URL: "https://api.example.com/weather"})
//
// Errors are [*Error], which a model can act on: a code, a message, a remedy, and what to do
// next. No output contains the access token or a mandate's token.
//
// # Paid once
//
// A model may call a tool twice for one purpose. So a payment that equals an earlier one of
// the last ten minutes (mandate, payee, amount, description) is refused with
// [CodeDuplicate] unless the call says to pay again. A Kit remembers its payments in memory.
// [Kit.Pay] also derives its idempotency key from the payment and the ten minutes of the clock
// that it falls into, so that another process does not repeat it in those minutes. [Kit.Fetch]
// has no such key: another process that fetches the same URL pays again. With [Config.Journal],
// a fetch that was killed, or whose answer was lost, is not paid again after a restart.
package toolkit

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/client"
)

const (
	// defaultMaxPriceCents limits a fetch that names no limit of its own.
	defaultMaxPriceCents = 100
	// maxPriceCents is the highest limit that a fetch may name. The mandate's limits are
	// usually lower.
	maxPriceCents = 10_000_000
	// maxAgents limits the mandates whose credentials are kept at the same time.
	maxAgents = 8
	// microsPerCent is the number of millionths of a dollar in a cent.
	microsPerCent = 10_000
)

// Config configures a [Kit].
type Config struct {
	// ServiceURL is the address of the service, without /v1. Required.
	ServiceURL string
	// Token is the access token (token_…). It is sent only to ServiceURL. Required.
	Token string
	// Mandate is the mandate that pays if a call names none: its token, or its id (del_…) if
	// Token may use it by id. Default: none.
	Mandate string
	// HTTPClient sends requests to the service; see client.Config. Default: that of client.
	HTTPClient *http.Client
	// AllowPrivate lets fetches reach addresses that are not public, for development.
	// Default: public addresses only.
	AllowPrivate bool
	// Journal records what fetches pay from mandates, so that the repetition of one that was
	// killed sends the same payment; see agent.Config. Default: memory alone, until the process
	// ends.
	Journal agent.Journal
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time
}

// Kit has the functions of an agent's tools. It is safe for concurrent use.
type Kit struct {
	cfg     Config
	service *client.Client
	free    *agent.Client // never pays
	repeats *repeats
	paid    *receipts

	mu     sync.Mutex
	agents []*paying // the latest used last
}

// New returns a Kit. It performs no I/O. The returned error names the invalid field.
func New(cfg Config) (*Kit, error) {
	if cfg.Token == "" {
		return nil, errors.New("toolkit: Token: is required")
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	service, err := client.New(client.Config{BaseURL: cfg.ServiceURL, AccessToken: cfg.Token, HTTPClient: cfg.HTTPClient})
	if err != nil {
		return nil, err
	}
	free, err := agent.New(agent.Config{MaxPriceMicros: 1, AllowPrivate: cfg.AllowPrivate, Clock: cfg.Clock})
	if err != nil {
		return nil, err
	}
	return &Kit{cfg: cfg, service: service, free: free, repeats: newRepeats(cfg.Clock), paid: &receipts{}}, nil
}

// CloseIdleConnections closes connections that no call is using.
func (k *Kit) CloseIdleConnections() {
	k.service.CloseIdleConnections()
	k.free.CloseIdleConnections()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.agents {
		p.CloseIdleConnections()
	}
}

// paying is an agent that pays from one mandate. It keeps the credentials of payments whose
// content was not delivered.
type paying struct {
	*agent.Client

	mandate string
}

// payer returns the agent of a mandate.
func (k *Kit) payer(mandate string) (*agent.Client, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, p := range k.agents {
		if p.mandate == mandate {
			k.agents = append(append(k.agents[:i:i], k.agents[i+1:]...), p)
			return p.Client, nil
		}
	}
	cfg := agent.Config{
		MaxPriceMicros: maxPriceCents * microsPerCent, AllowPrivate: k.cfg.AllowPrivate, Clock: k.cfg.Clock, Approve: k.approve,
		Journal: k.cfg.Journal,
	}
	if mandate != "" {
		cfg.Service, cfg.Mandate = k.service, mandate
	}
	c, err := agent.New(cfg)
	if err != nil {
		return nil, err
	}
	if len(k.agents) == maxAgents {
		k.agents[0].CloseIdleConnections()
		k.agents = k.agents[1:]
	}
	k.agents = append(k.agents, &paying{c, mandate})
	return c, nil
}

// mandate returns the mandate of a call, or the configured one.
func (k *Kit) mandate(named string) string {
	if named != "" {
		return named
	}
	return k.cfg.Mandate
}
