// Package ledgertest is the contract of [ledger.Store]: one suite that every
// store passes, run through a [ledger.Ledger] as the service runs it.
//
//	func TestStore(t *testing.T) {
//		ledgertest.Run(t, func(t *testing.T) ledgertest.Database { … a fresh, empty one … })
//	}
//
// A new behavior of the ledger gets its test here, never in one store only. Package
// storetest has the suite for everything else that a store stores.
package ledgertest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// Database is where stores keep a ledger.
type Database struct {
	// Open opens a store on the database; the suite closes it, and may open it
	// again afterwards.
	Open func(ctx context.Context) (ledger.Store, error)
	// Shared reports that several stores may be open on it at once.
	Shared bool
}

// Fresh makes an empty database.
type Fresh func(t *testing.T) Database

// Run runs the whole suite.
func Run(t *testing.T, fresh Fresh) {
	t.Helper()
	for _, tests := range []map[string]func(*testing.T, *bench){chargeTests(), spendingTests(), bookTests()} {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, setup(t, fresh(t)))
			})
		}
	}
}

// chargeTests returns the tests of charges, of the checker and of several instances.
func chargeTests() map[string]func(*testing.T, *bench) {
	return map[string]func(*testing.T, *bench){
		"a state is what is stored":        stateIsWhatIsStored,
		"what is not saved is not seen":    unsavedIsUnseen,
		"atomic five":                      atomicFive,
		"limits hold to the micro":         limitsToTheMicro,
		"month rollover":                   monthRollover,
		"clock backwards":                  clockBackwards,
		"idempotency":                      idempotency,
		"request key":                      requestKey,
		"refusals are remembered":          refusalsAreRemembered,
		"capture and release":              captureAndRelease,
		"late release after rollover":      lateRelease,
		"conflicting outcomes":             conflictingOutcomes,
		"reversed payments":                reversedPayments,
		"attempts on further rails":        nextRails,
		"kinds of keys":                    keyKinds,
		"charges of a transaction":         chargesOfTransaction,
		"leases":                           leases,
		"lapsed charges by rail":           lapsedByRail,
		"leases of earlier processes":      leasesOfEarlierProcesses,
		"leases of dead refunds":           leasesOfRefundsOfEarlierProcesses,
		"revocation":                       revocation,
		"sessions":                         sessions,
		"sessions only narrow":             sessionsOnlyNarrow,
		"refused attempts are unwound":     refusedAttemptsAreUnwound,
		"attempts refused at once":         attemptsRefusedAtOnce,
		"concurrent charges":               concurrentCharges,
		"concurrent use of one key":        concurrentKey,
		"revoke races charges":             revokeRaces,
		"list and statistics":              listAndStatistics,
		"random commands against a model":  randomCommands,
		"survives reopening of the ledger": reopenLedger,
		"a cancelled request":              cancelled,
		"retention":                        retention,
		"expiry in batches":                expiryInBatches,
		"checker finds planted faults":     checkerFinds,
		"checker follows what changes":     checkerFollows,
		"checker stores how far it came":   checkerStoresItsProgress,
		"checker reports a fault again":    checkerReportsAgain,
		"checker begins in the middle":     checkerBeginsInTheMiddle,
		"checker knows added limits":       checkerKnowsAddedLimits,
		"one instance checks":              oneInstanceChecks,
		"events expire as a prefix":        eventsExpireAsAPrefix,
		"the database's clock":             databaseClock,
		"crashes against a model":          crashes,
		"a lost answer":                    lostAnswer,
		"linearizable limit":               linearizable,
		"500 calls at every limit":         atItsLimits,
		"limit across instances":           limitAcrossInstances,
		"key across instances":             keyAcrossInstances,
		"charges of a dead instance":       deadInstance,
		"settled by two instances":         settledByTwo,
		"revoked on another instance":      revokeOnAnother,
		"streams have every event":         streamsHaveEveryEvent,
		"events get their places":          eventsGetTheirPlaces,
		"a store has one service":          oneService,
		"streams against charges":          streamsAgainstCharges,
	}
}

