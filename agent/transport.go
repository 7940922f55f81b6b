package agent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// Transport is an http.RoundTripper that pays. Make one with [NewTransport] and
// keep it: it remembers what was paid and not answered. Safe for concurrent use.
type Transport struct {
	cfg    Config
	broken error
	spent  *spending
	open   undecided
}

// NewTransport makes a transport. A configuration that is wrong is told by every
// request, none of which is then sent; [New] tells it at once.
func NewTransport(c Config) *Transport {
	broken := c.validate()
	c = c.withDefaults()
	return &Transport{cfg: c, broken: broken, spent: newSpending(c.Velocities, c.Clock)}
}

// CloseIdleConnections closes the connections that no request is using.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.cfg.Base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip sends a request, pays where that is asked for, and gives the answer.
//
// Errors: a [*PaymentError] where a payment was asked for and not made, and those
// of Base. After an error of Base for a request that was paid, the same request
// sends the same payment.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.broken != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, t.broken
	}
	b, err := readBody(r)
	if err != nil {
		return nil, err
	}
	v := &visit{Transport: t, request: r, body: b}
	v.key = requestKey(r, b.data)
	if !b.cut {
		if c := t.open.take(v.key, t.cfg.Clock.Now()); c != nil {
			return v.pay(c)
		}
	}
	resp, err := v.send(nil)
	if err != nil || resp.StatusCode != http.StatusPaymentRequired {
		return resp, err
	}
	return v.answer(resp)
}

// visit is one request on its way.
type visit struct {
	*Transport
	request *http.Request
	body    *body
	key     [32]byte
}

// send sends the request once, with a credential or without.
func (v *visit) send(c *credential) (*http.Response, error) {
	r := v.request.Clone(v.request.Context())
	v.body.set(r)
	if first := firstRequest(v.request); first != nil && origin(first.URL) != origin(r.URL) {
		for _, name := range credentialHeaders() {
			r.Header.Del(name) // the caller's own, for the origin that it was meant for
		}
	}
	if c != nil {
		c.attach(r.Header)
	}
	resp, err := v.cfg.Base.RoundTrip(r)
	if resp != nil {
		resp.Request = v.request
	}
	return resp, err
}

// firstRequest is the one that a chain of redirects began with, or nil.
func firstRequest(r *http.Request) (first *http.Request) {
	for r.Response != nil && r.Response.Request != nil {
		r = r.Response.Request
		first = r
	}
	return first
}

// paidBefore tells whether an earlier stop of a chain of redirects was paid.
func paidBefore(r *http.Request) bool {
	for r.Response != nil && r.Response.Request != nil {
		r = r.Response.Request
		if _, paid := r.Context().Value(paidKey{}).(*credential); paid {
			return true
		}
	}
	return false
}

// answer pays a 402, or tells why not.
func (v *visit) answer(resp *http.Response) (*http.Response, error) {
	head, err := peek(resp)
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	a := readChallenges(resp.Header, head)
	if a.empty() {
		return resp, nil
	}
	_ = resp.Body.Close()
	refuse := func(reason error) error {
		return &PaymentError{Reason: reason, URL: shown(v.request.URL), Offers: v.offers(a, v.request.URL)}
	}
	switch {
	case v.body.cut:
		err = refuse(ErrBodyTooLarge)
	case !secure(v.request.URL):
		err = refuse(ErrInsecure)
	case paidBefore(v.request):
		err = refuse(ErrPaidBefore)
	}
	var c *credential
	if err == nil {
		c, err = v.choose(v.request, a)
	}
	if err != nil {
		v.cfg.Logger.InfoContext(v.request.Context(), "agent: not paid", slog.String("url", shown(v.request.URL)), slog.String("reason", err.Error()))
		return nil, err
	}
	return v.pay(c)
}

// pay sends the request with its credential, and once more with the same one
// where the answer is lost or says when to ask again.
func (v *visit) pay(c *credential) (*http.Response, error) {
	resp, err := v.send(c)
	if v.again(resp, err) {
		if resp != nil {
			_ = resp.Body.Close()
		}
		resp, err = v.send(c)
	}
	ctx := v.request.Context()
	attrs := []any{slog.String("url", shown(v.request.URL)), slog.String("way", string(c.offer.Way)), slog.String("price", c.offer.Price())}
	if err != nil || unsettled(resp.StatusCode) {
		// Paid or not, the same request finds out with the same credential.
		v.open.put(v.key, c, v.cfg.Clock.Now())
	}
	if err != nil {
		v.cfg.Logger.WarnContext(ctx, "agent: a payment was not answered", attrs...)
		return nil, err
	}
	v.cfg.Logger.InfoContext(ctx, "agent: paid", append(attrs, slog.Int("status", resp.StatusCode))...)
	resp.Request = v.request.WithContext(context.WithValue(ctx, paidKey{}, c))
	return resp, nil
}

// unsettled tells whether a status leaves open what became of a credential.
func unsettled(status int) bool {
	return status == http.StatusConflict || status >= http.StatusInternalServerError
}

// again tells whether to send the same credential once more now, and waits until
// then. Only what a seller asks to repeat is repeated, and what it never answered.
func (v *visit) again(resp *http.Response, err error) bool {
	ctx := v.request.Context()
	if err != nil {
		return ctx.Err() == nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
	}
	if resp.StatusCode == http.StatusInternalServerError || !unsettled(resp.StatusCode) {
		return false
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	wait := time.Duration(min(max(seconds, 0), 1<<20)) * time.Second
	if err != nil || wait > v.cfg.MaxWait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// peek reads the beginning of a 402 and leaves the answer as it came.
func peek(resp *http.Response) ([]byte, error) {
	head, err := io.ReadAll(io.LimitReader(resp.Body, x402.MaxRequiredSize+1))
	if err != nil {
		return nil, err
	}
	resp.Body = &rejoined{Reader: io.MultiReader(newReader(head), resp.Body), Closer: resp.Body}
	return head, nil
}

type rejoined struct {
	io.Reader
	io.Closer
}

var _ http.RoundTripper = (*Transport)(nil)

// receiptHeaders are the headers that tell of a payment.
func receiptHeaders() []string {
	return []string{x402.HeaderPaymentResponse, x402.HeaderPaymentResponseV1, mpp.HeaderReceipt, HeaderCreditsRemaining}
}
