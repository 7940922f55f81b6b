package events

// What the tests of the parts that only decide call.
var (
	RetryIn    = retryIn
	PauseAfter = pauseAfter
	RetryAfter = retryAfter
	Plain      = plain
	Schedule   = schedule
)
