// Package storetest is the contract of [store.Store] beyond the ledger's part: accounts, the
// audit log, sealed keys and webhooks. Package ledgertest has the suite for the rest.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Open { … of a fresh, empty database … })
//	}
//
// A new behavior of the store gets its test here or there, never in one store only.
package storetest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store"
)

// Open opens a store on one database. The suite closes it.
type Open func(ctx context.Context) (store.Store, error)

// Run runs the whole suite. Each test calls fresh for an empty database.
func Run(t *testing.T, fresh func(t *testing.T) Open) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, *bench){
		"access tokens":                 accessTokens,
		"accounts":                      accounts,
		"OAuth clients":                 oauthClients,
		"OAuth grants":                  oauthGrants,
		"an OAuth secret is used once":  oauthSecretIsUsedOnce,
		"revoked OAuth grants":          revokedOAuthGrants,
		"API keys":                      apiKeys,
		"operators":                     operators,
		"profiles":                      profiles,
		"audit log":                     auditLog,
		"sealed keys":                   sealedKeys,
		"seals":                         seals,
		"mails":                         mails,
		"one-time codes":                oneTimeCodes,
		"web sessions":                  webSessions,
		"passkeys":                      passkeys,
		"owners of mandates":            mandateOwners,
		"notices":                       notices,
		"listings":                      listings,
		"searches of listings":          searchesOfListings,
		"market servers":                marketServers,
		"webhook endpoints":             webhookEndpoints,
		"webhook endpoints are bounded": webhookEndpointsAreBounded,
		"webhook leases":                webhookLeases,
		"a clock that goes back":        clockGoesBack,
		"webhook news":                  webhookNews,
		"endpoints come forward":        endpointsComeForward,
		"deliveries hold back":          deliveriesHoldBack,
		"outcomes count once":           outcomesCountOnce,
		"late saves are refused":        lateSavesAreRefused,
		"redelivery during an attempt":  redeliveryDuringAnAttempt,
		"delivery retention":            deliveryRetention,
		"reports":                       reports,
		"reports of another merchant":   reportsOfAnother,
		"searches are bounded":          searchesAreBounded,
		"merchants by email":            merchantsByEmail,
		"checker and retention":         checkerAndRetention,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, setup(t, fresh(t)))
		})
	}
}

// bench is a fresh store with a ledger on it, a clock to move and a merchant.
type bench struct {
	*ledger.Ledger

	store    store.Store
	clock    *clock
	merchant ledger.Merchant
	mandates int64 // the number of ids of mandates drawn so far
}

type clock struct{ millis atomic.Int64 }

func (c *clock) Now() time.Time { return time.UnixMilli(c.millis.Load()).UTC() }

func (c *clock) set(t time.Time) { c.millis.Store(t.UnixMilli()) }

func setup(t *testing.T, open Open) *bench {
	t.Helper()
	b := &bench{clock: &clock{}}
	b.clock.set(time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC))
	b.open(t, open)
	t.Cleanup(func() { b.close(t) })
	b.merchant = ledger.Merchant{ID: id.New(id.Merchant, b.clock.Now()), Name: "Acme", Active: true, CreatedAt: b.clock.Now()}
	require.NoError(t, b.store.PutMerchant(t.Context(), b.merchant))
	return b
}

// open opens the store and a ledger on it.
func (b *bench) open(t *testing.T, open Open) {
	t.Helper()
	var err error
	b.store, err = open(t.Context())
	require.NoError(t, err)
	b.Ledger, err = ledger.New(ledger.Config{Store: b.store, Clock: b.clock.Now})
	require.NoError(t, err)
}

func (b *bench) close(t *testing.T) {
	t.Helper()
	b.Close()
	require.NoError(t, b.store.Close())
}

const cent = ledger.Micros(10_000)

// mandate confirms a mandate of the merchant, which emits one event.
func (b *bench) mandate(t *testing.T) ledger.Mandate {
	t.Helper()
	now := b.clock.Now()
	terms := ledger.Terms{
		MaxPerTx: 100 * cent, MaxMonthly: 1000 * cent, Rails: []rail.Name{rail.Card}, Payees: []string{b.merchant.ID}, ExpiresAt: now.AddDate(1, 0, 0),
	}
	s := ledger.Session{
		Hash: id.Hash(id.NewCapability(id.Session)), MerchantID: b.merchant.ID, Status: ledger.SessionPending,
		Terms: terms, CreatedAt: now, ExpiresAt: now.Add(24 * time.Hour),
	}
	require.NoError(t, b.CreateSession(t.Context(), s))
	m, err := b.CompleteSession(t.Context(), ledger.Completion{
		SessionHash: s.Hash, MandateID: b.mandateID(), Terms: terms, SealedToken: []byte("sealed"),
	})
	require.NoError(t, err)
	return m
}

// mandateID returns the id of a mandate. Those of later mandates come first, since the ids of
// the service have no order in time.
func (b *bench) mandateID() string {
	b.mandates++
	return id.New(id.Mandate, time.UnixMilli(1e12-b.mandates))
}

// reserve makes a pending charge of one cent.
func (b *bench) reserve(t *testing.T, m ledger.Mandate) ledger.Charge {
	t.Helper()
	r, err := b.Reserve(t.Context(), ledger.Reserve{
		ChargeID: id.New(id.Charge, b.clock.Now()), MandateID: m.ID, TokenValid: true, Payee: b.merchant, Amount: cent, Currency: "usd",
		Rails: []rail.Name{rail.Card}, IdempotencyKey: id.NewCapability("key_"), Fingerprint: "test", RequestID: "req_1", Lease: time.Minute,
	})
	require.NoError(t, err)
	return r.Charge
}

// settle ends a charge, which emits one event.
func (b *bench) settle(t *testing.T, c ledger.Charge, outcome rail.Outcome) {
	t.Helper()
	_, err := b.Settle(t.Context(), c, ledger.Settlement{Rail: rail.Card, Outcome: outcome})
	require.NoError(t, err)
}

// charge charges a mandate one cent, which emits one event.
func (b *bench) charge(t *testing.T, m ledger.Mandate) {
	t.Helper()
	b.settle(t, b.reserve(t, m), rail.Outcome{Status: rail.Succeeded, ProcessorID: "pay_1"})
}

// expire deletes what has expired.
func (b *bench) expire(t *testing.T) {
	t.Helper()
	_, err := b.Expire(t.Context(), b.clock.Now())
	require.NoError(t, err)
}

// sound checks the whole ledger, and what changed since the last check.
func (b *bench) sound(t *testing.T) ledger.Report {
	t.Helper()
	all, err := ledger.CheckAt(t.Context(), b.store, b.clock.Now())
	require.NoError(t, err)
	require.Empty(t, all.Faults)
	changed, err := ledger.NewChecker(b.store, b.clock.Now).Changed(t.Context())
	require.NoError(t, err)
	require.Empty(t, changed.Faults)
	return all
}

// stream reads the merchant's events after an offset.
func (b *bench) stream(t *testing.T, after int64) []ledger.Event {
	t.Helper()
	list, err := b.store.StreamEvents(t.Context(), b.merchant.ID, after, 100)
	require.NoError(t, err)
	return list
}

// eventsOf reads the events of a mandate.
func (b *bench) eventsOf(t *testing.T, m ledger.Mandate) (events []ledger.Event) {
	t.Helper()
	for _, e := range b.stream(t, 0) {
		if e.MandateID == m.ID {
			events = append(events, e)
		}
	}
	return events
}
