// Package payment turns setup sessions into mandates, charges and revokes mandates, and
// finishes the charges that a crash left pending. Every charge of a mandate, whichever
// protocol asks for it, goes through [Service.Charge]. A transfer that a wallet signed is
// settled by package facilitator on the chain rail, which records it with
// [Service.Transfers].
//
// It knows no HTTP. Its errors are those of packages ledger and mandate, and those below;
// package api maps them to responses.
package payment

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/internal/recorder"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/vault"
)

// Errors of this package.
var (
	// ErrForbiddenMandate reports a mandate of another merchant. Callers see "not found".
	ErrForbiddenMandate = errors.New("payment: not this merchant's mandate")
	// ErrNoEmail reports an invalid email address.
	ErrNoEmail = errors.New("payment: not an email address")
)

// Statuses publishes revocations for those who verify mandates offline.
type Statuses interface {
	// NewID returns an id for a mandate, with an index in a status list. If another
	// mandate has it, the store refuses it.
	NewID() string
	// Ref returns the status list and index of an id, or nil if it has none.
	Ref(mandateID string) *mandate.StatusRef
	// Revoke publishes a revocation. Repeating it is not an error.
	Revoke(ctx context.Context, mandateID string) error
}

// Accounts is the part of the store that holds merchants and the session keys of mandates.
type Accounts interface {
	Merchant(ctx context.Context, id string) (ledger.Merchant, error)
	MerchantByWallet(ctx context.Context, payTo string) (ledger.Merchant, error)
	SealedKeys(ctx context.Context, prefix string) ([]store.SealedKey, error)
	AddSealedKey(ctx context.Context, k store.SealedKey) error
	DeleteSealedKey(ctx context.Context, name string) error
}

// Config configures a Service. Every field except Telemetry is required.
type Config struct {
	Ledger   *ledger.Ledger
	Accounts Accounts
	Rails    *rail.Router
	Vault    *vault.Vault
	Issuer   *mandate.Issuer
	Verifier *mandate.Verifier // with IgnoreTimes: the ledger checks status and expiry
	Statuses Statuses
	Clock    func() time.Time
	Logger   *slog.Logger
	BaseURL  string
	// TabBlock is the block of a tab, at least [ledger.CardMinimum].
	TabBlock ledger.Micros
	// MaxAdvance is the most that the operator advances for the tabs of one payee in a
	// calendar month. Beyond it no further tab is opened.
	MaxAdvance ledger.Micros
	// ReceiptKey makes the addresses of receipts unguessable.
	ReceiptKey []byte
	// Telemetry records charges. Default: none.
	Telemetry *recorder.Recorder
}

// Service creates, charges and revokes mandates. It is safe for concurrent use.
type Service struct {
	Config

	mu     sync.Mutex
	closed bool
	// running counts the charges that are being made.
	running sync.WaitGroup
	stop    context.CancelFunc
	// unwinding is signaled when there is an unwinding to do.
	unwinding chan struct{}
	methods   instruments
	loop      sync.WaitGroup
}

// New returns a Service. [Service.Start] begins its background work.
func New(cfg Config) *Service { return &Service{Config: cfg, unwinding: make(chan struct{}, 1)} }

const (
	// railTimeout limits the time of all rails of one charge together.
	railTimeout = 18 * time.Second
	// leaseFor is the lease of a running charge: longer than railTimeout, shorter than
	// the 30 s within which another instance takes over the charges of a dead one.
	leaseFor = 22 * time.Second
	// unseenAfter is the time after the end of a mandate from which a charge that the
	// rail has not seen will never arrive: any process that asked before has given up.
	unseenAfter = leaseFor
	// recoverEvery is the interval at which expired leases are looked up.
	recoverEvery = time.Second
	// recoverBatch limits the charges that wait for a rail's pool, recoverWorkers is the
	// number of workers in a pool, and recoverTimeout limits one request to a rail. No
	// caller waits, so the rail does not wait for the outcome either.
	recoverBatch, recoverWorkers, recoverTimeout = 256, 8, 10 * time.Second
	// maxPutOff is the longest pause between two requests to a rail for one charge.
	maxPutOff = 5 * time.Minute
)
