package ledger

import "sync"

// queue holds the commands that wait at a committer, in one lane per row, usually a
// mandate. A batch takes from all lanes in turn, so a mandate with a thousand waiting
// commands does not delay a mandate with one.
type queue struct {
	limit int // limit of commands in all lanes
	lane  int // limit of commands in one lane
	// wake is signaled when a command was added or the queue was closed.
	wake chan struct{}

	mu     sync.Mutex
	lanes  map[string]*lane
	turns  []*lane // lanes with commands, in the order in which to take from them
	size   int
	closed bool
}

type lane struct {
	row     string
	waiting []*command
}

// newQueue returns a queue for limit commands. One lane may hold three quarters of them.
func newQueue(limit int) *queue {
	return &queue{limit: limit, lane: max(limit*3/4, 1), wake: make(chan struct{}, 1), lanes: map[string]*lane{}}
}

// push queues a command about a row, or returns [ErrBusy] or [ErrClosed]. It never waits.
func (q *queue) push(row string, c *command) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	l, known := q.lanes[row]
	if q.closed {
		return ErrClosed
	}
	if q.size >= q.limit || (known && len(l.waiting) >= q.lane) {
		return ErrBusy
	}
	if !known {
		l = &lane{row: row}
		q.lanes[row] = l
		q.turns = append(q.turns, l)
	}
	l.waiting = append(l.waiting, c)
	q.size++
	q.signal()
	return nil
}

// take removes up to n commands, one from each lane in turn, oldest first within a lane.
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
			delete(q.lanes, l.row)
		}
	}
	q.size -= len(taken)
	return taken
}

// close refuses further commands. Those that wait can still be taken.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

// ended reports that no command waits and none can be added.
func (q *queue) ended() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed && q.size == 0
}

// len returns the number of waiting commands.
func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.size
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default: // already signaled
	}
}
