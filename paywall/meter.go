package paywall

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/text"
)

// Errors of a [Meter].
var (
	// ErrMeterFull reports that the price of the request is used up.
	ErrMeterFull = errors.New("paywall: the price of the request is used up")
	// ErrMeterEnded reports that the request has ended, or that its price is held no longer.
	ErrMeterEnded = errors.New("paywall: the request's meter has ended")
	// ErrMeterAmount reports a negative amount or quantity, or one that is too large.
	ErrMeterAmount = errors.New("paywall: the metered amount is negative or too large")
	// ErrMeterUnit reports a unit that a receipt cannot show.
	ErrMeterUnit = errors.New("paywall: want a unit of 1 to 40 characters on one line")
)

// Limits of the usage that the service accepts.
const (
	maxUnit  = 40                // characters of a unit
	maxUnits = 1_000_000_000_000 // quantity, and price of a unit in micro-dollars
)

// Meter counts what a request to a metered route uses: see [Route.Metered]. It starts at zero
// and ends at the price. It is safe for concurrent use. A nil Meter, which requests through
// [Config.Skip] have, accepts every amount and counts nothing.
type Meter struct {
	clock func() time.Time
	most  int64
	until time.Time // zero: as long as the request

	mu    sync.Mutex
	used  int64
	ended bool
	late  bool // an amount was not counted because the price is held no longer
	usage *client.Usage
	mixed bool // the amounts have no single unit
}

// MeterFrom returns the meter of a request, from the context of the handler behind a gate. It
// is nil if the route is not metered, or if the request came through no gate.
//
// A mandate, or a wallet by x402's scheme upto, pays what the meter counts. The meter of a
// request with another credential counts in the same way, but the request has paid the price.
func MeterFrom(ctx context.Context) *Meter {
	d, ok := ctx.Value(deliveryKey{}).(*delivery)
	if !ok {
		return nil
	}
	return d.meter
}

// newMeter returns the meter of a payment for the offer, or nil if the route is not metered.
func (v *visit) newMeter(p *Payment) *Meter {
	if !v.route.Metered {
		return nil
	}
	m := &Meter{clock: v.clock, most: v.offer.micros}
	if p.held() {
		m.most, m.until = p.AuthorizedMicros, p.AuthorizedUntil.Add(-captureMargin)
	}
	return m
}

// Add counts an amount in micro-dollars (millionths of a US dollar). If the amount exceeds what
// is left, the meter goes to the price and stays there, and Add returns [ErrMeterFull]: the
// rest is not paid, and the handler should stop. Other errors, which count nothing: [ErrMeterEnded] and
// [ErrMeterAmount].
func (m *Meter) Add(micros int64) error { return m.add(micros, nil) }

// AddUnits counts a quantity of units at a price for each, in micro-dollars, like [Meter.Add].
// If all amounts of a request have one unit and price, the receipt names them. A unit without
// text, of more than 40 characters or with line breaks counts nothing and returns
// [ErrMeterUnit].
func (m *Meter) AddUnits(unit string, quantity, unitPriceMicros int64) error {
	if unit == "" || text.Check(unit, maxUnit) != nil {
		return ErrMeterUnit
	}
	if min(quantity, unitPriceMicros) < 0 || max(quantity, unitPriceMicros) > maxUnits ||
		unitPriceMicros > 0 && quantity > math.MaxInt64/unitPriceMicros {
		return ErrMeterAmount
	}
	return m.add(quantity*unitPriceMicros, &client.Usage{Unit: unit, Quantity: quantity, UnitPriceMicros: unitPriceMicros})
}

func (m *Meter) add(micros int64, usage *client.Usage) error {
	if micros < 0 {
		return ErrMeterAmount
	}
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if over := !m.until.IsZero() && !m.clock().Before(m.until); m.ended || over {
		m.late = m.late || over && !m.ended && micros > 0
		return ErrMeterEnded
	}
	left := m.most - m.used
	if micros <= left {
		m.describe(usage)
		m.used += micros
		return nil
	}
	m.describePart(usage, left)
	m.used = m.most
	return ErrMeterFull
}

// describePart describes the whole units that what is left of the price pays for.
func (m *Meter) describePart(u *client.Usage, left int64) {
	if left == 0 {
		return
	}
	if u != nil {
		if u.Quantity = left / u.UnitPriceMicros; u.Quantity == 0 {
			u = nil
		}
	}
	if u != nil || m.usage == nil {
		m.describe(u)
	}
}

// describe adds units to the usage, if they have the unit and price of the earlier ones.
func (m *Meter) describe(u *client.Usage) {
	switch {
	case m.mixed:
	case u == nil, m.usage != nil && (m.usage.Unit != u.Unit || m.usage.UnitPriceMicros != u.UnitPriceMicros || m.usage.Quantity+u.Quantity > maxUnits):
		m.usage, m.mixed = nil, true
	case m.usage == nil:
		m.usage = u
	default:
		m.usage.Quantity += u.Quantity
	}
}

// Used returns what the meter has counted, in micro-dollars.
func (m *Meter) Used() int64 {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// Left returns what is left of the price, in micro-dollars. It is the largest int64 for a nil
// Meter.
func (m *Meter) Left() int64 {
	if m == nil {
		return math.MaxInt64
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.most - m.used
}

// wasLate reports whether the handler counted an amount after the price was held.
func (m *Meter) wasLate() bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.late
}

// end ends the meter and returns what it has counted.
func (m *Meter) end() (used int64, usage *client.Usage) {
	if m == nil {
		return 0, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	return m.used, m.usage
}
