package ledger

import "sync"

// queue holds the commands that wait at a committer, in a lane for each mandate
// (or other row) that they are about. A batch takes from all lanes in turn: a
// mandate with a thousand commands waiting does not hold up one with a single one.
type queue struct {
	limit int // of commands in all lanes
	lane  int // of commands in one lane
	// wake has a token when commands came or the queue was closed.
	wake chan struct{}

	mu     sync.Mutex
	lanes  map[string]*lane
	turns  []*lane // lanes with commands, the next to take from first
	size   int
	closed bool
}

type lane struct {
	of      string
	waiting []*command
}

// newQueue returns a queue of limit commands, of which one lane may hold three
// quarters: the rest is kept for others.
func newQueue(limit int) *queue {
	return &queue{limit: limit, lane: max(limit*3/4, 1), wake: make(chan struct{}, 1), lanes: map[string]*lane{}}
}

// push queues a command about a row, or returns [ErrBusy] or [ErrClosed]. It never waits.
func (q *queue) push(of string, c *command) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	l, known := q.lanes[of]
	if q.closed {
		return ErrClosed
	}
	if q.size >= q.limit || (known && len(l.waiting) >= q.lane) {
		return ErrBusy
	}
	if !known {
		l = &lane{of: of}
		q.lanes[of] = l
		q.turns = append(q.turns, l)
	}
	l.waiting = append(l.waiting, c)
	q.size++
	q.signal()
	return nil
}

// take removes up to n commands, one of each lane in turn, in the order in which
// they came to their lane.
func (q *queue) take(n int) []*command {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := make([]*command, 0, min(n, q.size))
	for len(taken) < n && len(q.turns) > 0 {
		l := q.turns[0]
		q.turns = q.turns[1:]
		taken = append(taken, l.waiting[0])
		l.waiting = l.waiting[1:]
		if len(l.waiting) > 0 {
			q.turns = append(q.turns, l)
		} else {
			delete(q.lanes, l.of)
		}
	}
	q.size -= len(taken)
	return taken
}

// close lets what waits be taken, and ends the queue after that.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

// ended tells that nothing waits and nothing will come.
func (q *queue) ended() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed && q.size == 0
}

// len is how many commands wait.
func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.size
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default: // it is awake
	}
}
