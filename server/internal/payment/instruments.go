package payment

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// rememberedMandates is the number of mandates whose instruments are cached.
const rememberedMandates = 10_000

// instruments caches the instruments of mandates. None is removed, and only their state
// changes; a card that a person changes to is added.
type instruments struct {
	mu sync.Mutex
	of map[string][]ledger.Instrument
}

// Instruments returns the payment methods of a mandate, connected or not, that pay for what has
// this card: that of the mandate, or of a charge or a tab, which keeps the card that it began with.
func (s *Service) Instruments(ctx context.Context, mandateID, card string) ([]rail.Instrument, error) {
	s.methods.mu.Lock()
	rows := s.methods.of[mandateID]
	s.methods.mu.Unlock()
	if len(rows) == 0 || card != "" && !slices.ContainsFunc(rows, func(i ledger.Instrument) bool { return i.Reference == card }) {
		var err error
		if rows, err = s.readInstruments(ctx, mandateID); err != nil {
			return nil, err
		}
	}
	var have []rail.Instrument
	for _, i := range rows {
		if i.Pays(card) {
			have = append(have, i.Instrument)
		}
	}
	return have, nil
}

// readInstruments reads the instruments of a mandate into the cache.
func (s *Service) readInstruments(ctx context.Context, mandateID string) ([]ledger.Instrument, error) {
	rows, err := s.Ledger.InstrumentsOfMandate(ctx, mandateID)
	if err != nil {
		return nil, fmt.Errorf("read instruments of %s: %w", mandateID, err)
	}
	s.methods.mu.Lock()
	defer s.methods.mu.Unlock()
	if len(s.methods.of) >= rememberedMandates || s.methods.of == nil {
		s.methods.of = map[string][]ledger.Instrument{}
	}
	if len(rows) > 0 {
		s.methods.of[mandateID] = rows
	}
	return rows, nil
}
