package paywall

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/felixge/httpsnoop"
)

// deliver runs the handler and notes whether the client got what it paid for:
// the handler answered other than 5xx, and did not fail before anything was sent
// to a client that had left. A panic of the handler goes on.
func (h *hold) deliver(w http.ResponseWriter, next http.Handler, p *Payment) {
	w.Header().Set(keyCacheControl, "private")
	d := &delivery{header: w.Header()}
	ctx := h.request.Context()
	h.end = Unserved
	defer func() {
		// After a panic too: a client can make some handlers panic by cutting the
		// connection, and must not get the whole again for having had most of it.
		if d.hijacked || (d.status < http.StatusInternalServerError && d.wrote && ctx.Err() != nil) {
			h.end = Served
		}
	}()
	next.ServeHTTP(d.wrap(w), h.request.WithContext(withPayment(ctx, p)))
	if d.status == 0 && !d.hijacked {
		d.commit(http.StatusOK)
	}
	if d.status < http.StatusInternalServerError && (d.wrote || ctx.Err() == nil) {
		h.end = Served
	}
}

// delivery watches an answer without getting in its way.
type delivery struct {
	header   http.Header
	status   int // 0 until it is decided
	wrote    bool
	hijacked bool
}

// commit is called once, right before the header is sent.
func (d *delivery) commit(status int) {
	if d.status != 0 {
		return
	}
	d.status = status
	keepPrivate(d.header)
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

// keepPrivate makes sure that no shared cache keeps what was paid for, whatever
// the handler said.
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
	for _, line := range h[keyVary] {
		if strings.Contains(line, HeaderMandate) || line == "*" {
			return
		}
	}
	h[keyVary] = append(h[keyVary], varied)
}
