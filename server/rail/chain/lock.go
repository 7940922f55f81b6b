package chain

import (
	"context"
	"sync"
)

// locks lets one caller at a time into each key.
type locks struct {
	mu    sync.Mutex
	doors map[string]*door
}

type door struct {
	open  chan struct{} // holds one where nobody is in
	users int
}

// lock waits until the key is free; ctx's error where it ends first.
func (l *locks) lock(ctx context.Context, key string) (unlock func(), err error) {
	l.mu.Lock()
	if l.doors == nil {
		l.doors = map[string]*door{}
	}
	d := l.doors[key]
	if d == nil {
		d = &door{open: make(chan struct{}, 1)}
		d.open <- struct{}{}
		l.doors[key] = d
	}
	d.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if d.users--; d.users == 0 {
			delete(l.doors, key)
		}
	}
	select {
	case <-d.open:
		return func() { d.open <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
