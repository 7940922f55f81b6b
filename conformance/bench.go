package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/internal/sleep"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

const (
	testChain  = 84532   // Base Sepolia, and the development chain
	testAmount = "10000" // a cent
	testMicros = 10_000
)

// bench calls one facilitator.
type bench struct {
	cfg    FacilitatorConfig
	base   string
	host   *url.URL
	asset  x402.Asset
	client *http.Client
	idle   func()

	signed, settled int64 // millionths of a dollar
}

// reply is a facilitator's answer.
type reply struct {
	status      int
	ok          bool // isValid or success
	reason      string
	transaction string
	policy      string // RateLimit-Policy
	err         error
}

// refusal returns what is wrong with a reply that should refuse, or nothing.
func (r reply) refusal() string {
	switch {
	case r.err != nil:
		return "was not answered"
	case r.ok:
		return "was accepted"
	case r.status >= http.StatusInternalServerError:
		return fmt.Sprintf("was answered %d", r.status)
	}
	return ""
}

// String returns the reply for a detail.
func (r reply) String() string {
	if r.err != nil {
		return "no answer: " + r.err.Error()
	}
	return fmt.Sprintf("%d, %s", r.status, quote(r.reason))
}

// test is one payment and what is asked for it.
type test struct {
	exact    x402.Exact
	accepted x402.Requirements // what the client says was asked
	required x402.Requirements // what the server says
	key      string            // Idempotency-Key
	header   http.Header
}

// stranger returns the address of a random account.
func stranger() string {
	address, _ := x402.ParseAddress("0x" + randomHex(20)) // always well-formed
	return address
}

// newWallet returns a wallet with a random key.
func newWallet() (*evm.Wallet, error) {
	key, err := evm.ParseKey(randomHex(32))
	if err != nil {
		return nil, err
	}
	return evm.NewWallet(evm.WalletConfig{Key: key})
}

// payment returns a signed payment of a cent from a wallet to a random account. change
// changes it before it is signed.
func (b *bench) payment(ctx context.Context, from agent.Wallet, change func(*test)) (test, error) {
	r := x402.Requirements{
		Scheme: x402.SchemeExact, Network: x402.NetworkBaseSepolia, Amount: testAmount, Asset: b.asset.Address, PayTo: stranger(),
		MaxTimeoutSeconds: 60, Extra: map[string]any{x402.ExtraName: b.asset.Name, x402.ExtraVersion: b.asset.Version},
	}
	t := test{accepted: r, required: r}
	t.exact.Authorization = x402.Authorization{
		From: from.Address(), To: r.PayTo, Value: testAmount, ValidAfter: "0", Nonce: "0x" + randomHex(32),
		ValidBefore: b.seconds(2 * time.Minute),
	}
	if change != nil {
		change(&t)
	}
	signature, err := from.SignTransfer(ctx, testChain, b.asset, t.exact.Authorization)
	t.exact.Signature = signature
	return t, err
}

// seconds returns a time from now in Unix seconds.
func (b *bench) seconds(d time.Duration) string {
	return strconv.FormatInt(b.cfg.Clock().Add(d).Unix(), 10)
}

func (b *bench) verify(ctx context.Context, t test) reply { return b.post(ctx, b.client, "/verify", t) }

// settle settles a payment, and counts what was settled.
func (b *bench) settle(ctx context.Context, t test) reply {
	return b.post(ctx, b.client, "/settle", t)
}

// post sends a payment. It waits and repeats while the facilitator limits the caller.
func (b *bench) post(ctx context.Context, client *http.Client, path string, t test) reply {
	for wait := time.Second; ; wait *= 2 {
		r := b.postOnce(ctx, client, path, t)
		if r.status != http.StatusTooManyRequests || wait > 8*time.Second {
			return r
		}
		if sleep.For(ctx, wait) != nil {
			return r
		}
	}
}

func (b *bench) postOnce(ctx context.Context, client *http.Client, path string, t test) reply {
	body, err := json.Marshal(map[string]any{
		"x402Version": x402.Version2, "paymentRequirements": t.required,
		"paymentPayload": x402.Payload{
			X402Version: x402.Version2, Accepted: t.accepted, Payload: t.exact,
			Resource: &x402.Resource{URL: "https://conformance.example/" + t.exact.Authorization.Nonce, Description: "conformance test"},
		},
	})
	if err != nil {
		return reply{err: err}
	}
	header := http.Header{"Content-Type": {"application/json"}}
	for name, values := range t.header {
		header[name] = values
	}
	if t.key != "" {
		header.Set("Idempotency-Key", t.key)
	}
	status, headers, answer, err := b.call(ctx, client, http.MethodPost, path, body, header)
	if err != nil {
		return reply{err: err}
	}
	o, _ := object(answer)
	r := reply{status: status, transaction: str(o["transaction"]), policy: headers.Get("RateLimit-Policy")}
	valid, _ := o["isValid"].(bool)
	success, _ := o["success"].(bool)
	r.ok = status < http.StatusMultipleChoices && (valid || success)
	for _, name := range []string{"invalidReason", "errorReason", "error", "code"} {
		if r.reason == "" {
			r.reason = str(o[name])
		}
	}
	return r
}

// get reads a document of the facilitator.
func (b *bench) get(ctx context.Context, path string) (map[string]any, error) {
	_, _, body, err := b.call(ctx, b.client, http.MethodGet, path, nil, nil)
	if err != nil {
		return nil, err
	}
	return object(body)
}

func (b *bench) call(ctx context.Context, client *http.Client, method, path string, body []byte, header http.Header) (status int, answered http.Header, answer []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, b.cfg.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, b.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	if header != nil {
		r.Header = header
	}
	r.Header.Set("User-Agent", "paywarrant-conform")
	resp, err := client.Do(r)
	if err != nil {
		return 0, nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxBody))
	return resp.StatusCode, resp.Header, answer, err
}
