package x402

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/loopback"
	"github.com/paywarrant/paywarrant/internal/retryafter"
)

// maxAnswer is the largest response that is read, in bytes.
const maxAnswer = 256 << 10

// FacilitatorConfig configures a [Facilitator].
type FacilitatorConfig struct {
	// URL is the base address of the facilitator, to which /verify, /settle and
	// /supported are appended. It must use https, or http with a loopback address.
	// Required.
	URL string
	// KeyID is the id of the key that signs each call with an EdDSA JWT. It requires
	// Secret. Default: calls are not signed.
	KeyID string
	// Secret is the signing key in base64: 64 bytes, the Ed25519 seed and the public
	// key. It requires KeyID.
	Secret Secret
	// Header is added to every call, such as other credentials. Default: none.
	Header http.Header
	// Timeout bounds one call, from dialing to the last byte. Default: 30 s.
	Timeout time.Duration
	// HTTPClient sends the calls. Redirects are not followed. Default: a client with
	// http.DefaultTransport.
	HTTPClient *http.Client
	// Clock returns the current time for signatures. Default: time.Now.
	Clock func() time.Time
}

// Facilitator verifies and settles payments at a facilitator over HTTP (specification
// v1 §7, v2 §7). It never repeats a call. It is safe for concurrent use.
type Facilitator struct {
	targets map[string]*url.URL // by the last part of the path
	send    func(*http.Request) (*http.Response, error)
	timeout time.Duration
	header  http.Header // of a call without a body
	posts   http.Header // of a call with a body
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
		// Parsed again, because joining to a URL without a path omits the first slash.
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

// sender returns a function that sends a request without following redirects. It uses
// the client's transport directly if the client adds nothing else.
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

// Signed reports whether calls are signed. Some facilitators refuse unsigned calls, or
// do not list the resource.
func (f *Facilitator) Signed() bool { return f.signer != nil }

// FacilitatorRequest is a request to verify or settle a payment.
type FacilitatorRequest struct {
	// X402Version is the protocol version of the payment.
	X402Version int `json:"x402Version"`
	// PaymentPayload is the payment as the client sent it ([Payload.Raw]). It is sent
	// unchanged: the facilitator sees the resource and the extensions that the client wrote.
	PaymentPayload json.RawMessage `json:"paymentPayload"`
	// PaymentRequirements is what the server asked for: a [Requirements] or a
	// [RequirementsV1].
	PaymentRequirements any `json:"paymentRequirements"`
	// IdempotencyKey is sent with Settle, as the header Idempotency-Key. A repeat with
	// the same key gets the first result again. A repeat with another key, or without
	// one, is refused with [ReasonDuplicate]. It is also sent with Verify of the scheme
	// upto: the facilitator then verifies and settles the payment for no other key.
	// Default: none.
	IdempotencyKey string `json:"-"`
	// Source names the protocol by which the client paid, if that is not x402. It is sent
	// with Settle, as the header [HeaderPaymentSource]. Default: x402.
	Source string `json:"-"`
}

// encode returns the request as JSON. Requirements that are already encoded are copied.
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

// Verification is a facilitator's response to verify.
type Verification struct {
	// IsValid reports whether the payment can be settled.
	IsValid bool `json:"isValid"`
	// InvalidReason is the code of a payment that is not valid.
	InvalidReason Reason `json:"invalidReason,omitempty"`
	// InvalidMessage is the facilitator's text for people. May be empty.
	InvalidMessage string `json:"invalidMessage,omitempty"`
	// Payer is the payer's address. May be empty.
	Payer string `json:"payer,omitempty"`
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

// Settle moves the money. The error is nil only if the facilitator reports success,
// with a transaction hash on the requested network. A payment of the scheme upto that is
// settled for nothing has no transaction.
//
// A [*RefusedError] means that no money moved. After a [*PendingError] the transfer was
// broadcast and is not confirmed. After an [*UnavailableError] the outcome is unknown.
// In the last two cases the same request may be sent again and finds the first
// transfer, because an authorization can be used only once.
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
	case !IsTransactionHash(s.Transaction) && !settledNothing(s, req.PaymentRequirements):
		return s, a.unclear(errors.New("settle answered success without a transaction"))
	case !sameNetwork(s.Network, networkOf(req.PaymentRequirements)):
		return s, a.unclear(fmt.Errorf("settle answered network %q", clip(s.Network)))
	}
	s.Replayed = a.replayed
	return s, nil
}