// spendingTests returns the tests of limits, refunds, holds and tabs.
func spendingTests() map[string]func(*testing.T, *bench) {
	return map[string]func(*testing.T, *bench){
		"lowered limits":                loweredLimits,
		"paused mandate":                pausedMandate,
		"changed card":                  changedCard,
		"cards that are not changed to": cardsThatAreNotChangedTo,
		"added limits":                  addedLimits,
		"added limits race charges":     addedRacesCharges,
		"lower limits race charges":     lowerRacesCharges,
		"windows refuse":                windowsRefuse,
		"refunds":                       refunds,
		"refusals of refunds":           onlyRefundable,
		"repeats of refunds":            repeatedRefunds,
		"refunds on the chain":          refundsOnTheChain,
		"leases of refunds":             lapsedRefunds,
		"lapsed refunds by rail":        lapsedRefundsWithoutARail,
		"closed months do not change":   closedMonths,
		"limit of refunds":              refundsHaveALimit,
		"schedules of refunds":          scheduledRefunds,
		"refunds under concurrency":     concurrentRefunds,
		"captures":                      captures,
		"refusals of captures":          refusedCaptures,
		"voids":                         voids,
		"undecided holds":               undecidedHolds,
		"captures are no old backlog":   capturesAreNoOldBacklog,
		"late answers":                  lateAnswers,
		"holds are bounded":             holdsAreBounded,
		"holds end with the month":      holdsOnTheChainEndWithTheMonth,
		"holds after the end":           holdsAfterTheEnd,
		"holds under concurrency":       concurrentHolds,
		"tabs":                          tabs,
		"tabs that are used up":         tabsUsedUp,
		"tabs below the minimum":        tabsBelowTheMinimum,
		"tabs that a rail refuses":      tabsRefused,
		"tabs end":                      tabsEnd,
		"tabs of a dead process":        tabsOfTheDead,
		"tabs that are rounded up":      tabsRoundedUp,
		"refused draws":                 refusedDraws,
		"tabs that close":               tabsThatClose,
		"tabs of earlier programs":      tabsOfBefore,
		"refunds of draws":              refundsOfDraws,
		"refunds of written-off draws":  refundsOfWrittenOffDraws,
		"tabs that every draw has left": emptiedTabs,
		"tabs do not lapse":             tabsDoNotLapse,
		"draws under concurrency":       concurrentDraws,
		"draws against a model":         drawsAgainstAModel,
	}
}

// bookTests returns the tests of windows, selections and transfers.
func bookTests() map[string]func(*testing.T, *bench) {
	return map[string]func(*testing.T, *bench){
		"purchases from sellers":       purchases,
		"releases give back":           releasesGiveBackToEachWindow,
		"windows under concurrency":    concurrentWindows,
		"selections":                   selections,
		"selections read one snapshot": selectionsReadOneSnapshot,
		"selections of many charges":   selectionsOfMany,
		"fee statement":                feeStatement,
		"signed transfers":             signedTransfers,
		"failed transfers":             failedTransfers,
		"refund of a signed transfer":  refundedTransfer,
		"transfers under concurrency":  concurrentTransfers,
		"transfers against a model":    transfersAgainstAModel,
	}
}

// bench is a ledger on a fresh store, with a clock to move and a merchant.
type bench struct {
	*ledger.Ledger

	store    ledger.Store
	another  func(t *testing.T) ledger.Store // opens one more; nil if there can be only one
	database Database
	checker  *ledger.Checker // what sound checks incrementally with
	clock    *clock
	merchant ledger.Merchant
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

func setup(t *testing.T, database Database) *bench {
	t.Helper()
	opened, err := database.Open(t.Context())
	require.NoError(t, err)
	c := &clock{now: time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)}
	l, err := ledger.New(ledger.Config{Store: opened, Clock: c.Now})
	require.NoError(t, err)
	b := &bench{Ledger: l, store: opened, clock: c, database: database}
	if database.Shared {
		b.another = func(t *testing.T) ledger.Store {
			t.Helper()
			s, err := database.Open(t.Context())
			require.NoError(t, err)
			return s
		}
	}
	t.Cleanup(func() {
		b.Close() // of the ledger that the test ended with
		require.NoError(t, b.store.Close())
	})
	b.merchant = ledger.Merchant{ID: id.New(id.Merchant, c.Now()), Name: "Acme", Active: true, CreatedAt: c.Now()}
	return b
}

const cent = ledger.Micros(10_000)

// terms allow per cents a payment and month cents a month, to the bench's merchant.
func (b *bench) terms(per, month ledger.Micros) ledger.Terms {
	return ledger.Terms{
		MaxPerTx: per, MaxMonthly: month, Rails: []rail.Name{rail.Card, rail.Chain},
		Payees: []string{b.merchant.ID}, ExpiresAt: b.clock.Now().AddDate(1, 0, 0),
	}
}

// limited are terms with a limit of each kind, each of which is reached before the others
// by some charges.
func (b *bench) limited() ledger.Terms {
	t := b.terms(100*cent, 300*cent)
	t.Limits = ledger.Limits{MaxDaily: 150 * cent, MaxTotal: 1000 * cent, MaxPaymentsPerDay: 5, MaxMonthlyPerPayee: 250 * cent}
	t.ExpiresAt = b.clock.Now().AddDate(100, 0, 0)
	return t
}

