package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Clock tells the time. Tests move it.
type Clock interface{ Now() time.Time }

// Config configures a [Ledger].
type Config struct {
	// Store keeps the rows. Required.
	Store Store
	// Clock tells the time. Required.
	Clock Clock
	// Committers is how many commits may be under way at once; mandates are
	// spread over them. Default: what the store says is best, [Store.Writers].
	Committers int
	// Queue is how many commands may wait at one committer; more are refused with
	// [ErrBusy]. Three quarters of it may be about one mandate. Default: 4096.
	Queue int
	// OnPanic is called with the value and the stack of a panic in a command, which
	// then fails with [ErrPanicked]. Default: panics are not reported.
	OnPanic func(value any, stack []byte)
	// Instance names this process in the leases of charges. Default: a random name.
	Instance string
}

func (c *Config) validate() error {
	switch {
	case c.Store == nil:
		return errors.New("ledger: Store is required")
	case c.Clock == nil:
		return errors.New("ledger: Clock is required")
	case c.Committers < 0 || c.Committers > 64:
		return errors.New("ledger: Committers must be 0 to 64")
	}
	if c.Queue < 0 || c.Queue > 1<<20 {
		return errors.New("ledger: Queue must be 0 to 1048576")
	}
	if c.Queue == 0 {
		c.Queue = 4096
	}
	if c.Committers == 0 {
		c.Committers = max(c.Store.Writers(), 1)
	}
	if c.Instance == "" {
		c.Instance = strings.ToLower(rand.Text()[:10])
	}
	return nil
}

// Ledger runs commands on a [Store]. Its read methods are the store's own.
type Ledger struct {
	Reader

	store      Store
	clock      Clock
	committers []*committer
	seed       maphash.Seed
	instance   string
	leases     atomic.Uint64 // how many have been named
	closing    sync.Once
}

// New starts the committers of a ledger; Close ends them. An error names the
// field of the configuration that is wrong.
func New(cfg Config) (*Ledger, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	l := &Ledger{Reader: cfg.Store, store: cfg.Store, clock: cfg.Clock, seed: maphash.MakeSeed(), instance: cfg.Instance}
	for range cfg.Committers {
		l.committers = append(l.committers, newCommitter(cfg.Store, cfg.Queue, cfg.OnPanic))
	}
	return l, nil
}

// Close commits what waits and ends; commands that come later are refused with
// [ErrClosed]. It may be called twice. It does not close the store.
func (l *Ledger) Close() {
	l.closing.Do(func() {
		for _, c := range l.committers {
			c.close()
		}
	})
}

// run submits a decision to the committer of a mandate (or another row), with
// the time at which it is decided.
func (l *Ledger) run(ctx context.Context, of string, keys Keys, decide func(*State, time.Time) (Effects, error)) error {
	c := l.committers[maphash.String(l.seed, of)%uint64(len(l.committers))]
	return c.submit(ctx, of, &command{keys: keys, decide: func(s *State) (Effects, error) {
		return decide(s, l.clock.Now())
	}})
}

// Charged tells what became of the request that had an idempotency key: its charge
// or the [*Refusal] of it. It returns [ErrNotFound] where nothing is remembered.
func (l *Ledger) Charged(ctx context.Context, key IdempotencyKey) (c Charge, err error) {
	var refusal *Refusal
	err = l.run(ctx, key.Key, Keys{Idempotency: []IdempotencyKey{key}}, func(s *State, _ time.Time) (Effects, error) {
		seen, ok := s.Idempotency[key]
		if !ok {
			return Effects{}, ErrNotFound
		}
		c, refusal = s.Charges[seen.ChargeID], seen.Refusal
		return Effects{}, nil
	})
	switch {
	case err != nil:
		return Charge{}, fmt.Errorf("find charge of a key: %w", err)
	case refusal != nil:
		return Charge{}, refusal
	}
	return c, nil
}

