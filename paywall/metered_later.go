package paywall

import (
	"context"
	"sync"
)

// maxLater is how many calls continue in the background at most.
const maxLater = 10_000

// later runs calls that had no outcome when their request ended.
type later struct {
	ctx    context.Context //nolint:containedctx // ends what runs
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	running int
	closed  bool
}

func newLater() *later {
	l := &later{}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// run runs f in the background. It reports false if it cannot.
func (l *later) run(f func(context.Context)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.running >= maxLater {
		return false
	}
	l.running++
	l.wg.Go(func() {
		defer l.done()
		f(l.ctx)
	})
	return true
}

func (l *later) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
}

// Shutdown waits until every capture and refund in the background has ended. If ctx ends
// first, it stops them and returns the error of ctx. Call it after [http.Server.Shutdown]; it
// covers all gates that were derived from this one. A request that ends later makes its calls
// once and leaves none to the background.
func (g *Gate) Shutdown(ctx context.Context) error {
	l := g.later
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		l.wg.Wait()
		close(ended)
	}()
	var err error
	select {
	case <-ended:
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.cancel()
	<-ended
	return err
}
