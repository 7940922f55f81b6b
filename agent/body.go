package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// MaxBody is the maximum size of a body without GetBody that can be repeated, in bytes.
const MaxBody = 1 << 20

// errBodyClosed is returned when a transport reads a body that it has closed.
var errBodyClosed = errors.New("agent: read from a closed body")

// body is the body of a request that may be sent several times. If the request has
// GetBody, each sending uses a new body from it. Any other body is recorded while it is
// sent, so that sending is not delayed; before the request is sent again, what the
// transport left unread is read as well.
type body struct {
	length  int64
	getBody func() (io.ReadCloser, error)
	first   io.ReadCloser // the body of the first sending; nil once used
	record  *recording    // nil if there is no body, or GetBody
}

func newBody(r *http.Request) *body {
	switch {
	case r.Body == nil || r.Body == http.NoBody:
		return &body{}
	case r.GetBody != nil:
		return &body{length: r.ContentLength, getBody: r.GetBody, first: r.Body}
	}
	rec := newRecording(r.Context(), r.Body)
	return &body{length: r.ContentLength, record: rec, first: &recordingReader{recording: rec}}
}

// empty reports whether there is no body at all.
func (b *body) empty() bool { return b.getBody == nil && b.record == nil }

// set sets the body of a request that is about to be sent.
func (b *body) set(r *http.Request) (err error) {
	r.GetBody = b.getBody
	switch {
	case b.empty():
		r.Body, r.ContentLength = http.NoBody, 0
	case b.first != nil:
		r.Body, r.ContentLength, b.first = b.first, b.length, nil
	case b.getBody != nil:
		r.ContentLength = b.length
		if r.Body, err = b.getBody(); err != nil {
			return fmt.Errorf("agent: GetBody: %w", err)
		}
	default:
		data := b.record.data
		r.ContentLength = int64(len(data))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
		r.Body, _ = r.GetBody()
	}
	return nil
}

// complete reads the rest of a recorded body, so that it can be sent again. It returns
// [ErrBodyTooLarge] above [MaxBody], and the context's error.
func (b *body) complete() error {
	if b.record == nil {
		return nil
	}
	return b.record.readAll()
}

// hash writes the body's content to w. A recorded body must be complete.
func (b *body) hash(w io.Writer) error {
	if b.record != nil {
		_, err := w.Write(b.record.data)
		return err
	}
	if b.getBody == nil {
		return nil
	}
	again, err := b.getBody()
	if err != nil {
		return fmt.Errorf("agent: GetBody: %w", err)
	}
	defer func() { _ = again.Close() }()
	if _, err := io.Copy(w, again); err != nil {
		return fmt.Errorf("agent: GetBody: %w", err)
	}
	return nil
}

// end closes what no transport will close.
func (b *body) end() {
	if b.first != nil {
		_ = b.first.Close()
	}
	if b.record != nil {
		b.record.end()
	}
}
