package card

import (
	"context"
	"sync"
)

// rememberedMethods is how many payment methods are remembered at most.
const rememberedMethods = 10_000

// connected remembers payment methods by id. A method never changes once it is stored.
type connected struct {
	mu   sync.Mutex
	byID map[string]Method
}

// method returns a payment method; the zero Method if there is none.
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
