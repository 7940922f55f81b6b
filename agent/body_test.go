package agent_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
)

// streamed is a request whose body has no GetBody.
func streamed(c context.Context, t *testing.T, url string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(c, http.MethodPost, url, io.MultiReader(body))
	require.NoError(t, err)
	require.Nil(t, r.GetBody)
	return r
}

func TestBodyIsSentWhileItIsWritten(t *testing.T) {
	t.Parallel()
	got := make(chan string)
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, _ bool) {
		first := make([]byte, 5)
		_, _ = io.ReadFull(r.Body, first)
		got <- string(first)
		_, _ = io.Copy(w, r.Body)
	})
	read, write := io.Pipe()
	go func() {
		_, _ = io.WriteString(write, "first")
		<-got // what is written later depends on what was sent
		_, _ = io.WriteString(write, "second")
		_ = write.Close()
	}()
	resp, err := do(t, client(t, withWallet(t)), streamed(t.Context(), t, s.URL, read))
	require.NoError(t, err)
	require.Equal(t, "second", resp.text)
}

func TestBodyThatWasNotReadIsSentWithThePayment(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("one book and another; ", 20_000)
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
		if !paid {
			ask(w, r, "10000", nil) // without reading what was sent
			return
		}
		_, _ = io.Copy(w, r.Body)
	})
	resp, err := do(t, client(t, withWallet(t)), streamed(t.Context(), t, s.URL, strings.NewReader(text)))
	require.NoError(t, err)
	require.Len(t, resp.text, len(text))
	require.Equal(t, text, resp.text)
}

func TestContextEndsARequestWhoseBodyDoesNotCome(t *testing.T) {
	t.Parallel()
	for name, asks := range map[string]bool{"a server that waits": false, "a server that asks for money": true} {
		c, cancel := context.WithCancel(t.Context())
		s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, _ bool) {
			if asks {
				ask(w, r, "10000", nil)
				_ = http.NewResponseController(w).Flush()
				time.AfterFunc(10*time.Millisecond, cancel)
				return
			}
			cancel()
			_, _ = io.ReadAll(r.Body)
		})
		read, write := io.Pipe() // nothing is ever written
		ended := make(chan error, 1)
		go func() {
			_, err := do(t, client(t, withWallet(t)), streamed(c, t, s.URL, read))
			ended <- err
		}()
		select {
		case err := <-ended:
			require.ErrorIs(t, err, context.Canceled, name)
		case <-time.After(time.Minute):
			t.Fatal(name + ": the request did not end")
		}
		require.Empty(t, s.credentials())
		require.NoError(t, write.Close())
	}
}

// closed records whether a body was closed.
type closed struct {
	io.Reader
	times chan struct{}
}

func (c *closed) Close() error {
	select {
	case c.times <- struct{}{}:
	default:
	}
	return nil
}

func TestBodyIsClosedWhateverHappens(t *testing.T) {
	t.Parallel()
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
		_, _ = io.Copy(io.Discard, r.Body)
		if !paid && r.URL.Path == "/paid" {
			ask(w, r, "10000", nil)
		}
	})
	for _, url := range []string{s.URL + "/free", s.URL + "/paid", "http://127.0.0.1:1/down"} {
		for _, size := range []int{10, agent.MaxBody + 1} {
			body := &closed{bytes.NewReader(make([]byte, size)), make(chan struct{}, 10)}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
			require.NoError(t, err)
			_, err = do(t, client(t, withWallet(t)), r)
			if strings.HasSuffix(url, "/paid") && size > agent.MaxBody {
				require.ErrorIs(t, err, agent.ErrBodyTooLarge)
			}
			select {
			case <-body.times:
			case <-time.After(time.Minute):
				t.Fatalf("%s, %d bytes: the body was not closed", url, size)
			}
		}
	}
}
