package delivery

import (
	"context"
	"fmt"
	"time"
)

// maxLoaded is how many lanes from the store one worker has in memory, laneRows how many
// deliveries of each are read at once, and lanePage how many lanes are found at once.
const maxLoaded, laneRows, lanePage = MaxInFlight, 16, 256

// stored is what a worker knows about its endpoint's stored deliveries.
type stored struct {
	loaded   int       // stored lanes in memory
	due      []string  // lanes to be loaded
	scanning bool      // all pending deliveries are searched for lanes to be loaded
	from     string    // the last lane that was found by that
	retryAt  time.Time // when the next delivery that failed is due; zero: there is none
}

// any reports whether there may be pending deliveries.
func (s *stored) any() bool {
	return s.loaded > 0 || len(s.due) > 0 || s.scanning || !s.retryAt.IsZero()
}

// readStored loads lanes whose first stored delivery can be sent, if there is room.
func (w *worker) readStored(ctx context.Context, now time.Time) error {
	s := &w.stored
	for s.loaded < maxLoaded {
		if len(s.due) == 0 {
			if !s.scanning && (s.retryAt.IsZero() || now.Before(s.retryAt)) {
				return nil
			}
			if err := w.find(ctx, now); err != nil {
				return fmt.Errorf("look for stored deliveries: %w", err)
			}
			continue
		}
		id := s.due[0]
		if s.due = s.due[1:]; w.lanes[id] == nil {
			if err := w.load(ctx, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// find lists lanes to be loaded: by a scan of all pending deliveries after the endpoint was
// leased and after a redelivery, else those whose retry is due.
func (w *worker) find(ctx context.Context, now time.Time) (err error) {
	s := &w.stored
	if s.scanning {
		s.due, err = w.Store.DueLanes(ctx, w.endpoint.ID, s.from, now, lanePage)
		if s.scanning = len(s.due) == lanePage; s.scanning {
			s.from = s.due[lanePage-1]
			return err
		}
	} else {
		s.due, err = w.Store.RetryLanes(ctx, w.endpoint.ID, now, lanePage)
	}
	if err == nil {
		s.retryAt, err = w.Store.NextRetry(ctx, w.endpoint.ID)
	}
	if soon := now.Add(workerTick); !s.retryAt.IsZero() && s.retryAt.Before(soon) {
		s.retryAt = soon // those that are due one after the other are found together
	}
	return err
}

// load reads the first pending deliveries of a lane, unless the first waits for its retry:
// readStored finds it then.
func (w *worker) load(ctx context.Context, id string) error {
	list, err := w.Store.LaneDeliveries(ctx, w.endpoint.ID, id, laneRows)
	if err != nil {
		return fmt.Errorf("read stored deliveries: %w", err)
	}
	if len(list) == 0 || w.Clock().Before(list[0].Next) {
		return nil
	}
	l := &lane{id: id, stored: true}
	for _, d := range list {
		l.items = append(l.items, &item{DueDelivery: d, done: true})
	}
	w.lanes[id], w.ready = l, append(w.ready, l)
	w.stored.loaded++
	return nil
}
