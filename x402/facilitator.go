package x402

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/loopback"
	"github.com/paywarrant/paywarrant/internal/retryafter"
)

// maxAnswer is how much of a facilitator's answer is read, in bytes.
const maxAnswer = 256 << 10

// FacilitatorConfig configures a [Facilitator].
type FacilitatorConfig struct {
	// URL is the address that /verify, /settle and /supported are below.
	// Required, https or, to a loopback address, http.
	URL string
	// KeyID and Secret sign each call with an EdDSA JWT: the key's id, and in
	// base64 the 64 bytes of the Ed25519 seed and public key. Both or neither.
	// Default: calls go out unsigned.
	KeyID  string
	Secret Secret
	// Header is added to every call: credentials of another kind. Default: none.
	Header http.Header
	// Timeout bounds one call, from dialling to the last byte. Default: 30 s.
	Timeout time.Duration
	// HTTPClient sends the calls; a copy is used that follows no redirect.
	// Default: http.DefaultTransport.
	HTTPClient *http.Client
	// Clock returns the current time for signatures. Default: time.Now.
	Clock func() time.Time
}

// Facilitator verifies and settles payments at a facilitator over HTTP
// (specification v2 §7, v1 §7). It is safe for concurrent use, and never repeats a call.
type Facilitator struct {
	targets map[string]*url.URL // by the last part of the path
	send    func(*http.Request) (*http.Response, error)
	timeout time.Duration
	header  http.Header // of a call without a body
	posts   http.Header // of one with
	signer  *signer
}

// NewFacilitator returns a Facilitator. It performs no I/O. The returned error names
// the invalid field.
func NewFacilitator(c FacilitatorConfig) (*Facilitator, error) {
	base, err := url.Parse(c.URL)
	if err != nil || base.Host == "" || base.RawQuery != "" || base.Fragment != "" || base.User != nil {
		return nil, errors.New("x402: FacilitatorConfig.URL: want an absolute URL without user, query and fragment")
	}
	if base.Scheme != "https" && (base.Scheme != "http" || !loopback.Host(base.Hostname())) {
		return nil, errors.New("x402: FacilitatorConfig.URL: want https, or http to a loopback address")
	}
	if c.Timeout < 0 {
		return nil, errors.New("x402: FacilitatorConfig.Timeout: is negative")
	}
	f := &Facilitator{targets: map[string]*url.URL{}, timeout: c.Timeout, header: c.Header.Clone(), send: sender(c.HTTPClient)} //nolint:bodyclose // call closes it
	for _, path := range []string{"verify", settlePath, "supported"} {
		// As it reads back: below a URL without a path, joining leaves out the first slash.
		if f.targets[path], err = url.Parse(base.JoinPath(path).String()); err != nil {
			return nil, fmt.Errorf("x402: FacilitatorConfig.URL: %w", err)
		}
	}
	if f.header == nil {
		f.header = http.Header{}
	}
	f.header.Set("Accept", "application/json")
	f.posts = f.header.Clone()
	f.posts.Set("Content-Type", "application/json")
	if f.timeout == 0 {
		f.timeout = 30 * time.Second
	}
	if c.KeyID == "" && c.Secret == "" {
		return f, nil
	}
	clock := c.Clock
	if clock == nil {
		clock = time.Now
	}
	f.signer, err = newSigner(c.KeyID, c.Secret, clock)
	return f, err
}

// sender sends by a client, without following redirects. A client that adds
// nothing else is left out: its transport does the same for less.
func sender(c *http.Client) func(*http.Request) (*http.Response, error) {
	if c == nil {
		c = &http.Client{}
	}
	if c.Jar == nil && c.Timeout == 0 {
		if c.Transport == nil {
			return http.DefaultTransport.RoundTrip
		}
		return c.Transport.RoundTrip
	}
	copied := *c
	copied.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return copied.Do
}

// Signed reports whether calls carry a signature. Without one some facilitators
// refuse, or settle and write no catalog entry.
func (f *Facilitator) Signed() bool { return f.signer != nil }

// FacilitatorRequest asks to verify or settle: the payment as the client sent it
// ([Payload.Raw]), and what the server asked for.
type FacilitatorRequest struct {
	X402Version int `json:"x402Version"`
	// PaymentPayload is JSON, and goes out as it is.
	PaymentPayload      json.RawMessage `json:"paymentPayload"`
	PaymentRequirements any             `json:"paymentRequirements"` // Requirements or RequirementsV1
	// IdempotencyKey is sent with Settle, as the header Idempotency-Key. A repeat
	// with the key of the first settlement gets its result again; a repeat with
	// another key, or none, is refused with [ReasonDuplicate]. Default: none.
	IdempotencyKey string `json:"-"`
}

