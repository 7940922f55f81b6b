package paywall

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/felixge/httpsnoop"
)

// maxInterrupted is how often the handler runs for one payment if each run is interrupted.
// The payment then counts as served.
const maxInterrupted = 5

// deliver runs the handler and decides whether the payment was served. A panic of the handler
// propagates.
func (h *hold) deliver(w http.ResponseWriter, next http.Handler, p *Payment) {
	w.Header().Set(keyCacheControl, "private")
	ctx := h.request.Context()
	d := &delivery{header: w.Header(), payment: p, requestID: h.id, ctx: ctx, meter: h.newMeter(p), repeatWith: h.repeatWith}
	h.end = EndUnserved
	returned := false
	defer func() {
		h.end = h.outcome(d, returned)
		h.refundUnserved(d, returned)
	}()
	next.ServeHTTP(d.wrap(w), withoutCredentials(context.WithValue(ctx, deliveryKey{}, d), h.request))
	returned = true
	switch {
	case d.status != 0 || d.hijacked:
	case ctx.Err() == nil:
		d.commit(http.StatusOK)
	default:
		d.protect() // net/http writes 200, which is not the decision of the handler
	}
}

// outcome returns how the claims end after the handler. A client that can interrupt a handler
// by disconnecting must not make it run any number of times for one payment. So a status
// counts even if the client has left, and a run without one is counted.
func (h *hold) outcome(d *delivery, returned bool) End {
	left := d.ctx.Err() != nil
	switch {
	case d.declined.Load():
		return EndUnserved
	case d.hijacked:
		return EndServed
	case d.status == 0 && left:
		return h.interrupted(d)
	case !returned && !left: // the handler panicked by itself
		return EndUnserved
	case h.fulfilled(d.status):
		return EndServed
	case d.late, h.served == nil && d.status < http.StatusBadRequest:
		return h.interrupted(d)
	}
	return EndUnserved
}

// fulfilled reports whether a response with this status is what was paid for.
func (h *hold) fulfilled(status int) bool {
	if h.served != nil {
		return h.served(status)
	}
	return status < http.StatusBadRequest && status != http.StatusNotModified && h.request.Method != http.MethodHead
}

// repeatWith returns the Idempotency-Key with which a request by bare mandate can be repeated
// after a response with this status, or "" if it is served or will be refunded.
func (h *hold) repeatWith(status int) string {
	if h.fulfilled(status) || h.refunder != nil && status >= http.StatusInternalServerError {
		return ""
	}
	return h.repeat
}

// interrupted counts a run of the handler that the client ended, or for which it requested no
// content. A bundle has no claim that could count, so its credit is spent.
func (h *hold) interrupted(d *delivery) End {
	p := *d.payment // the handler may have started goroutines that read the original
	p.Interrupted++
	if len(h.held) == 0 || p.Interrupted >= maxInterrupted {
		return EndServed
	}
	ctx, cancel := h.bookkeeping(d.ctx)
	defer cancel()
	for _, c := range h.held {
		h.note(ctx, c.key, p)
	}
	return EndUnserved
}

// delivery observes a response.
type delivery struct {
	header    http.Header
	payment   *Payment
	requestID string
	ctx       context.Context // of the request
	status    int             // 0 until the header is written
	late      bool            // the client had left when the header was written
	hijacked  bool
	declined  atomic.Bool // set by Decline, possibly from another goroutine
	meter     *Meter      // nil if the route is not metered
	// repeatWith returns the Idempotency-Key of a response with a status. Nil if the route is
	// metered.
	repeatWith func(status int) string
	delayed    *delayed     // only while a price is held
	streams    atomic.Int32 // status of a metered response that is on its way; 101 if hijacked
}

// commit runs right before the header is written. Only the first call has an effect.
func (d *delivery) commit(status int) {
	if d.status != 0 {
		return
	}
	d.status, d.late = status, d.ctx.Err() != nil
	d.protect()
	if d.repeatWith == nil {
		return
	}
	if key := d.repeatWith(status); key != "" {
		d.header.Set(HeaderIdempotencyKey, key)
	}
}

// protect restores the headers of a paid response that the handler replaced.
func (d *delivery) protect() {
	keepPrivate(d.header)
	addExposed(d.header)
}

func (d *delivery) wrap(w http.ResponseWriter) http.ResponseWriter {
	return httpsnoop.Wrap(w, httpsnoop.Hooks{
		WriteHeader: func(write httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc {
			return func(code int) {
				if code >= 200 || code == http.StatusSwitchingProtocols {
					d.commit(code)
				}
				write(code)
			}
		},
		Write: func(write httpsnoop.WriteFunc) httpsnoop.WriteFunc {
			return func(b []byte) (int, error) {
				d.commit(http.StatusOK)
				return write(b)
			}
		},
		ReadFrom: func(read httpsnoop.ReadFromFunc) httpsnoop.ReadFromFunc {
			return func(src io.Reader) (int64, error) {
				d.commit(http.StatusOK)
				return read(src)
			}
		},
		Flush: func(flush httpsnoop.FlushFunc) httpsnoop.FlushFunc {
			return func() {
				d.commit(http.StatusOK)
				flush()
			}
		},
		Hijack: d.hookHijack,
	})
}

// hookHijack records that the handler took the connection over.
func (d *delivery) hookHijack(hijack httpsnoop.HijackFunc) httpsnoop.HijackFunc {
	return func() (net.Conn, *bufio.ReadWriter, error) {
		c, rw, err := hijack()
		if err == nil {
			d.hijacked = true
			d.streams.Store(http.StatusSwitchingProtocols)
		}
		return c, rw, err
	}
}

// keepPrivate prevents shared caches from storing a paid response, whatever the handler set.
func keepPrivate(h http.Header) {
	kept := []string{"private"}
	for _, line := range h[keyCacheControl] {
		for directive := range strings.SplitSeq(line, ",") {
			directive = strings.TrimSpace(directive)
			name, _, _ := strings.Cut(strings.ToLower(directive), "=")
			switch name {
			case "", "private", "public", "s-maxage", "proxy-revalidate":
			default:
				kept = append(kept, directive)
			}
		}
	}
	h[keyCacheControl] = []string{strings.Join(kept, ", ")}
	addVary(h)
}
