package payment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

const (
	// unwindEvery is the interval at which due unwindings are looked up.
	unwindEvery = time.Second
	// unwindWorkers limits the unwindings worked on concurrently. Each is leased for
	// unwindLease and may take unwindTimeout.
	unwindWorkers                        = 8
	unwindTimeout, unwindLease           = 15 * time.Second, 20 * time.Second
	firstUnwindPause, longestUnwindPause = 2 * time.Second, time.Hour
	localUnwindTimeout                   = 5 * time.Second
	unwindDoublings                      = 12
)

// RevokeAs revokes a mandate; the caller has verified that by may do so. Repeating it
// changes nothing. RevokeAs succeeds once the ledger has recorded the revocation: the
// status list, the session key and the rails follow, and are retried until they succeed.
// It returns ledger.ErrNotFound. After any other error the mandate may be revoked or not;
// call RevokeAs again.
func (s *Service) RevokeAs(ctx context.Context, mandateID string, by ledger.Revoker) (ledger.Mandate, error) {
	revoked, err := s.Ledger.Revoke(ctx, mandateID, by)
	if err != nil {
		return ledger.Mandate{}, err
	}
	failpoint.Hit(failpoint.RevokeRecorded)
	local, cancel := context.WithTimeout(context.WithoutCancel(ctx), localUnwindTimeout)
	defer cancel()
	if err := s.forget(local, revoked.ID); err != nil {
		s.Logger.WarnContext(ctx, "revocation incomplete, will retry", slog.String("mandateId", revoked.ID), slog.String("error", err.Error()))
	}
	s.wakeUnwinding()
	return revoked, nil
}

// forget publishes a revocation and destroys the mandate's session key.
func (s *Service) forget(ctx context.Context, mandateID string) error {
	published := s.Statuses.Revoke(ctx, mandateID)
	if err := s.Accounts.DeleteSealedKey(ctx, sessionKeyName(mandateID)); err != nil {
		return errors.Join(published, fmt.Errorf("destroy session key of %s: %w", mandateID, err))
	}
	failpoint.Hit(failpoint.KeyDestroyed)
	return published
}

func (s *Service) wakeUnwinding() {
	select {
	case s.unwinding <- struct{}{}:
	default: // already awake
	}
}

// unwind works through the due unwindings until ctx ends. It leases only as many as it
// has free workers, so that each is worked on within its lease.
func (s *Service) unwind(ctx context.Context) {
	var working sync.WaitGroup
	defer working.Wait()
	slots := make(chan struct{}, unwindWorkers)
	tick := time.NewTicker(unwindEvery)
	defer tick.Stop()
	for {
		free := cap(slots) - len(slots)
		due, err := s.Ledger.Unwinds(ctx, unwindLease, free)
		if err != nil && ctx.Err() == nil {
			s.Logger.ErrorContext(ctx, "list unwindings", slog.String("error", err.Error()))
		}
		for _, u := range due {
			slots <- struct{}{}
			working.Go(func() {
				s.unwindOne(ctx, u)
				<-slots
				if len(slots) == 0 {
					s.wakeUnwinding() // there may be more
				}
			})
		}
		if len(due) == 0 || len(slots) == cap(slots) {
			select {
			case <-ctx.Done():
				return
			case <-s.unwinding:
			case <-tick.C:
			}
		}
	}
}

// unwindOne tries one unwinding, then ends or postpones it.
func (s *Service) unwindOne(ctx context.Context, u ledger.Unwinding) {
	failpoint.Hit(failpoint.UnwindingTaken)
	within, cancel := context.WithTimeout(ctx, unwindTimeout)
	defer cancel()
	var next time.Time
	var err error
	switch u.Kind {
	case ledger.UnwindMandate:
		err = s.unwindMandate(within, u.ID)
	case ledger.UnwindSession:
		next, err = s.unwindSession(within, u.ID)
	case ledger.UnwindHold:
		err = s.unwindHold(within, u.ID)
	case ledger.UnwindTab:
		next, err = s.unwindTab(within, u.ID)
	}
	if err == nil && !next.IsZero() {
		u.Since = next // there is nothing to do before
	}
	if err != nil {
		pause := min(firstUnwindPause<<min(u.Attempts, unwindDoublings), longestUnwindPause)
		next = s.Clock().Add(pause)
		if ctx.Err() == nil {
			s.Logger.WarnContext(ctx, "unwinding failed, will retry", slog.String("kind", string(u.Kind)), slog.String("id", u.ID),
				slog.Int("attempts", u.Attempts), slog.String("error", err.Error()))
		}
	}
	if err := s.Ledger.Unwound(context.WithoutCancel(ctx), u, next); err != nil { // its lease expires
		s.Logger.WarnContext(ctx, "end unwinding", slog.String("id", u.ID), slog.String("error", err.Error()))
	}
	failpoint.Hit(failpoint.UnwindingEnded)
}