// encode writes the request. What was encoded before is copied, not read again.
func (r FacilitatorRequest) encode() ([]byte, error) {
	var requirements json.RawMessage
	switch q := r.PaymentRequirements.(type) {
	case Requirements:
		requirements = q.encoded
	case RequirementsV1:
		requirements = q.encoded
	}
	if requirements == nil {
		return json.Marshal(r)
	}
	b := make([]byte, 0, len(r.PaymentPayload)+len(requirements)+80)
	b = strconv.AppendInt(append(b, `{"x402Version":`...), int64(r.X402Version), 10)
	b = append(append(b, `,"paymentPayload":`...), r.PaymentPayload...)
	b = append(append(b, `,"paymentRequirements":`...), requirements...)
	return append(b, '}'), nil
}

// Verification is a facilitator's answer to verify.
type Verification struct {
	IsValid        bool   `json:"isValid"`
	InvalidReason  Reason `json:"invalidReason,omitempty"`
	InvalidMessage string `json:"invalidMessage,omitempty"`
	Payer          string `json:"payer,omitempty"`
}

// Verify checks a payment without moving money. The error is nil only if the
// facilitator reports the payment valid. Errors: [*RefusedError], [*UnavailableError].
func (f *Facilitator) Verify(ctx context.Context, req FacilitatorRequest) (Verification, error) {
	a, err := f.post(ctx, "verify", req)
	if err != nil {
		return Verification{}, err
	}
	v, err := decodeVerification(a.body)
	switch {
	case err != nil || a.status >= 500:
		return v, a.unclear(err)
	case v.IsValid && a.ok():
		return v, nil
	case v.IsValid || v.InvalidReason.undecided():
		return v, a.unclear(fmt.Errorf("verify answered %d, reason %q", a.status, clip(string(v.InvalidReason))))
	}
	return v, &RefusedError{Reason: v.InvalidReason, Message: v.InvalidMessage, Payer: v.Payer}
}

// Settle moves the money. The error is nil only if the facilitator reports that it
// has moved, with a transaction hash on the network that was asked for.
//
// Errors: [*RefusedError]: it has not moved and this call will not move it;
// [*PendingError]: broadcast, outcome open; [*UnavailableError]: outcome
// unknown. After the last two the same request may be sent again and finds the
// first transfer: an authorization can be used once only.
func (f *Facilitator) Settle(ctx context.Context, req FacilitatorRequest) (Settlement, error) {
	a, err := f.post(ctx, settlePath, req)
	if err != nil {
		return Settlement{}, err
	}
	s, err := decodeSettlement(a.body)
	switch {
	case err != nil || a.status >= 500:
		return s, a.unclear(err)
	case !s.Success && s.ErrorReason == ReasonPending && IsTransactionHash(s.Transaction):
		return s, &PendingError{Transaction: s.Transaction, RetryAfter: a.retryAfter}
	case !s.Success && !s.ErrorReason.undecided() && s.ErrorReason != ReasonPending:
		return s, &RefusedError{Reason: s.ErrorReason, Message: s.ErrorMessage, Payer: s.Payer}
	case !s.Success || !a.ok():
		return s, a.unclear(fmt.Errorf("settle answered %d, reason %q", a.status, clip(string(s.ErrorReason))))
	case !IsTransactionHash(s.Transaction):
		return s, a.unclear(errors.New("settle answered success without a transaction"))
	case !sameNetwork(s.Network, networkOf(req.PaymentRequirements)):
		return s, a.unclear(fmt.Errorf("settle answered network %q", clip(s.Network)))
	}
	s.Replayed = a.replayed
	return s, nil
}

// SupportedKind is one scheme on one network.
type SupportedKind struct {
	X402Version int            `json:"x402Version"`
	Scheme      string         `json:"scheme"`
	Network     string         `json:"network"`
	Extra       map[string]any `json:"extra,omitempty"`
}

// Supported is what a facilitator can do.
type Supported struct {
	Kinds      []SupportedKind     `json:"kinds"`
	Extensions []string            `json:"extensions"`
	Signers    map[string][]string `json:"signers"`
}

