package paywall

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/felixge/httpsnoop"
)

// maxDelayed is how much of a response is delayed until its receipt is known, in bytes.
const maxDelayed = 64 << 10

// delayed is a response that is not sent before the handler has returned, so that its header
// has the receipt. A response that is flushed or too long streams instead, and its trailer
// has the receipt.
type delayed struct {
	w       http.ResponseWriter
	key     string      // canonical name of the header of the receipt
	before  http.Header // the header before the handler ran
	header  http.Header // the header at the time of WriteHeader
	status  int
	body    bytes.Buffer
	sent    bool          // the response streams
	streams *atomic.Int32 // its status then
}

func (d *delivery) newDelayed(w http.ResponseWriter, key string) *delayed {
	return &delayed{w: w, key: key, before: w.Header().Clone(), streams: &d.streams}
}

// delay returns the writer for the handler.
func (d *delivery) delay() http.ResponseWriter {
	r := d.delayed
	write := func(b []byte) (int, error) {
		d.commit(http.StatusOK)
		r.writeHeader(http.StatusOK)
		if r.sent {
			return r.w.Write(b)
		}
		if r.body.Len()+len(b) > maxDelayed {
			r.stream()
			return r.w.Write(b)
		}
		return r.body.Write(b)
	}
	return httpsnoop.Wrap(r.w, httpsnoop.Hooks{
		WriteHeader: func(now httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc {
			return func(code int) {
				if code < http.StatusOK && code != http.StatusSwitchingProtocols {
					now(code)
					return
				}
				d.commit(code)
				r.writeHeader(code)
			}
		},
		Write: func(httpsnoop.WriteFunc) httpsnoop.WriteFunc { return write },
		ReadFrom: func(httpsnoop.ReadFromFunc) httpsnoop.ReadFromFunc {
			return func(src io.Reader) (int64, error) { return io.Copy(writerFunc(write), src) }
		},
		Flush: func(flush httpsnoop.FlushFunc) httpsnoop.FlushFunc {
			return func() {
				d.commit(http.StatusOK)
				r.writeHeader(http.StatusOK)
				r.stream()
				flush()
			}
		},
		Hijack: d.hookHijack,
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// writeHeader remembers the status and header. Only the first call has an effect.
func (r *delayed) writeHeader(code int) {
	if r.status == 0 {
		r.status, r.header = code, r.w.Header().Clone()
	}
}

// stream sends what was delayed. Only the first call has an effect.
func (r *delayed) stream() {
	if r.sent {
		return
	}
	if r.header.Get(keyContentLength) == "" { // a response with a length has no trailer
		r.header.Add(keyTrailer, r.key)
	}
	r.send()
}

// dropped reports whether what was streamed is kept from the client by a timeout in front of
// the gate. That of [http.TimeoutHandler] keeps a response back until its handler has
// returned, and cannot be flushed.
func (r *delayed) dropped() bool {
	_, err := r.w.Write(nil)
	return errors.Is(err, http.ErrHandlerTimeout) || errors.Is(http.NewResponseController(r.w).Flush(), http.ErrNotSupported)
}

// send sends the header and body. What the handler set after WriteHeader can only be a
// trailer.
func (r *delayed) send() {
	r.sent = true
	r.streams.Store(int32(r.status))
	h := r.w.Header()
	after := h.Clone()
	clear(h)
	maps.Copy(h, r.header)
	r.w.WriteHeader(r.status)
	_, _ = r.w.Write(r.body.Bytes()) // the client may have disconnected
	r.body = bytes.Buffer{}
	for name, values := range after {
		if strings.HasPrefix(name, http.TrailerPrefix) || !slices.Equal(values, r.header[name]) {
			h[name] = values
		}
	}
}

// finish ends the response: with the receipt in its header, or in the trailer of a stream.
func (r *delayed) finish(receipt string) {
	switch {
	case r.sent:
		r.w.Header().Set(r.key, receipt)
	case r.status == 0: // the client left before the handler decided
	default:
		r.header.Set(r.key, receipt)
		r.send()
	}
}

// discard removes the response of the handler, so that another one can be sent.
func (r *delayed) discard() {
	h := r.w.Header()
	clear(h)
	maps.Copy(h, r.before)
	r.sent = true
}