// Redeem spends a key once: again it returns a [*Refusal] of [ReceiptRedeemed], as
// it does if one of the former names of the key was spent. The key is remembered as
// long as idempotency keys are.
func (l *Ledger) Redeem(ctx context.Context, key IdempotencyKey, requestID string, former ...IdempotencyKey) error {
	refusal := &Refusal{Code: ReceiptRedeemed, RequestID: requestID}
	redeemed := false
	all := append([]IdempotencyKey{key}, former...)
	err := l.run(ctx, key.Key, Keys{Idempotency: all}, func(s *State, now time.Time) (Effects, error) {
		for _, k := range all {
			if seen, ok := s.Idempotency[k]; ok {
				redeemed = seen.Refusal == nil || seen.Refusal.RequestID != requestID // its own, if a commit was tried again
				return Effects{}, nil
			}
		}
		return Effects{Insert: Rows{Idempotency: []Idempotency{{IdempotencyKey: key, Fingerprint: requestID, Refusal: refusal, CreatedAt: now}}}}, nil
	})
	switch {
	case err != nil:
		return fmt.Errorf("redeem: %w", err)
	case redeemed:
		return refusal
	}
	return nil
}

// Reserve holds an amount under a mandate and makes a pending charge, or answers
// what the key's first request did. It returns a [*Refusal] where a rule refuses,
// [ErrIdempotencyMismatch], of the request's key [ErrRequestKeyMismatch],
// [ErrIdempotencyInProgress] or [ErrBusy]; after any
// other error it is unknown whether the charge was made: the same key tells.
func (l *Ledger) Reserve(ctx context.Context, r Reserve) (Reservation, error) {
	var (
		result  Reservation
		refusal *Refusal
	)
	r.lease = l.newLease()
	if err := r.validate(); err != nil {
		return Reservation{}, fmt.Errorf("reserve: %w", err)
	}
	err := l.run(ctx, r.MandateID, r.keys(), func(s *State, now time.Time) (e Effects, err error) {
		e, result, refusal, err = r.decide(s, now)
		return e, err
	})
	switch {
	case err != nil:
		return Reservation{}, fmt.Errorf("reserve charge %s: %w", r.ChargeID, err)
	case refusal != nil:
		return Reservation{}, refusal
	}
	return result, nil
}

// Settle ends a pending charge as its rail did: captures it with its postings,
// or releases what it held. A decided charge does not change, and is returned; with
// [ErrConflictingOutcome] if the settlement contradicts what decided it, which is
// then recorded. Settle returns [ErrNotFound] if there is no such charge.
func (l *Ledger) Settle(ctx context.Context, c Charge, end Settlement) (Charge, error) {
	var (
		result      Charge
		conflicting bool
	)
	err := l.run(ctx, c.MandateID, settleKeys(c), func(s *State, now time.Time) (e Effects, err error) {
		e, result, conflicting, err = decideSettle(s, c.ID, end, now)
		return e, err
	})
	switch {
	case err != nil:
		return Charge{}, fmt.Errorf("settle charge %s: %w", c.ID, err)
	case conflicting:
		return result, fmt.Errorf("settle charge %s: %w: it is %s, and %s reports %s", c.ID, ErrConflictingOutcome, result.Status, end.Rail, end.Outcome.Status)
	}
	return result, nil
}

// NextRail reports whether a charge may ask the n-th rail of its order, counted
// from 1. Reserve allows the first; each further one is decided here, under the
// lock of the mandate: none is asked for the first time once the mandate is revoked
// or expired. NextRail returns [ErrNotFound] if there is no such charge.
func (l *Ledger) NextRail(ctx context.Context, c Charge, n int) (bool, error) {
	allowed := false
	keys := Keys{Mandates: []string{c.MandateID}, Charges: []string{c.ID}}
	err := l.run(ctx, c.MandateID, keys, func(s *State, now time.Time) (e Effects, err error) {
		e, allowed, err = decideNextRail(s, c.ID, n, now)
		return e, err
	})
	if err != nil {
		return false, fmt.Errorf("choose rail %d of charge %s: %w", n, c.ID, err)
	}
	return allowed, nil
}

