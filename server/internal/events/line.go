package events

import (
	"net"
	"net/http"
)

// line is how one goroutine sends: over shared connections, or, to a busy endpoint,
// over one of its own. To be given a shared one for each delivery and to give it back
// is a good part of what a delivery costs.
type line struct {
	shared *http.Transport
	own    *http.ClientConn
	proven bool // the own one has brought an answer
}

// open sees that there is a connection of its own to where a request goes. Where
// there is none to be had, a shared one will say why.
func (l *line) open(r *http.Request) {
	if l.own != nil && l.own.Err() == nil {
		return
	}
	l.close()
	l.own, _ = l.shared.NewClientConn(r.Context(), r.URL.Scheme, net.JoinHostPort(r.URL.Hostname(), r.URL.Port()))
}

// close ends the connection of its own.
func (l *line) close() {
	if l.own != nil {
		_ = l.own.Close() // nobody waits for anything on it
	}
	l.own, l.proven = nil, false
}

// RoundTrip implements http.RoundTripper. A connection that was of use and broke may
// have been closed while nothing was on it: what it was to bring goes over a shared one.
func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.own == nil {
		return l.shared.RoundTrip(r)
	}
	resp, err := l.own.RoundTrip(r)
	if err == nil {
		l.proven = true
		return resp, nil
	}
	again := l.proven && r.Context().Err() == nil
	l.close()
	if !again {
		return nil, err
	}
	next := *r
	if next.Body, err = r.GetBody(); err != nil {
		return nil, err
	}
	return l.shared.RoundTrip(&next)
}
