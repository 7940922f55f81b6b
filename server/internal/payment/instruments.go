package payment

import (
	"context"
	"fmt"
	"sync"

	"github.com/paywarrant/paywarrant/server/rail"
)

// rememberedMandates is the number of mandates whose instruments are cached.
const rememberedMandates = 10_000

// instruments caches the instruments of mandates. They never change after the mandate is
// created; only their state does.
type instruments struct {
	mu sync.Mutex
	of map[string][]rail.Instrument
}

// Instruments returns the payment methods with which a mandate was created, connected
// or not.
func (s *Service) Instruments(ctx context.Context, mandateID string) ([]rail.Instrument, error) {
	s.methods.mu.Lock()
	have, known := s.methods.of[mandateID]
	s.methods.mu.Unlock()
	if known {
		return have, nil
	}
	rows, err := s.Ledger.InstrumentsOfMandate(ctx, mandateID)
	if err != nil {
		return nil, fmt.Errorf("read instruments of %s: %w", mandateID, err)
	}
	for _, i := range rows {
		have = append(have, i.Instrument)
	}
	s.methods.mu.Lock()
	defer s.methods.mu.Unlock()
	if len(s.methods.of) >= rememberedMandates || s.methods.of == nil {
		s.methods.of = map[string][]rail.Instrument{}
	}
	if len(have) > 0 {
		s.methods.of[mandateID] = have
	}
	return have, nil
}