// Supported returns what the facilitator can do. Errors: [*UnavailableError].
func (f *Facilitator) Supported(ctx context.Context) (Supported, error) {
	a, err := f.call(ctx, http.MethodGet, "supported", nil, "")
	if err != nil {
		return Supported{}, err
	}
	var s Supported
	if err := json.Unmarshal(a.body.raw, &s); err != nil || !a.ok() {
		return Supported{}, a.unclear(err)
	}
	return s, nil
}

// answer is a facilitator's answer.
type answer struct {
	status     int
	body       *object
	retryAfter time.Duration
	replayed   bool
}

func (a answer) ok() bool { return a.status >= 200 && a.status <= 299 }

// unclear is the error of an answer that settles nothing.
func (a answer) unclear(err error) error {
	if err == nil {
		err = fmt.Errorf("answered %d", a.status)
	}
	return &UnavailableError{Status: a.status, RetryAfter: a.retryAfter, err: err}
}

// settlePath is the last part of the address that settles.
const settlePath = "settle"

// post sends a request to verify or settle.
func (f *Facilitator) post(ctx context.Context, path string, req FacilitatorRequest) (answer, error) {
	body, err := req.encode()
	if err != nil {
		return answer{}, fmt.Errorf("call facilitator %s: %w", path, err)
	}
	key := req.IdempotencyKey
	if path != settlePath {
		key = ""
	}
	return f.call(ctx, http.MethodPost, path, body, key)
}

// call sends one request and reads an answer that is a JSON object; anything
// else, whatever its status, is an [*UnavailableError].
func (f *Facilitator) call(ctx context.Context, method, path string, body []byte, key string) (a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	req, err := f.request(ctx, method, path, body)
	if err != nil {
		return a, fmt.Errorf("call facilitator %s: %w", path, err)
	}
	if key != "" {
		req.Header["Idempotency-Key"] = []string{key}
	}
	resp, err := f.send(req)
	if err != nil {
		return a, failed(path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	a = answer{
		status: resp.StatusCode, retryAfter: retryafter.Read(resp.Header.Get("Retry-After"), maxRetryAfter),
		replayed: strings.EqualFold(resp.Header.Get("Idempotency-Replayed"), "true"),
	}
	data, err := readAnswer(resp)
	if err != nil {
		return a, failed(path, err)
	}
	if len(data) > maxAnswer {
		return a, a.unclear(fmt.Errorf("facilitator %s: answer over %d bytes", path, maxAnswer))
	}
	if a.body, err = parseObject(data); err != nil {
		return a, a.unclear(fmt.Errorf("facilitator %s answered %d: %w", path, a.status, err))
	}
	return a, nil
}

// readAnswer reads the announced length, or up to one byte beyond the limit if none
// was announced; a custom transport may leave that zero.
func readAnswer(resp *http.Response) ([]byte, error) {
	if n := resp.ContentLength; n > 0 && n <= maxAnswer {
		b := make([]byte, n)
		_, err := io.ReadFull(resp.Body, b)
		return b, err
	}
	return io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
}

func (f *Facilitator) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	target := f.targets[path]
	header, content := f.header, io.Reader(http.NoBody)
	if body != nil {
		header, content = f.posts, bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, "", content)
	if err != nil {
		return nil, err
	}
	address := *target
	req.URL, req.Host, req.Header = &address, target.Host, header.Clone()
	if f.signer != nil {
		token, err := f.signer.token(method, target)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req, nil
}

func decodeVerification(o *object) (v Verification, err error) {
	if v.IsValid, err = o.boolean("isValid"); err != nil {
		return v, err
	}
	reason, err := o.optionalText("invalidReason")
	if err != nil {
		return v, err
	}
	v.InvalidReason = Reason(reason)
	if v.InvalidMessage, err = o.optionalText("invalidMessage"); err != nil {
		return v, err
	}
	v.Payer, err = o.optionalText("payer")
	return v, err
}

func networkOf(requirements any) string {
	switch r := requirements.(type) {
	case Requirements:
		return r.Network
	case RequirementsV1:
		return r.Network
	}
	return ""
}

// sameNetwork accepts either name of the network that was asked for. If the caller's
// own type hides that, any name of a network is accepted.
func sameNetwork(got, want string) bool {
	if got == want && want != "" {
		return true
	}
	g, err := ParseNetwork(got)
	if err != nil {
		return false
	}
	if want == "" {
		return true
	}
	w, err := ParseNetwork(want)
	return err == nil && g == w
}
