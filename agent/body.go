package agent

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// MaxBody is how long a body may be that is sent again with a payment, in bytes.
const MaxBody = 1 << 20

// body is that of a request, kept so that it can be sent twice.
type body struct {
	data []byte
	// cut tells that there is more than is kept; rest is that, and can be sent once.
	cut  bool
	rest io.ReadCloser
}

// readBody keeps the body of a request, and closes it unless it is cut.
func readBody(r *http.Request) (*body, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return &body{}, nil
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
	if err != nil {
		_ = r.Body.Close()
		return nil, fmt.Errorf("agent: read the body: %w", err)
	}
	if len(data) > MaxBody {
		return &body{data: data, cut: true, rest: r.Body}, nil
	}
	return &body{data: data}, r.Body.Close()
}

// set gives the body to a request that is sent.
func (b *body) set(r *http.Request) {
	switch {
	case b.cut:
		r.Body = &rejoined{Reader: io.MultiReader(newReader(b.data), b.rest), Closer: b.rest}
		r.GetBody = nil
	case len(b.data) == 0:
		r.Body, r.GetBody, r.ContentLength = http.NoBody, nil, 0
	default:
		r.Body, r.ContentLength = io.NopCloser(newReader(b.data)), int64(len(b.data))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(newReader(b.data)), nil }
	}
}

func newReader(data []byte) *bytes.Reader { return bytes.NewReader(data) }
