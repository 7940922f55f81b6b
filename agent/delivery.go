package agent

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// deliver tracks the response to a paid request. The credential is dropped once the
// response was delivered: a status below 400, read to its end. Until then the same
// request sends the same credential. Lost reports that an earlier response was lost.
func (v *visit) deliver(resp *http.Response, c *credential, lost bool) {
	var until time.Time
	if lost || confirms(resp.Header) || undecided(resp.StatusCode) {
		until = v.cfg.Clock().Add(unfulfilledLife)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		v.release(c, until)
		return
	}
	c.last = answered
	if bodiless(v.request.Method, resp) {
		v.finish(c, PurchaseDelivered, resp)
		return
	}
	resp.Body = &deliveredBody{ReadCloser: resp.Body, left: resp.ContentLength, end: func(how ending) {
		switch how {
		case whole:
			v.finish(c, PurchaseDelivered, resp)
			return
		case broken:
			c.last = unanswered
		case closed:
		}
		v.release(c, until)
	}}
}

// undecided reports whether the payment may have been made although the status does not
// confirm it: the seller lost the result, or does not have it yet.
func undecided(status int) bool {
	switch status {
	case http.StatusPaymentRequired, http.StatusRequestTimeout, http.StatusConflict,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// bodiless reports whether a response has no body to read.
func bodiless(method string, resp *http.Response) bool {
	return method == http.MethodHead || resp.ContentLength == 0 || resp.Body == http.NoBody || resp.StatusCode < 200 ||
		resp.StatusCode >= 300 || resp.StatusCode == http.StatusNoContent
}

// ending is how the reading of a body ended.
type ending int

const (
	whole  ending = iota // at its end
	closed               // by the caller, before its end
	broken               // by an error
)

// deliveredBody calls end once, when the reading ends.
type deliveredBody struct {
	io.ReadCloser

	left int64 // bytes still to be read; negative: unknown
	end  func(how ending)
	once sync.Once
}

// Read implements [io.Reader].
func (b *deliveredBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left > 0 {
		b.left -= int64(n)
	}
	switch {
	case errors.Is(err, io.EOF), b.left == 0:
		b.finish(whole)
	case err != nil:
		b.finish(broken)
	}
	return n, err
}

// Close implements [io.Closer].
func (b *deliveredBody) Close() error {
	b.finish(closed)
	return b.ReadCloser.Close()
}

func (b *deliveredBody) finish(how ending) { b.once.Do(func() { b.end(how) }) }