// unwindMandate publishes the status of a revoked mandate, destroys its key, closes its tabs,
// and disconnects its instruments.
func (s *Service) unwindMandate(ctx context.Context, mandateID string) error {
	err := errors.Join(s.forget(ctx, mandateID), s.closeTabs(ctx, mandateID))
	rows, e := s.Ledger.InstrumentsOfMandate(ctx, mandateID)
	if e != nil {
		return errors.Join(err, e)
	}
	return errors.Join(err, s.disconnect(ctx, rows))
}

// unwindSession disconnects the instruments of a session that belong to no mandate. While
// the session is pending, next is the time of the next attempt.
func (s *Service) unwindSession(ctx context.Context, hash string) (next time.Time, err error) {
	rows, err := s.Ledger.InstrumentsOfSession(ctx, hash)
	if err != nil {
		return time.Time{}, err
	}
	var references []string
	for _, i := range rows {
		references = append(references, i.Reference)
	}
	ending, err := s.Ledger.EndInstruments(ctx, hash, references)
	if err != nil {
		return time.Time{}, err
	}
	if err := s.disconnect(ctx, ending); err != nil {
		return time.Time{}, err
	}
	session, err := s.Ledger.Session(ctx, hash)
	if errors.Is(err, ledger.ErrNotFound) {
		return time.Time{}, nil
	}
	if err == nil && session.At(s.Clock()).Status == ledger.SessionPending {
		return session.ExpiresAt, nil
	}
	return time.Time{}, err
}

// disconnect disconnects instruments on their rails and records it.
func (s *Service) disconnect(ctx context.Context, rows []ledger.Instrument) error {
	var all error
	for _, i := range rows {
		if i.State == ledger.Disconnected {
			continue
		}
		if err := s.disconnectOne(ctx, i); err != nil {
			all = errors.Join(all, fmt.Errorf("disconnect instrument on %s: %w", i.Rail, err))
		}
	}
	return all
}

// disconnectOne disconnects one instrument. If it is unknown whether the rail connected
// it, the rail is first asked to connect it again under the same reference, which returns
// the instrument.
func (s *Service) disconnectOne(ctx context.Context, i ledger.Instrument) error {
	one, ok := s.Rails.Rail(i.Rail)
	if !ok {
		return rail.ErrNotConfigured
	}
	in := i.Instrument
	if i.Connection.Reference != "" {
		var refused *rail.RefusedError
		connected, err := one.Connect(ctx, i.Connection)
		switch {
		case errors.As(err, &refused), errors.Is(err, rail.ErrUnknownMethod):
			_, err = s.Ledger.DisconnectedInstrument(ctx, i.Reference)
			return err
		case err != nil:
			return err
		}
		if _, err := s.Ledger.ConnectedInstrument(ctx, i.Reference, connected); err != nil {
			return err
		}
		in = connected
	}
	if d, ok := one.(rail.Disconnecter); ok {
		if err := d.Disconnect(ctx, in); err != nil {
			return err
		}
	}
	failpoint.Hit(failpoint.InstrumentEnded)
	_, err := s.Ledger.DisconnectedInstrument(ctx, i.Reference)
	return err
}

// Gauges returns the gauges of the unwindings that are not finished.
func (s *Service) Gauges() []rail.Gauge {
	backlog := func() ledger.UnwindingBacklog {
		ctx, cancel := context.WithTimeout(context.Background(), localUnwindTimeout)
		defer cancel()
		b, err := s.Ledger.UnwindingBacklog(ctx)
		if err != nil {
			s.Logger.WarnContext(ctx, "unwindings not counted", slog.String("error", err.Error()))
		}
		return b
	}
	return []rail.Gauge{
		{
			Name: "unwindings", Help: "Revocations, connections, voided holds and tabs that a rail has not finished.",
			Value: func() float64 { return float64(backlog().Count) },
		},
		{
			Name: "unwinding_oldest_seconds", Help: "Age of the oldest unwinding that is due, in seconds.",
			Value: func() float64 {
				b := backlog()
				if b.Count == 0 {
					return 0
				}
				return s.Clock().Sub(b.Oldest).Seconds()
			},
		},
	}
}