func (b *bench) session(t require.TestingT, terms ledger.Terms) ledger.Session {
	s := ledger.Session{
		Hash: id.Hash(id.NewCapability(id.Session)), MerchantID: b.merchant.ID, Status: ledger.SessionPending,
		Terms: terms, Metadata: map[string]string{"order": "7"}, ReturnURL: "https://shop.example/back",
		CreatedAt: b.clock.Now(), ExpiresAt: b.clock.Now().Add(24 * time.Hour),
	}
	require.NoError(t, b.CreateSession(context.Background(), s))
	return s
}

// mandate completes a session with the terms.
func (b *bench) mandate(t require.TestingT, terms ledger.Terms) ledger.Mandate {
	s := b.session(t, terms)
	terms.Rails = []rail.Name{rail.Card}
	m, err := b.CompleteSession(context.Background(), ledger.Completion{
		SessionHash: s.Hash, MandateID: id.New(id.Mandate, b.clock.Now()), Terms: terms, SealedToken: []byte("sealed"),
		Instruments: []string{b.connected(t, s, rail.Card, "pm_1")}, Email: "ada@example.com",
	})
	require.NoError(t, err)
	return m
}

// connected is the reference of an instrument that is connected for a session.
func (b *bench) connected(t require.TestingT, s ledger.Session, on rail.Name, method string) string {
	i, err := b.BeginInstrument(context.Background(), rail.Connection{Reference: s.Hash[:8] + method, Method: method, Session: s.Hash}, on)
	require.NoError(t, err)
	_, err = b.ConnectedInstrument(context.Background(), i.Reference, rail.Instrument{Rail: on, Customer: "cus_1", Method: method, Brand: "Visa", LastFour: "4242"})
	require.NoError(t, err)
	return i.Reference
}

// request is a sound reservation of an amount.
func (b *bench) request(m ledger.Mandate, amount ledger.Micros) ledger.Reserve {
	key := id.NewCapability("key_")
	return ledger.Reserve{
		ChargeID: id.New(id.Charge, b.clock.Now()), MandateID: m.ID, TokenValid: true, Payee: b.merchant,
		Amount: amount, Currency: "usd", Description: "test", Metadata: map[string]string{"k": "v"},
		Rails: []rail.Name{rail.Card, rail.Chain}, IdempotencyKey: key, Fingerprint: fmt.Sprint(m.ID, amount),
		RequestID: "req_1", Lease: 20 * time.Second,
	}
}

func (b *bench) reserve(t require.TestingT, m ledger.Mandate, amount ledger.Micros) ledger.Charge {
	r, err := b.Reserve(context.Background(), b.request(m, amount))
	require.NoError(t, err)
	require.False(t, r.Replayed)
	return r.Charge
}

func (b *bench) refused(t require.TestingT, r ledger.Reserve, code ledger.RefusalCode) *ledger.Refusal {
	_, err := b.Reserve(context.Background(), r)
	var refusal *ledger.Refusal
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, code, refusal.Code)
	return refusal
}

func succeeded() ledger.Settlement {
	return ledger.Settlement{Rail: rail.Card, Outcome: rail.Outcome{Status: rail.Succeeded, ProcessorID: "pay_1"}}
}

func declined() ledger.Settlement {
	return ledger.Settlement{Rail: rail.Card, Outcome: rail.Outcome{Status: rail.Refused, Reason: rail.CardDeclined}}
}

func (b *bench) settle(t require.TestingT, c ledger.Charge, end ledger.Settlement) ledger.Charge {
	end.Step = c.Step
	settled, err := b.Settle(context.Background(), c, end)
	require.NoError(t, err)
	return settled
}

// spent is what the stored counter says.
func (b *bench) spent(t require.TestingT, m ledger.Mandate) ledger.Micros {
	m, err := b.Mandate(context.Background(), m.ID)
	require.NoError(t, err)
	return m.SpentInMonth(b.clock.Now())
}

// sound checks the whole ledger, and what changed since it last did, and returns what the check counted.
func (b *bench) sound(t require.TestingT) ledger.Report {
	r, err := ledger.CheckAt(context.Background(), b.store, b.clock.Now())
	require.NoError(t, err)
	require.Empty(t, r.Faults)
	if b.checker == nil {
		b.checker = ledger.NewChecker(b.store, b.clock.Now)
	}
	changed, err := b.checker.Changed(context.Background())
	require.NoError(t, err)
	require.Empty(t, changed.Faults)
	return r
}
