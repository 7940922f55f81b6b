package events

import "net/http"

// Line is a line, for the tests that break it.
type Line struct{ line }

// NewLine returns one that has no connection yet.
func NewLine(shared *http.Transport) *Line { return &Line{line{shared: shared}} }

// Open sees that there is a connection of its own.
func (l *Line) Open(r *http.Request) { l.open(r) }

// Close ends it.
func (l *Line) Close() { l.close() }

// What the tests of the parts that only decide call.
var (
	RetryIn    = retryIn
	PauseAfter = pauseAfter
	RetryAfter = retryAfter
	Plain      = plain
	Schedule   = schedule
)