// CreateSession makes a pending session. One whose hash exists is left as it is:
// hashes are of random tokens, so it is this very session.
func (l *Ledger) CreateSession(ctx context.Context, s Session) error {
	if err := s.validate(); err != nil {
		return fmt.Errorf("create session: %w", err)
	}
	err := l.run(ctx, s.Hash, Keys{Sessions: []string{s.Hash}}, func(state *State, _ time.Time) (Effects, error) {
		if _, made := state.Sessions[s.Hash]; made {
			return Effects{}, nil
		}
		return Effects{Insert: Rows{Sessions: []Session{s}}}, nil
	})
	if err != nil {
		return fmt.Errorf("create session: %w", err)
	}
	return nil
}

// CompleteSession ends a pending session with the mandate that the person
// confirmed; once more with the same mandate id, it returns that mandate. It
// returns [ErrNotFound], [ErrSessionFinished] or [ErrWidened].
func (l *Ledger) CompleteSession(ctx context.Context, c Completion) (Mandate, error) {
	var result Mandate
	keys := Keys{Sessions: []string{c.SessionHash}, Mandates: []string{c.MandateID}, Instruments: c.Instruments}
	err := l.run(ctx, c.SessionHash, keys, func(s *State, now time.Time) (e Effects, err error) {
		e, result, err = c.decide(s, now)
		return e, err
	})
	if err != nil {
		return Mandate{}, fmt.Errorf("complete session: %w", err)
	}
	return result, nil
}

// FailSession ends a pending session without a mandate. It returns
// [ErrNotFound] or [ErrSessionFinished].
func (l *Ledger) FailSession(ctx context.Context, hash, reason string) (Session, error) {
	own := func(_, now Session) bool { return now.Status == SessionFailed && now.FailureReason == reason }
	return l.endSession(ctx, hash, nil, own, func(s *State, now time.Time) (Effects, Session, error) {
		return decideFail(s, hash, reason, now)
	})
}

// RefuseAttempt counts a payment method that was refused; the fifth ends the
// session. What the attempt has connected under the references is to be ended. It
// returns [ErrNotFound] or [ErrSessionFinished].
func (l *Ledger) RefuseAttempt(ctx context.Context, hash string, references ...string) (Session, error) {
	own := func(made, now Session) bool { return made.Attempts == now.Attempts }
	return l.endSession(ctx, hash, references, own, func(s *State, now time.Time) (Effects, Session, error) {
		return decideAttempt(s, hash, references, now)
	})
}

// endSession runs a decision about a session. A store decides again after a commit
// whose answer was lost: own then reports whether the session as it is now is
// what an earlier run made of it.
func (l *Ledger) endSession(ctx context.Context, hash string, references []string, own func(made, now Session) bool, decide func(*State, time.Time) (Effects, Session, error)) (Session, error) {
	var (
		result Session
		made   *Session
	)
	keys := Keys{Sessions: []string{hash}, Instruments: references}
	err := l.run(ctx, hash, keys, func(s *State, now time.Time) (e Effects, err error) {
		if stored, known := s.Sessions[hash]; known && made != nil && own(*made, stored) {
			result = stored
			return Effects{}, nil
		}
		if e, result, err = decide(s, now); err == nil {
			once := result
			made = &once
		}
		return e, err
	})
	if err != nil {
		return Session{}, fmt.Errorf("change session: %w", err)
	}
	return result, nil
}

// Revoke ends a mandate, and records that its status, key and instruments are to be
// ended; a revoked one stays as it is. It returns [ErrNotFound].
func (l *Ledger) Revoke(ctx context.Context, mandateID string, by Revoker) (Mandate, error) {
	instruments, err := l.InstrumentsOfMandate(ctx, mandateID) // bound for good when the mandate was made
	if err != nil {
		return Mandate{}, fmt.Errorf("read instruments of %s: %w", mandateID, err)
	}
	var result Mandate
	references := referencesOf(instruments)
	keys := Keys{Mandates: []string{mandateID}, Instruments: references}
	err = l.run(ctx, mandateID, keys, func(s *State, now time.Time) (e Effects, err error) {
		e, result, err = decideRevoke(s, mandateID, by, references, now)
		return e, err
	})
	if err != nil {
		return Mandate{}, fmt.Errorf("revoke mandate %s: %w", mandateID, err)
	}
	return result, nil
}
