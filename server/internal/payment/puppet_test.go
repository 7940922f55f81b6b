package payment_test

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/paywarrant/paywarrant/server/rail"
)

var errNoAnswer = errors.New("no answer")

// puppet is a rail that answers as a test says, and remembers what it was asked.
type puppet struct {
	name rail.Name

	mu           sync.Mutex
	outcome      rail.Outcome
	err          error
	connectErr   error
	disconnect   error
	asked        []string // references of charges
	payers       []string // methods of charges
	connected    map[string]rail.Instrument
	disconnected []string // methods
}

func newPuppet(name rail.Name) *puppet {
	return &puppet{name: name, outcome: rail.Outcome{Status: rail.Succeeded}, connected: map[string]rail.Instrument{}}
}

// answer makes the rail answer so from now on.
func (s *puppet) answer(o rail.Outcome, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcome, s.err = o, err
}

// failing makes connecting and disconnecting fail.
func (s *puppet) failing(connect, disconnect error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connectErr, s.disconnect = connect, disconnect
}

func (s *puppet) charges() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.asked...)
}

// ended returns the instruments that were disconnected, each once: a worker whose
// lease has lapsed is followed by another, so a rail may be asked again.
func (s *puppet) ended() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(s.disconnected)))
}

// Name implements rail.Rail.
func (s *puppet) Name() rail.Name { return s.name }

// Connect implements rail.Rail: it takes methods that begin with its name.
func (s *puppet) Connect(_ context.Context, c rail.Connection) (rail.Instrument, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Method != string(s.name) {
		return rail.Instrument{}, rail.ErrUnknownMethod
	}
	var refused *rail.RefusedError
	if errors.As(s.connectErr, &refused) {
		return rail.Instrument{}, s.connectErr
	}
	if _, again := s.connected[c.Reference]; !again {
		s.connected[c.Reference] = rail.Instrument{Rail: s.name, Customer: "0xpayer", Method: "method of " + c.Reference}
	}
	return s.connected[c.Reference], s.connectErr
}

// Charge implements rail.Rail.
func (s *puppet) Charge(_ context.Context, c rail.Charge) (rail.Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.payers = append(s.asked, c.Reference), append(s.payers, c.Instrument.Method)
	return s.outcome, s.err
}

// arrives has the rail see a charge that was on its way.
func (s *puppet) arrives(transactionID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, rail.Reference(transactionID, s.name))
}

// Lookup implements rail.Rail.
func (s *puppet) Lookup(_ context.Context, reference string) (rail.Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.asked, reference) {
		return rail.Outcome{Status: rail.Unseen}, nil
	}
	return s.outcome, nil
}

// Disconnect implements rail.Disconnecter.
func (s *puppet) Disconnect(_ context.Context, in rail.Instrument) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.disconnect != nil {
		return s.disconnect
	}
	s.disconnected = append(s.disconnected, in.Method)
	return nil
}
