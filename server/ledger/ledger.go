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

// Config configures a [Ledger].
type Config struct {
	// Store holds the rows. Required.
	Store Store
	// Clock returns the time. Required.
	Clock func() time.Time
	// Committers is the number of concurrent commits. Mandates are spread over them.
	// Default: [Store.Writers].
	Committers int
	// Queue limits the commands that wait at one committer; further commands are refused
	// with [ErrBusy]. At most three quarters may be about one mandate. Default: 4096.
	Queue int
	// OnPanic is called with the value and the stack of a panic in a command. The command
	// fails with [ErrPanicked]. Default: none.
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

// Ledger runs commands on a [Store]. Its read methods are those of the store. It is safe
// for concurrent use.
type Ledger struct {
	Reader

	store      Store
	clock      func() time.Time
	committers []*committer
	seed       maphash.Seed
	instance   string
	leases     atomic.Uint64 // the number of leases named so far
	closing    sync.Once
}

// New returns a Ledger and starts its committers; Close ends them. The returned error
// names the invalid field.
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

// Close commits the waiting commands and ends the committers. Later commands are refused
// with [ErrClosed]. Close may be called twice. It does not close the store.
func (l *Ledger) Close() {
	l.closing.Do(func() {
		for _, c := range l.committers {
			c.Close()
		}
	})
}

// run submits a decision to the committer of a row, usually a mandate.
func (l *Ledger) run(ctx context.Context, row string, keys Keys, decide func(*State, time.Time) (Effects, error)) error {
	c := l.committers[maphash.String(l.seed, row)%uint64(len(l.committers))]
	return c.submit(ctx, row, &command{keys: keys, decide: func(s *State) (Effects, error) {
		return decide(s, l.clock())
	}})
}

// Charged returns the result of the request with an idempotency key: its charge, or its
// [*Refusal] as the error. It returns [ErrNotFound] if no such request is stored.
func (l *Ledger) Charged(ctx context.Context, key IdempotencyKey) (Charge, error) {
	var (
		result  Charge
		refusal *Refusal
	)
	err := l.run(ctx, key.Key, Keys{Idempotency: []IdempotencyKey{key}}, func(s *State, _ time.Time) (Effects, error) {
		seen, ok := s.Idempotency[key]
		if !ok {
			return Effects{}, ErrNotFound
		}
		result, refusal = s.Charges[seen.ChargeID], seen.Refusal
		return Effects{}, nil
	})
	switch {
	case err != nil:
		return Charge{}, fmt.Errorf("find charge of a key: %w", err)
	case refusal != nil:
		return Charge{}, refusal
	}
	return result, nil
}

// Redeem stores a key once. It returns a [*Refusal] of [ReceiptRedeemed] if the key, or one
// of its previous names, is stored already. Keys are kept as long as idempotency keys.
func (l *Ledger) Redeem(ctx context.Context, key IdempotencyKey, requestID string, previous ...IdempotencyKey) error {
	refusal := &Refusal{Code: ReceiptRedeemed, RequestID: requestID}
	redeemed := false
	all := append([]IdempotencyKey{key}, previous...)
	err := l.run(ctx, key.Key, Keys{Idempotency: all}, func(s *State, now time.Time) (Effects, error) {
		for _, k := range all {
			if seen, ok := s.Idempotency[k]; ok {
				redeemed = seen.Refusal == nil || seen.Refusal.RequestID != requestID // false if a commit was retried: it is the request's own
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

// Reserve holds an amount under a mandate and creates a pending charge, or returns the
// result of the first request with the same key. It returns a [*Refusal] if a rule refuses
// the charge, [ErrIdempotencyMismatch] ([ErrRequestKeyMismatch] for the request's own
// key), [ErrIdempotencyInProgress] or [ErrBusy]. After any other error it is unknown
// whether the charge exists; a repeat with the same key returns it.
func (l *Ledger) Reserve(ctx context.Context, r Reserve) (Reservation, error) {
	var (
		result  Reservation
		refusal *Refusal
	)
	r.lease = l.newLease()
	if err := r.validate(); err != nil {
		return Reservation{}, fmt.Errorf("reserve: %w", err)
	}
	decide := func(s *State, now time.Time) (e Effects, err error) {
		e, result, refusal, err = r.decide(s, now)
		return e, err
	}
	err := l.run(ctx, r.MandateID, r.keys(), decide)
	if errors.Is(err, errTallyNeeded) {
		r.withTally = true
		err = l.run(ctx, r.MandateID, r.keys(), decide)
	}
	if errors.Is(err, errAdvancesNeeded) {
		if r.advances, err = l.Advances(ctx, r.Payee.ID, MonthOf(l.clock()).Start()); err == nil {
			r.withTally, r.withAdvances = true, true
			err = l.run(ctx, r.MandateID, r.keys(), decide)
		}
	}
	switch {
	case err != nil:
		return Reservation{}, fmt.Errorf("reserve charge %s: %w", r.ChargeID, err)
	case refusal != nil:
		return Reservation{}, refusal
	}
	return result, nil
}

// Settle captures a pending charge with its postings, or releases the amount that it
// holds, depending on the outcome on its rail. A decided charge does not change and is
// returned; if the settlement contradicts its outcome, Settle records that and returns
// [ErrConflictingOutcome]. It records the reversal of a succeeded charge in the same way,
// and emits its event once. It returns [ErrNotFound] if there is no such charge.
func (l *Ledger) Settle(ctx context.Context, c Charge, end Settlement) (Charge, error) {
	var (
		result      Charge
		conflicting bool
	)
	err := l.run(ctx, c.MandateID, end.keys(c), func(s *State, now time.Time) (e Effects, err error) {
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

// NextRail reports whether a charge may ask its n-th rail, counted from 1. Reserve allows
// the first. Each further rail is decided here, under the mandate's lock, so that none is
// asked for the first time after the mandate was revoked or has expired. NextRail returns
// [ErrNotFound] if there is no such charge.
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

// CreateSession creates a pending session. If a session with this hash exists, it changes
// nothing: the hash is of a random token, or of one derived from an idempotency key.
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

// CompleteSession completes a pending session with the mandate that the person confirmed.
// Repeated with the same mandate id, it returns that mandate. It returns [ErrNotFound],
// [ErrSessionFinished] or [ErrWidened].
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

// FailSession fails a pending session. It returns [ErrNotFound] or [ErrSessionFinished].
func (l *Ledger) FailSession(ctx context.Context, hash, reason string) (Session, error) {
	return l.endSession(ctx, hash, nil, func(s *State, now time.Time) (Effects, Session, error) {
		return decideFail(s, hash, reason, now)
	})
}

// RefuseAttempt counts a refused payment method; the fifth fails the session. Instruments
// that the attempt connected under the references will be disconnected. It returns
// [ErrNotFound] or [ErrSessionFinished].
func (l *Ledger) RefuseAttempt(ctx context.Context, hash string, references ...string) (Session, error) {
	return l.endSession(ctx, hash, references, func(s *State, now time.Time) (Effects, Session, error) {
		return decideAttempt(s, hash, references, now)
	})
}

// endSession runs a decision about a session. A store repeats the decision if the result
// of a commit was lost. The command's own key, stored with its effects, then shows that
// the command was committed: the state of the session does not, since another command may
// have changed it in the same way.
func (l *Ledger) endSession(ctx context.Context, hash string, references []string, decide func(*State, time.Time) (Effects, Session, error)) (Session, error) {
	var result Session
	own := IdempotencyKey{Kind: CommandKey, Key: rand.Text()}
	keys := Keys{Sessions: []string{hash}, Instruments: references, Idempotency: []IdempotencyKey{own}}
	err := l.run(ctx, hash, keys, func(s *State, now time.Time) (e Effects, err error) {
		if _, committed := s.Idempotency[own]; committed {
			result = s.Sessions[hash]
			return Effects{}, nil
		}
		if e, result, err = decide(s, now); err == nil {
			e.Insert.Idempotency = append(e.Insert.Idempotency, Idempotency{IdempotencyKey: own, Refusal: &Refusal{}, CreatedAt: now})
		}
		return e, err
	})
	if err != nil {
		return Session{}, fmt.Errorf("change session: %w", err)
	}
	return result, nil
}

// Revoke revokes a mandate, and records the unwinding of its status, key and instruments.
// A revoked mandate does not change. It returns [ErrNotFound].
func (l *Ledger) Revoke(ctx context.Context, mandateID string, by Revoker) (Mandate, error) {
	instruments, err := l.InstrumentsOfMandate(ctx, mandateID) // they are bound once, with the mandate's creation
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
