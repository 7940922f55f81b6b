package card

import (
	"context"
	"sync"
)

// rememberedMethods limits the number of cached payment methods.
const rememberedMethods = 10_000

// connected caches payment methods by id. A stored method never changes.
type connected struct {
	mu   sync.Mutex
	byID map[string]Method
}

// method returns a payment method, or the zero Method if there is none.
func (p *Processor) method(ctx context.Context, id string) (Method, error) {
	c := &p.connected
	c.mu.Lock()
	m, known := c.byID[id]
	c.mu.Unlock()
	if known {
		return m, nil
	}
	m, err := p.db.method(ctx, id)
	if err != nil || m.ID == "" {
		return Method{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID == nil || len(c.byID) >= rememberedMethods {
		c.byID = map[string]Method{}
	}
	c.byID[id] = m
	return m, nil
}
