package card

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// sandboxFile is the name of the sandbox's file.
const sandboxFile = "card.db"

// SidecarStore is a store that can place other files next to its own. The ledger's stores
// implement it.
type SidecarStore interface {
	// SidecarPath returns the path of a file with that name next to the store's own.
	SidecarPath(name string) string
}

// Sandbox returns a rail with its own processor, in a file next to a store. The first call
// that needs the file opens it and returns the error if that fails; a later call tries
// again. Close the rail when it is no longer needed.
func Sandbox(near SidecarStore) *Rail {
	s := &sandbox{near: near}
	r := newRail(s.gateway, s.close)
	r.useClock = s.useClock
	return r
}

// UseClock sets the clock of the processor that [Sandbox] opens. It must be called before the
// rail is used. A rail with a Config.Gateway ignores it.
func (r *Rail) UseClock(now func() time.Time) {
	if r.useClock != nil {
		r.useClock(now)
	}
}

// sandbox opens a processor when it is first needed.
type sandbox struct {
	near SidecarStore

	mu        sync.Mutex
	clock     func() time.Time // nil: time.Now
	processor *Processor
	closed    bool
}

func (s *sandbox) useClock(now func() time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = now
}

// gateway returns the processor, and opens it first if necessary. It returns [ErrClosed]
// after close.
func (s *sandbox) gateway(ctx context.Context) (Gateway, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if s.processor == nil {
		p, err := OpenProcessor(ctx, ProcessorConfig{Path: s.near.SidecarPath(sandboxFile), Clock: s.clock})
		if err != nil {
			return nil, fmt.Errorf("open sandbox: %w", err)
		}
		s.processor = p
	}
	return s.processor, nil
}

func (s *sandbox) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.processor == nil {
		return nil
	}
	return s.processor.Close()
}
