package events

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/paywarrant/paywarrant/internal/ssrf"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/webhook"
)

const (
	// sendTimeout bounds one delivery, from dialling to the end of the answer; those
	// that begin within spare end together.
	sendTimeout, spare = 15 * time.Second, time.Second
	// maxAnswer is how much of an answer is kept, maxDrain how much is read so that
	// the connection can be used again; in bytes.
	maxAnswer, maxDrain = 1 << 10, 64 << 10
)

// agent is who sends, as a header.
var agent = []string{"Paywarrant-Webhooks/1"}

// timestamp is the form of times on the wire.
const timestamp = "2006-01-02T15:04:05.000Z"

// Body is an event as it is sent: the same bytes at every attempt.
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

// outcome is what came of one attempt.
type outcome struct {
	status     int    // zero: no answer
	problem    string // empty: it was taken
	answer     string // its beginning, where it was no success
	retryAfter time.Duration
	direct     bool // by HTTP/1, over a connection that stays
}

func (o outcome) ok() bool { return o.problem == "" }

// kind is the outcome in one word.
func (o outcome) kind() string {
	switch {
	case o.ok():
		return "delivered"
	case o.status != 0:
		return "refused"
	}
	return "unanswered"
}

// overloaded tells whether the endpoint cannot take more, rather than not this one.
func (o outcome) overloaded() bool {
	switch o.status {
	case 0, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// blank is what attempts within the context's time have in common.
func blank(ctx context.Context, to *url.URL) *http.Request {
	return (&http.Request{Method: http.MethodPost, URL: to, Host: to.Host}).WithContext(ctx)
}

// send makes one attempt with a request like a blank one. Redirects are not followed:
// only 2xx counts.
func (s *Service) send(via http.RoundTripper, like *http.Request, e ledger.Event, signer *webhook.Signer, now time.Time) outcome {
	body := Body(e, s.Live)
	r := *like
	r.Header = signer.Sign(e.ID, now, body)
	r.Header["User-Agent"] = agent
	r.Header["Idempotency-Key"] = nil // a lost connection may be tried again at once; not sent
	r.ContentLength, r.Body = int64(len(body)), io.NopCloser(bytes.NewReader(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	resp, err := via.RoundTrip(&r)
	if err != nil {
		return outcome{problem: problem(err)}
	}
	defer resp.Body.Close()
	o := outcome{status: resp.StatusCode, direct: resp.ProtoMajor == 1 && !resp.Close}
	if resp.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // whatever came of it
		o.problem, o.answer, o.retryAfter = "answered "+strconv.Itoa(resp.StatusCode), plain(text), retryAfter(resp.Header, now)
	}
	if resp.ContentLength != 0 {
		_, _ = io.CopyN(io.Discard, resp.Body, maxDrain)
	}
	return o
}

// problem says for a merchant why there was no answer. It tells nothing of the
// network that the service is in.
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

// plain is a text without what a database or a page does not take.
func plain(b []byte) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(b), " "))
}
