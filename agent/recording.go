package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// recording keeps what is read from a body, up to [MaxBody]. A goroutine reads the
// source, so that waiting for it can be interrupted: net/http does not return from a
// round trip while a body is being read. The goroutine ends with the source, which is
// closed once neither the request nor a transport needs it.
type recording struct {
	ctx    context.Context //nolint:containedctx // of the request, for readers whose interface has none
	source io.ReadCloser
	chunks chan []byte   // what was read; closed at the end, after failed is set
	failed error         // io.EOF if the source ended
	taken  chan struct{} // closed when readAll takes over from the first sending
	stop   chan struct{} // closed with the source

	begin, take, shut sync.Once

	mu   sync.Mutex // held while reading
	rest []byte     // of the last chunk
	data []byte
	cut  bool // the source exceeds MaxBody

	state sync.Mutex
	ended bool // the request is over, and the rest is not needed
	left  bool // the transport has closed its reader
}

func newRecording(ctx context.Context, source io.ReadCloser) *recording {
	return &recording{ctx: ctx, source: source, chunks: make(chan []byte), taken: make(chan struct{}), stop: make(chan struct{})}
}

// pump reads the source into two buffers in turn. It reads the next chunk only when the
// previous one has been used.
func (r *recording) pump() {
	defer close(r.chunks)
	var buffers [2][]byte
	for i := 0; ; i = 1 - i {
		if buffers[i] == nil {
			buffers[i] = make([]byte, 32<<10)
		}
		n, err := r.source.Read(buffers[i])
		if n > 0 {
			select {
			case r.chunks <- buffers[i][:n]:
			case <-r.stop:
				err = errBodyClosed
			}
		}
		if err != nil {
			r.failed = err
			return
		}
	}
}

// next waits for a chunk, unless the last one has a rest. The caller holds r.mu.
func (r *recording) next(taken <-chan struct{}) error {
	r.begin.Do(func() { go r.pump() })
	if len(r.rest) > 0 {
		return nil
	}
	select {
	case chunk, ok := <-r.chunks:
		if !ok {
			return r.failed
		}
		r.rest = chunk
		if r.cut = r.cut || len(r.data)+len(chunk) > MaxBody; r.cut {
			r.data = nil
		} else {
			r.data = append(r.data, chunk...)
		}
		return nil
	case <-taken:
		return errBodyClosed
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
}

// readAll takes over from the first sending and reads the source to its end.
func (r *recording) readAll() error {
	r.take.Do(func() { close(r.taken) })
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.cut {
		r.rest = nil
		err := r.next(nil)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("agent: read the body: %w", err)
		}
	}
	return ErrBodyTooLarge
}

func (r *recording) closeSource() {
	r.shut.Do(func() {
		close(r.stop)
		_ = r.source.Close()
	})
}

// end closes the source unless a transport still reads it.
func (r *recording) end() {
	r.state.Lock()
	r.ended = true
	left := r.left
	r.state.Unlock()
	if left {
		r.closeSource()
	}
}

// recordingReader is the body of the first sending. Its Close leaves the source open
// while the rest may still be needed.
type recordingReader struct{ *recording }

// Read implements [io.Reader].
func (r *recordingReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.taken:
		return 0, errBodyClosed
	default:
	}
	if err := r.next(r.taken); err != nil {
		return 0, err
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close implements [io.Closer].
func (r *recordingReader) Close() error {
	r.state.Lock()
	r.left = true
	ended := r.ended
	r.state.Unlock()
	if ended {
		r.closeSource()
	}
	return nil
}
