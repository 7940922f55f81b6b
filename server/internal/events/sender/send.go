package sender

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
	// Timeout bounds one attempt, from dialing to the end of the answer.
	Timeout = 15 * time.Second
	// maxRetryAfter bounds what an endpoint may ask for.
	maxRetryAfter = 24 * time.Hour
	// maxAnswer is how much of an answer is kept, maxDrain how much is read so that
	// the connection can be used again, in bytes.
	maxAnswer, maxDrain = 1 << 10, 64 << 10
)

// agent is the User-Agent header.
var agent = []string{"Paywarrant-Webhooks/1"}

// timestamp is the form of times on the wire.
const timestamp = "2006-01-02T15:04:05.000Z"

// Body returns an event as it is sent: the same bytes at every attempt.
func (s *Sender) Body(e ledger.Event) []byte {
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
	b = strconv.AppendBool(b, s.Live)
	return append(b, '}')
}

// Outcome is the result of one attempt.
type Outcome struct {
	// Status is the status of the answer; zero if there was none.
	Status int
	// Problem says why the event was not delivered; empty if it was.
	Problem string
	// Answer is the beginning of an answer with a status other than 2xx.
	Answer string
	// RetryAfter is how long the endpoint asked to be left alone.
	RetryAfter time.Duration
}

// OK reports whether the event was delivered.
func (o Outcome) OK() bool { return o.Problem == "" }

// Kind returns the outcome in one word.
func (o Outcome) Kind() string {
	switch {
	case o.OK():
		return "delivered"
	case o.Status != 0:
		return "refused"
	}
	return "unanswered"
}

// Overloaded reports whether the endpoint answered that it cannot take more now.
func (o Outcome) Overloaded() bool {
	switch o.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// Send makes one attempt. Redirects are not followed: only 2xx counts.
func (s *Sender) Send(ctx context.Context, to *Target, e ledger.Event, now time.Time) Outcome {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	body := s.Body(e)
	r := (&http.Request{
		Method: http.MethodPost, URL: to.url, Host: to.url.Host, Header: to.signer.Sign(e.ID, now, body),
		ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
	}).WithContext(ctx)
	r.Header["User-Agent"] = agent
	r.Header["Idempotency-Key"] = nil // not sent; it lets the transport retry on a connection that was closed
	resp, err := s.transport.RoundTrip(r)
	if err != nil {
		return Outcome{Problem: problem(err)}
	}
	defer resp.Body.Close()
	o := Outcome{Status: resp.StatusCode}
	if resp.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // an answer that breaks off is kept as it is
		o.Problem, o.Answer = "answered "+strconv.Itoa(resp.StatusCode), plain(text)
		o.RetryAfter = retryafter.Read(resp.Header.Get("Retry-After"), maxRetryAfter)
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
