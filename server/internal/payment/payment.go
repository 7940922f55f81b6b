// Package payment makes setup sessions into mandates, charges and revokes them, and
// finishes the charges that a crash left pending. Every charge of a mandate, whichever
// protocol asks for it, goes through [Service.Charge]. Signed x402 transfers do not:
// package facilitator settles them on the chain rail, and the ledger has no record of
// them.
//
// It knows no HTTP. Its errors are those of packages ledger and mandate, and its
// own below; the edge maps them to answers.
package payment

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/telemetry"
	"github.com/paywarrant/paywarrant/server/vault"
)

// Errors of this package.
var (
	// ErrForbiddenMandate: the mandate is somebody else's. Shown as not found.
	ErrForbiddenMandate = errors.New("payment: not this merchant's mandate")
	// ErrNoEmail: the address is not one.
	ErrNoEmail = errors.New("payment: not an e-mail address")
)

// Statuses tell revocations to those who check mandates offline.
type Statuses interface {
	// NewID is an id for a mandate, with a place in a status list. Another mandate
	// may have it: then the store refuses it.
	NewID() string
	// Ref is the place of an id, nil where it has none.
	Ref(mandateID string) *mandate.StatusRef
	// Revoke makes a revocation known. Again is no error.
	Revoke(ctx context.Context, mandateID string) error
}

// Config is what the service is made of. Every field is required, but Telemetry.
type Config struct {
	Ledger   *ledger.Ledger
	Accounts ledger.Accounts
	Rails    *rail.Router
	Vault    *vault.Vault
	Issuer   *mandate.Issuer
	Verifier *mandate.Verifier // with IgnoreTimes: status and expiry are the ledger's to judge
	Statuses Statuses
	Clock    ledger.Clock
	Logger   *slog.Logger
	BaseURL  string
	// ReceiptKey makes the addresses of receipts unguessable.
	ReceiptKey []byte
	// Telemetry is told of charges. Nil: nobody is.
	Telemetry *telemetry.Telemetry
}

// Service moves money.
type Service struct {
	Config

	mu     sync.Mutex
	closed bool
	// running counts charges that are between their two steps.
	running sync.WaitGroup
	stop    context.CancelFunc
	// unwinding is signaled when there is something to unwind.
	unwinding chan struct{}
	methods   instruments
	loop      sync.WaitGroup
}

// New returns a service; [Service.Start] begins its background work.
func New(cfg Config) *Service { return &Service{Config: cfg, unwinding: make(chan struct{}, 1)} }

const (
	// railTimeout bounds what the rails of one charge may take, together.
	railTimeout = 18 * time.Second
	// leaseFor is how long a charge belongs to who runs it: longer than the rails
	// take, shorter than the 30 s in which a dead instance's charges are finished.
	leaseFor = 22 * time.Second
	// unseenAfter is how long after the end of a mandate a rail that has not seen a
	// charge never will: whoever asked it before has given up.
	unseenAfter = leaseFor
	// recoverEvery is how often lapsed leases are looked for.
	recoverEvery = time.Second
	// recoverBatch is how many of them wait for a rail's pool at most, recoverWorkers
	// how many the pool asks at once, recoverTimeout how long one ask may take: nobody
	// waits for the answer, so the rail does not wait for the end either.
	recoverBatch, recoverWorkers, recoverTimeout = 256, 8, 10 * time.Second
	// maxPutOff is the longest wait before a rail is asked again for one charge.
	maxPutOff = 5 * time.Minute
)
