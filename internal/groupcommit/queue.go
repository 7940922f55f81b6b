package groupcommit

import "sync"

// queue holds the jobs that wait, by lane. A batch takes from all lanes in turn, so a lane
// with a thousand waiting jobs does not delay a lane with one.
type queue[J any] struct {
	limit   int // limit of jobs in all lanes; zero: none
	perLane int // limit of jobs in one lane
	// wake is signaled when a job was added or the queue was closed.
	wake chan struct{}

	mu     sync.Mutex
	lanes  map[string]*lane[J]
	turns  []*lane[J] // lanes with jobs, in the order in which to take from them
	size   int
	closed bool
}

type lane[J any] struct {
	name    string
	waiting []entry[J]
}

// entry is a waiting job. done is closed when it is committed.
type entry[J any] struct {
	job  J
	done chan struct{}
}

func newQueue[J any](limit int) *queue[J] {
	return &queue[J]{limit: limit, perLane: max(limit*3/4, 1), wake: make(chan struct{}, 1), lanes: map[string]*lane[J]{}}
}

// push adds a job to a lane, or returns [ErrFull] or [ErrClosed]. It never waits.
func (q *queue[J]) push(name string, e entry[J]) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	l, known := q.lanes[name]
	if q.closed {
		return ErrClosed
	}
	if q.limit > 0 && (q.size >= q.limit || (known && len(l.waiting) >= q.perLane)) {
		return ErrFull
	}
	if !known {
		l = &lane[J]{name: name}
		q.lanes[name] = l
		q.turns = append(q.turns, l)
	}
	l.waiting = append(l.waiting, e)
	q.size++
	q.signal()
	return nil
}

// take removes up to n jobs, one from each lane in turn, oldest first within a lane.
func (q *queue[J]) take(n int) []entry[J] {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := make([]entry[J], 0, min(n, q.size))
	for len(taken) < n && len(q.turns) > 0 {
		l := q.turns[0]
		q.turns = q.turns[1:]
		taken = append(taken, l.waiting[0])
		l.waiting = l.waiting[1:]
		if len(l.waiting) > 0 {
			q.turns = append(q.turns, l)
		} else {
			delete(q.lanes, l.name)
		}
	}
	q.size -= len(taken)
	return taken
}

// close refuses further jobs. Those that wait can still be taken.
func (q *queue[J]) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

// ended reports that no job waits and none can be added.
func (q *queue[J]) ended() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed && q.size == 0
}

// len returns the number of waiting jobs.
func (q *queue[J]) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.size
}

func (q *queue[J]) signal() {
	select {
	case q.wake <- struct{}{}:
	default: // already signaled
	}
}
