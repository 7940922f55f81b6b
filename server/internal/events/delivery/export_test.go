package delivery

// What the tests of the functions that only decide call.
var (
	RetryIn    = retryIn
	PauseAfter = pauseAfter
)
