package agent

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// Transport is an http.RoundTripper that pays. Create one with [NewTransport] and reuse
// it: it keeps the credentials of payments whose content was not delivered yet. It is
// safe for concurrent use.
type Transport struct {
	cfg   Config
	base  http.RoundTripper // cfg.Base, wrapped by cfg.WrapTransport
	spent *spending
	caps  *caps
	kept  *kept
}

// NewTransport returns a Transport. It performs no I/O. A Transport connects to any
// address that Config.Base does; use [New] if others choose the URLs. The returned error
// names the invalid field.
func NewTransport(c Config) (*Transport, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	c, err := c.withService()
	if err != nil {
		return nil, err
	}
	c = c.withDefaults()
	t := &Transport{cfg: c, base: c.Base, spent: newSpending(c), caps: newCaps(c), kept: newKept()}
	if c.WrapTransport != nil {
		t.base = c.WrapTransport(c.Base)
	}
	return t, nil
}

// CloseIdleConnections closes connections that no request is using.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.cfg.Base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
	if service, ok := t.cfg.Service.(*client.Client); ok && t.cfg.Token != "" {
		service.CloseIdleConnections()
	}
}

// RoundTrip sends a request, pays if a payment is required, and returns the response.
//
// It returns a [*PaymentError] if a required payment was not made, an
// [*UndecidedError] if a paid request got no response, and the errors of Base.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	v := &visit{Transport: t, request: r, body: newBody(r)}
	defer v.body.end()
	if err := v.checkPurchaseKey(); err != nil {
		return nil, err
	}
	if v.mayBePaid() {
		if resp, err := v.resend(); resp != nil || err != nil {
			return resp, err
		}
	}
	resp, err := v.send(nil)
	if err != nil || resp.StatusCode != http.StatusPaymentRequired {
		return resp, err
	}
	return v.answer(resp)
}

// visit is one call of RoundTrip.
type visit struct {
	*Transport
	request *http.Request
	body    *body
	looked  bool // for an earlier purchase in the journal
}

// send sends the request once, with a credential unless c is nil.
func (v *visit) send(c *credential) (*http.Response, error) {
	r := v.request.Clone(v.request.Context())
	if err := v.body.set(r); err != nil {
		return nil, err
	}
	if first := firstRequest(v.request); first != nil && Origin(first.URL) != Origin(r.URL) {
		for _, name := range credentialHeaders() {
			r.Header.Del(name) // set by the caller for the origin of the first request
		}
	}
	if c != nil {
		c.attach(r.Header)
	}
	resp, err := v.base.RoundTrip(r)
	if resp != nil {
		resp.Request = v.request
	}
	return resp, err
}

// firstRequest returns the request that started a chain of redirects, or nil.
func firstRequest(r *http.Request) (first *http.Request) {
	for r.Response != nil && r.Response.Request != nil {
		r = r.Response.Request
		first = r
	}
	return first
}

// paidBefore reports whether an earlier request of a chain of redirects was paid.
func paidBefore(r *http.Request) bool {
	for r.Response != nil && r.Response.Request != nil {
		r = r.Response.Request
		if _, paid := r.Context().Value(paidKey{}).(*credential); paid {
			return true
		}
	}
	return false
}

// answer pays a 402, or returns the reason why it does not.
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
	discard(resp)
	ctx := v.request.Context()
	refuse := func(reason error) error {
		l := v.list(a, v.request.URL)
		return &PaymentError{Reason: reason, URL: shown(v.request.URL), Offers: l.offers, Dropped: l.dropped}
	}
	switch err := v.body.complete(); {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, v.unpaid(refuse(err))
	case !secure(v.request.URL):
		return nil, v.unpaid(refuse(ErrInsecure))
	}
	if v.cfg.Journal != nil && paidBefore(v.request) {
		return nil, v.unpaid(refuse(ErrPaidBefore))
	}
	if v.mayBePaidAfterAll() {
		if resp, err := v.resend(); resp != nil || err != nil {
			return resp, err
		}
	}
	if paidBefore(v.request) {
		return nil, v.unpaid(refuse(ErrPaidBefore))
	}
	key, err := v.requestKey()
	if err != nil {
		return nil, err
	}
	paid, err := v.buy(a, key)
	if err != nil {
		return nil, v.unpaid(err)
	}
	return paid, nil
}

// peek reads the beginning of a 402, and leaves the response readable from its start.
func peek(resp *http.Response) ([]byte, error) {
	head, err := io.ReadAll(io.LimitReader(resp.Body, x402.MaxRequiredSize+1))
	if err != nil {
		return nil, err
	}
	resp.Body = &rejoined{Reader: io.MultiReader(bytes.NewReader(head), resp.Body), Closer: resp.Body}
	return head, nil
}

type rejoined struct {
	io.Reader
	io.Closer
}

var _ http.RoundTripper = (*Transport)(nil)

// receiptHeaders are the headers that report a payment.
func receiptHeaders() []string {
	return []string{x402.HeaderPaymentResponse, x402.HeaderPaymentResponseV1, mpp.HeaderReceipt, HeaderCreditsRemaining}
}

type limitKey struct{}

// WithMaxPrice returns a context that limits the price of a request, in millionths of a
// US dollar, in addition to [Config.MaxPriceMicros]. With 0 only the credit of a bundle
// is used. A limit can be lowered by another call, but not raised.
func WithMaxPrice(ctx context.Context, micros int64) context.Context {
	if limit, ok := ctx.Value(limitKey{}).(int64); ok {
		micros = min(micros, limit)
	}
	return context.WithValue(ctx, limitKey{}, micros)
}

// maxPrice returns the limit of one request.
func (t *Transport) maxPrice(ctx context.Context) int64 {
	if limit, ok := ctx.Value(limitKey{}).(int64); ok {
		return min(limit, t.cfg.MaxPriceMicros)
	}
	return t.cfg.MaxPriceMicros
}
