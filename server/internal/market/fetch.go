package market

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/ssrf"
)

// fault is what is wrong with another server's answer. Its text quotes nothing of the answer.
type fault struct {
	kind string // for metrics
	text string
}

// Error implements error.
func (f *fault) Error() string { return f.text }

func faulty(kind, format string, args ...any) error {
	return &fault{kind, fmt.Sprintf(format, args...)}
}

// The kinds of faults.
const (
	unreachable = "unreachable"
	badStatus   = "status"
	badType     = "type"
	tooLarge    = "size"
	tooMany     = "pages"
	invalidJSON = "content"
)

// fetcher reads from servers that may be hostile.
type fetcher struct {
	client  *http.Client
	timeout time.Duration
}

// newFetcher returns a fetcher that reaches public addresses only, unless private is set. It
// follows no redirect, and accepts no compressed answer.
func newFetcher(private bool, timeout time.Duration) fetcher {
	dialer := ssrf.Dialer(timeout)
	if private {
		dialer = &net.Dialer{Timeout: timeout}
	}
	return fetcher{timeout: timeout, client: &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: timeout, ResponseHeaderTimeout: timeout,
			MaxResponseHeaderBytes: 64 << 10, DisableKeepAlives: true, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// answered is an answer that arrived whole.
type answered struct {
	status int
	header http.Header
	body   []byte
}

// send sends a request and returns the answer, whose body is read up to limit bytes. The time
// limit is one for the whole answer, however slowly it comes.
func (f fetcher) send(ctx context.Context, method, address, body string, header http.Header, limit int64) (answered, error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return answered{}, faulty(unreachable, "the address is not valid")
	}
	if body == "" {
		r.Body = http.NoBody
	}
	for name, values := range header {
		r.Header[name] = values
	}
	resp, err := f.client.Do(r)
	switch {
	case errors.Is(err, ssrf.ErrForbidden):
		return answered{}, faulty(unreachable, "the address is not public")
	case errors.Is(err, context.DeadlineExceeded):
		return answered{}, faulty(unreachable, "no answer within %s", f.timeout)
	case err != nil:
		return answered{}, faulty(unreachable, "the server does not answer")
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case int64(len(data)) > limit:
		return answered{}, faulty(tooLarge, "the answer is longer than %d bytes", limit)
	case errors.Is(err, context.DeadlineExceeded):
		return answered{}, faulty(unreachable, "the answer did not arrive within %s", f.timeout)
	case err != nil:
		return answered{}, faulty(unreachable, "the answer did not arrive whole")
	}
	return answered{resp.StatusCode, resp.Header, data}, nil
}

// json returns a JSON document, unless it has not changed since etag.
func (f fetcher) json(ctx context.Context, address, etag string, limit int64) (body []byte, newTag string, unchanged bool, err error) {
	header := http.Header{"Accept": {"application/json"}}
	if etag != "" {
		header.Set("If-None-Match", etag)
	}
	a, err := f.send(ctx, http.MethodGet, address, "", header, limit)
	if err != nil {
		return nil, "", false, err
	}
	media, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	switch {
	case a.status == http.StatusNotModified && etag != "":
		return nil, etag, true, nil
	case a.status != http.StatusOK:
		return nil, "", false, faulty(badStatus, "answered with status %d", a.status)
	case a.header.Get("Content-Encoding") != "" && a.header.Get("Content-Encoding") != "identity":
		return nil, "", false, faulty(badType, "the answer is compressed, which was not asked for")
	case media != "application/json" && !strings.HasSuffix(media, "+json"):
		return nil, "", false, faulty(badType, "the answer is not JSON")
	}
	if newTag = a.header.Get("ETag"); len(newTag) > maxField {
		newTag = ""
	}
	return a.body, newTag, false, nil
}
