package paywall

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// lastCallEvery is how often a response is looked at that does not stream yet when its price is
// about to be held no longer.
const lastCallEvery = captureMargin / 6

// lastCall ends the meter of a response that streams while its price is still held. Without
// it, a client that stops reading until the hold has ended keeps the handler in a write, and
// pays nothing for what it has read.
type lastCall struct {
	h *hold
	d *delivery

	mu       sync.Mutex
	timer    *time.Timer
	decided  bool
	deadline bool // the response has a write deadline
	no       *refusal
	receipt  string
}

// watch starts the timer of a request whose price is held. Its end must be called.
func (h *hold) watch(d *delivery) *lastCall {
	l := &lastCall{h: h, d: d}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(l.left(), l.call)
	return l
}

// left returns the time until the meter ends.
func (l *lastCall) left() time.Duration {
	return l.d.payment.AuthorizedUntil.Add(-captureMargin).Sub(l.h.clock())
}

// call decides about a response that streams. One that does not is decided about when its
// handler returns, because it can still be refused.
func (l *lastCall) call() {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch left := l.left(); {
	case l.decided:
		return
	case left > 0: // the clocks differ
		l.timer.Reset(max(left, 10*time.Millisecond))
		return
	}
	status := int(l.d.streams.Load())
	if status == 0 || !l.stopWriting() {
		if left := l.left() + captureMargin; left > 0 {
			l.timer.Reset(lastCallEvery)
		}
		return
	}
	l.decided = true
	l.no, l.receipt = l.h.endMeter(context.WithoutCancel(l.d.ctx), l.d, l.h.decideStream(l.d, status))
}

// stopWriting lets writes fail when the hold has ended, so that the handler of a client that
// does not read returns. It reports whether the response can. A timeout in front of the gate
// cannot: it keeps the response, and no client delays it.
func (l *lastCall) stopWriting() bool {
	if status := l.d.streams.Load(); status == http.StatusSwitchingProtocols {
		return true // the connection is the handler's
	}
	err := http.NewResponseController(l.d.delayed.w).SetWriteDeadline(time.Now().Add(captureMargin))
	l.deadline = err == nil
	return !errors.Is(err, http.ErrNotSupported)
}

// end returns the outcome of the request: that of call, or else that of decide.
func (l *lastCall) end(decide func() (*refusal, string)) (*refusal, string) {
	l.timer.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.decided {
		l.decided = true
		l.no, l.receipt = decide()
	}
	return l.no, l.receipt
}

// release removes the write deadline once the response was sent, because the connection may
// serve other requests.
func (l *lastCall) release(w http.ResponseWriter) {
	if !l.deadline {
		return
	}
	c := http.NewResponseController(w)
	if c.Flush() == nil {
		_ = c.SetWriteDeadline(time.Time{})
	}
}

// decideStream returns how the hold of a response with this status ends that streams.
func (h *hold) decideStream(d *delivery, status int) decision {
	used, usage := d.meter.end()
	e := decision{payment: *d.payment, micros: d.payment.capturable(used), end: EndServed, sent: true}
	e.payment.MeteredMicros, e.payment.Usage, e.payment.Decided = used, usage, true
	if d.declined.Load() || status != http.StatusSwitchingProtocols && !h.fulfilled(status) {
		e.void(used)
	}
	return e
}
