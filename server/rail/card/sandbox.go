package card

import (
	"context"
	"fmt"
	"sync"
)

// sandboxFile is what the sandbox calls its file.
const sandboxFile = "card.db"

// Neighbour is a store that knows where files beside its own belong; the ledger's
// stores are ones.
type Neighbour interface {
	// SidecarPath returns the path of a file of that name beside the store's own.
	SidecarPath(name string) string
}

// Sandbox returns a rail with a processor of its own, in a file beside a store.
// It opens the file at the first call that needs it, which gives the error where
// that is impossible; a later call tries again. Close the rail when it is done.
func Sandbox(near Neighbour) *Rail {
	s := &sandbox{near: near}
	return newRail(s.gateway, s.close)
}

// sandbox opens a processor late.
type sandbox struct {
	near Neighbour

	mu        sync.Mutex
	processor *Processor
	closed    bool
}

// gateway opens the processor where it is not open yet. [ErrClosed] after close.
func (s *sandbox) gateway(ctx context.Context) (Gateway, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if s.processor == nil {
		p, err := OpenProcessor(ctx, ProcessorConfig{Path: s.near.SidecarPath(sandboxFile)})
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
