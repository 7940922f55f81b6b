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

// deliver runs the handler and records whether the client got what it paid for. A panic of
// the handler propagates.
func (h *hold) deliver(w http.ResponseWriter, next http.Handler, p *Payment) {
	w.Header().Set(keyCacheControl, "private")
	d := &delivery{header: w.Header(), payment: p, requestID: h.id}
	ctx := h.request.Context()
	h.end = EndUnserved
	defer func() {
		// Also after a panic: a client that can make a handler panic by disconnecting must
		// not get the whole response again after it received most of it.
		if h.fulfilled(d) && (d.hijacked || (d.wrote && ctx.Err() != nil)) {
			h.end = EndServed
		}
	}()
	next.ServeHTTP(d.wrap(w), withoutCredentials(context.WithValue(ctx, deliveryKey{}, d), h.request))
	if d.status == 0 && !d.hijacked {
		d.commit(http.StatusOK)
	}
	if h.fulfilled(d) && (d.wrote || ctx.Err() == nil) {
		h.end = EndServed
	}
}

// fulfilled reports whether the response is what was paid for.
func (h *hold) fulfilled(d *delivery) bool {
	switch {
	case d.declined.Load():
		return false
	case d.hijacked:
		return true
	case h.served != nil:
		return h.served(d.status)
	}
	return d.status < http.StatusBadRequest && d.status != http.StatusNotModified && h.request.Method != http.MethodHead
}

// delivery observes a response.
type delivery struct {
	header    http.Header
	payment   *Payment
	requestID string
	status    int // 0 until the header is written
	wrote     bool
	hijacked  bool
	declined  atomic.Bool // set by Decline, possibly from another goroutine
}

// commit runs right before the header is written. Only the first call has an effect.
func (d *delivery) commit(status int) {
	if d.status != 0 {
		return
	}
	d.status = status
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
				n, err := write(b)
				d.wrote = d.wrote || n > 0
				return n, err
			}
		},
		ReadFrom: func(read httpsnoop.ReadFromFunc) httpsnoop.ReadFromFunc {
			return func(src io.Reader) (int64, error) {
				d.commit(http.StatusOK)
				n, err := read(src)
				d.wrote = d.wrote || n > 0
				return n, err
			}
		},
		Flush: func(flush httpsnoop.FlushFunc) httpsnoop.FlushFunc {
			return func() {
				d.commit(http.StatusOK)
				flush()
			}
		},
		Hijack: func(hijack httpsnoop.HijackFunc) httpsnoop.HijackFunc {
			return func() (net.Conn, *bufio.ReadWriter, error) {
				c, rw, err := hijack()
				d.hijacked = d.hijacked || err == nil
				return c, rw, err
			}
		},
	})
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