// isUpto reports whether requirements are of the scheme upto.
func isUpto(requirements any) bool {
	r, ok := requirements.(Requirements)
	return ok && r.Scheme == SchemeUpto
}

// settledNothing reports whether a payment of the scheme upto was settled for nothing, as it
// was asked to be.
func settledNothing(s Settlement, requirements any) bool {
	r, ok := requirements.(Requirements)
	return ok && isUpto(r) && r.Amount == "0" && s.Transaction == "" && s.Amount == "0"
}

// SupportedKind is a kind of payment that a facilitator settles.
type SupportedKind struct {
	// X402Version is the protocol version.
	X402Version int `json:"x402Version"`
	// Scheme is the payment scheme, such as [SchemeExact]. The scheme upto names the
	// facilitator's address in Extra ([ExtraFacilitator]).
	Scheme string `json:"scheme"`
	// Network is the name of the network in that version.
	Network string `json:"network"`
	// Extra holds what the scheme adds. May be nil.
	Extra map[string]any `json:"extra,omitempty"`
}

// Supported lists what a facilitator supports.
type Supported struct {
	// Kinds are the kinds of payment.
	Kinds []SupportedKind `json:"kinds"`
	// Extensions are the names of the extensions.
	Extensions []string `json:"extensions"`
	// Signers are the facilitator's own addresses, by network.
	Signers map[string][]string `json:"signers"`
}

// Supported returns what the facilitator supports. Its error is an
// [*UnavailableError].
func (f *Facilitator) Supported(ctx context.Context) (Supported, error) {
	a, err := f.call(ctx, http.MethodGet, "supported", nil, nil)
	if err != nil {
		return Supported{}, err
	}
	var s Supported
	if err := json.Unmarshal(a.body.raw, &s); err != nil || !a.ok() {
		return Supported{}, a.unclear(err)
	}
	return s, nil
}

// answer is a facilitator's response.
type answer struct {
	status     int
	body       *object
	retryAfter time.Duration
	replayed   bool
}

func (a answer) ok() bool { return a.status >= 200 && a.status <= 299 }

// unclear returns the error of a response that decides nothing.
func (a answer) unclear(err error) error {
	if err == nil {
		err = fmt.Errorf("answered %d", a.status)
	}
	return &UnavailableError{Status: a.status, RetryAfter: a.retryAfter, err: err}
}

// settlePath is the path of settle, below the base address.
const settlePath = "settle"

// post sends a verify or settle request.
func (f *Facilitator) post(ctx context.Context, path string, req FacilitatorRequest) (answer, error) {
	body, err := req.encode()
	if err != nil {
		return answer{}, fmt.Errorf("call facilitator %s: %w", path, err)
	}
	header := http.Header{}
	if path != settlePath {
		req.Source = ""
		if !isUpto(req.PaymentRequirements) {
			req.IdempotencyKey = ""
		}
	}
	if req.IdempotencyKey != "" {
		header["Idempotency-Key"] = []string{req.IdempotencyKey}
	}
	if req.Source != "" {
		header[HeaderPaymentSource] = []string{req.Source}
	}
	return f.call(ctx, http.MethodPost, path, body, header)
}

// call sends one request and reads the response. It returns an [*UnavailableError] if
// the response is not a JSON object, whatever its status.
func (f *Facilitator) call(ctx context.Context, method, path string, body []byte, header http.Header) (a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	req, err := f.request(ctx, method, path, body)
	if err != nil {
		return a, fmt.Errorf("call facilitator %s: %w", path, err)
	}
	maps.Copy(req.Header, header)
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

// readAnswer reads the announced length, or up to one byte beyond the limit if the
// length is unknown. Custom transports may leave the length zero.
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

// sameNetwork reports whether both names are of one network. If want is empty, because
// the requirements are of the caller's own type, it accepts any network.
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
