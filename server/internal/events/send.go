package events

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/paywarrant/paywarrant/internal/retryafter"
	"github.com/paywarrant/paywarrant/internal/ssrf"
	"github.com/paywarrant/paywarrant/server/ledger"
)

const (
	// sendTimeout bounds one delivery, from dialing to the end of the answer.
	sendTimeout = 15 * time.Second
	// maxAnswer is how much of an answer is kept, maxDrain how much is read so that
	// the connection can be used again, in bytes.
	maxAnswer, maxDrain = 1 << 10, 64 << 10
)

// agent is the User-Agent header.
var agent = []string{"Paywarrant-Webhooks/1"}

// timestamp is the form of times on the wire.
const timestamp = "2006-01-02T15:04:05.000Z"

// Body returns an event as it is sent: the same bytes at every attempt.
func Body(e ledger.Event, live bool) []byte {
	b := make([]byte, 0, len(e.Data)+160)
	b = append(b, `{"id":"`...)
	b = append(b, e.ID...)
	b = append(b, `","type":"`...)
	b = append(b, e.Type...)
	b = append(b, `","data":`...)
	b = append(b, e.Data...)
	b = append(b, `,"created_at":"`...)
	b = e.CreatedAt.UTC().AppendFormat(b, timestamp)
	b = append(b, `","livemode":`...)
	b = strconv.AppendBool(b, live)
	return append(b, '}')
}

// outcome is the result of one attempt.
type outcome struct {
	status     int    // zero: no answer
	problem    string // empty: it was delivered
	answer     string // the beginning of an answer that was no success
	retryAfter time.Duration
}

func (o outcome) ok() bool { return o.problem == "" }

// kind returns the outcome in one word.
func (o outcome) kind() string {
	switch {
	case o.ok():
		return "delivered"
	case o.status != 0:
		return "refused"
	}
	return "unanswered"
}

// overloaded reports whether the endpoint cannot take more, rather than not this event.
func (o outcome) overloaded() bool {
	switch o.status {
	case 0, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// transport returns a transport that keeps connections and dials only what it may.
func transport(cfg Config) *http.Transport {
	may := cfg.May
	if may == nil {
		may = ssrf.Public
	}
	dialer := ssrf.DialerTo(sendTimeout, may)
	dialer.Resolver = cfg.Resolver
	return &http.Transport{
		DialContext:  dialer.DialContext,
		MaxIdleConns: 4096, MaxIdleConnsPerHost: maxInFlight, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: sendTimeout,
		MaxResponseHeaderBytes: 64 << 10, DisableCompression: true, ForceAttemptHTTP2: true,
	}
}

// post makes one attempt. Redirects are not followed: only 2xx counts.
func (s *Service) post(ctx context.Context, to *target, e ledger.Event, now time.Time) outcome {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	body := Body(e, s.Live)
	r := (&http.Request{
		Method: http.MethodPost, URL: to.url, Host: to.url.Host, Header: to.signer.Sign(e.ID, now, body),
		ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
	}).WithContext(ctx)
	r.Header["User-Agent"] = agent
	r.Header["Idempotency-Key"] = nil // not sent; it lets the transport retry on a connection that was closed
	resp, err := s.http.RoundTrip(r)
	if err != nil {
		return outcome{problem: problem(err)}
	}
	defer resp.Body.Close()
	o := outcome{status: resp.StatusCode}
	if resp.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // an answer that breaks off is kept as it is
		o.problem, o.answer, o.retryAfter = "answered "+strconv.Itoa(resp.StatusCode), plain(text), retryafter.Read(resp.Header.Get("Retry-After"), maxRetryAfter)
	}
	if resp.ContentLength != 0 {
		_, _ = io.CopyN(io.Discard, resp.Body, maxDrain)
	}
	return o
}

// problem returns why there was no answer, for the merchant. It reveals nothing about
// the network of the service.
func problem(err error) string {
	var timeout net.Error
	var name *net.DNSError
	switch {
	case errors.Is(err, ssrf.ErrForbidden):
		return "the address is not one of the public internet"
	case errors.As(err, &name):
		return "the name does not resolve"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case strings.Contains(err.Error(), "tls: "), strings.Contains(err.Error(), "x509: "):
		return "TLS: the certificate or handshake is not valid"
	}
	return "the connection was refused or broke"
}

// plain returns a text without what a database or a page does not take.
func plain(b []byte) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(b), " "))
}
