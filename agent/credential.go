package agent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// Header names that packages x402 and mpp do not define.
const (
	HeaderBundleToken      = "X-Bundle-Token" //nolint:gosec // the name of a header
	HeaderMandate          = "X-Service-Mandate"
	HeaderCreditsRemaining = "X-Bundle-Credits-Remaining"
	HeaderIdempotencyKey   = "Idempotency-Key"
)

// Limits on what is signed, whatever a challenge asks for.
const (
	shortestTransfer = 30 * time.Second
	longestTransfer  = 10 * time.Minute
	// bareLife is how long a bare mandate is repeated with its Idempotency-Key.
	bareLife = 24 * time.Hour
)

// credential pays for one request. It is sent to one origin only.
type credential struct {
	offer  Offer
	origin string
	target target
	key    requestKey
	header map[string]string
	until  time.Time // when it expires; guarded by kept.mu once it is kept

	busy, held bool // guarded by kept.mu
	reported   atomic.Bool
	restored   bool // from the journal

	// Only the request that marked the credential busy uses these.
	last  outcome
	entry *JournalEntry   // nil without a journal
	lost  *UndecidedError // set if it was redeemed for a response that is lost
}

// attach sets the credential's headers.
func (c *credential) attach(h http.Header) {
	for name, value := range c.header {
		if name == mpp.HeaderCredential && h.Get(name) != "" {
			name = mpp.HeaderCredentialAside // the application uses Authorization itself
		}
		h.Set(name, value)
	}
}

// credentialHeaders returns the headers that pay.
func credentialHeaders() []string {
	return []string{HeaderBundleToken, HeaderMandate, x402.HeaderPaymentSignature, x402.HeaderPayment, mpp.HeaderCredentialAside}
}

// make makes the credential of an offer. Nothing is paid before it is sent. E is the purchase
// in the journal, or nil.
func (t *Transport) make(ctx context.Context, o Offer, r *http.Request, e *JournalEntry) (c *credential, err error) {
	c = &credential{offer: o, entry: e, origin: Origin(r.URL), until: t.cfg.Clock().Add(longestTransfer)}
	switch {
	case o.byService:
		err = t.makeSellerCredential(ctx, c, r)
	case o.Method == Bundle:
		c.header = map[string]string{HeaderBundleToken: t.cfg.BundleTokens[c.origin]}
	case o.Method == Mandate:
		err = t.makeMandate(ctx, c, r)
	default:
		err = t.makeTransfer(ctx, c)
	}
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// check returns an error unless a request can carry the credential's headers.
func (c *credential) check() error {
	for name, value := range c.header {
		if value == "" || (name != mpp.HeaderCredential && !headerText(value)) {
			return fmt.Errorf("make %s: the value contains characters that a header cannot carry", name)
		}
		if len(value) > x402.MaxPaymentHeader && c.offer.Method != Mandate {
			return fmt.Errorf("make %s: longer than %d bytes", name, x402.MaxPaymentHeader)
		}
	}
	return nil
}

// makeMandate requests a presentation, or uses the mandate itself if the configuration
// allows this seller to see it.
func (t *Transport) makeMandate(ctx context.Context, c *credential, r *http.Request) error {
	o := c.offer
	if payTo, ok := t.cfg.BareMandateTo[c.origin]; ok && x402.SameAddress(payTo, o.PayTo) {
		key := r.Header.Get(HeaderIdempotencyKey)
		if key == "" {
			key = randomHex(16)
		}
		c.header = map[string]string{HeaderMandate: t.cfg.Mandate, HeaderIdempotencyKey: key}
		c.until = t.cfg.Clock().Add(bareLife)
		t.caps.presented(o.AmountMicros)
		return nil
	}
	resource, err := url.Parse(o.resource)
	if err != nil {
		return fmt.Errorf("resource: %w", err)
	}
	nonce := o.challenge.ID
	if nonce == "" || len(nonce) > 200 || !headerText(nonce) {
		nonce = randomHex(16) // the seller binds nothing to it; it only makes presentations differ
	}
	p, err := t.cfg.Service.CreatePresentation(ctx, t.cfg.Mandate, client.PresentationParams{
		Audience: resource.Scheme + "://" + resource.Host, Nonce: nonce, Amount: o.Price(), PayTo: o.PayTo,
		Network: o.Network, Resource: o.resource,
	})
	if err != nil {
		return err
	}
	t.caps.presented(o.AmountMicros)
	c.header, c.until = map[string]string{HeaderMandate: p.Presentation}, p.ExpiresAt
	return nil
}

// makeTransfer signs a transfer with the wallet, in the form of the offer's protocol.
func (t *Transport) makeTransfer(ctx context.Context, c *credential) error {
	o, now := c.offer, t.cfg.Clock()
	a := x402.Authorization{From: t.cfg.Wallet.Address(), To: o.PayTo, ValidAfter: "0"}
	var window time.Duration
	switch o.Method {
	case X402:
		a.Value, a.Nonce, window = o.accepts.Amount, "0x"+randomHex(32), time.Duration(min(o.accepts.MaxTimeoutSeconds, 1<<20))*time.Second
	case X402V1:
		a.Value, a.Nonce, window = o.acceptsV1.MaxAmountRequired, "0x"+randomHex(32), time.Duration(min(o.acceptsV1.MaxTimeoutSeconds, 1<<20))*time.Second
	default:
		var asked mpp.ChargeRequest
		data, err := mpp.DecodeBase64(o.challenge.Request)
		if err == nil {
			err = json.Unmarshal(data, &asked)
		}
		if err != nil {
			return fmt.Errorf("challenge: %w", err)
		}
		a.Value, a.Nonce, window = asked.Amount, o.challenge.Nonce(), longestTransfer
		if expires, err := o.challenge.ExpiresAt(); err == nil && !expires.IsZero() {
			window = expires.Sub(now)
		}
	}
	if o.Method != MPP {
		window = max(window, shortestTransfer)
	}
	c.until = now.Add(min(window, longestTransfer)).Truncate(time.Second)
	a.ValidBefore = strconv.FormatInt(c.until.Unix(), 10)
	signature, err := t.cfg.Wallet.SignTransfer(ctx, o.chainID, o.asset, a)
	if err != nil {
		return fmt.Errorf("sign transfer: %w", err)
	}
	exact := x402.Exact{Signature: signature, Authorization: a}
	if err := exact.Validate(); err != nil {
		return fmt.Errorf("sign transfer: %w", err)
	}
	c.header, err = encodeTransfer(o, exact)
	return err
}

func encodeTransfer(o Offer, exact x402.Exact) (map[string]string, error) {
	var name, value string
	var err error
	switch o.Method {
	case X402:
		name = x402.HeaderPaymentSignature
		value, err = x402.EncodeHeader(x402.Payload{
			X402Version: x402.Version2, Resource: &o.required.Resource, Accepted: o.accepts, Payload: exact,
			Extensions: withIdentifier(o.required.Extensions),
		})
	case X402V1:
		name = x402.HeaderPayment
		value, err = x402.EncodeHeader(x402.PayloadV1{
			X402Version: x402.Version1, Scheme: o.acceptsV1.Scheme, Network: o.acceptsV1.Network, Payload: exact,
		})
	case MPP:
		a := exact.Authorization
		var payload []byte
		payload, err = json.Marshal(mpp.AuthorizationPayload{
			Type: mpp.CredentialAuthorization, From: a.From, To: a.To, Value: a.Value, ValidAfter: a.ValidAfter,
			ValidBefore: a.ValidBefore, Nonce: a.Nonce, Signature: exact.Signature,
		})
		if err == nil {
			name = mpp.HeaderCredential
			value, err = mpp.Credential{
				Challenge: o.challenge, Source: fmt.Sprintf("did:pkh:eip155:%d:%s", o.chainID, a.From), Payload: payload,
			}.Header()
		}
	default:
		err = errors.New("no transfer")
	}
	return map[string]string{name: value}, err
}

// withIdentifier returns a seller's extensions, with an id added to payment-identifier if
// the seller offers it. The other members of its info stay, as the extension's
// specification requires.
func withIdentifier(offered map[string]x402.Extension) map[string]x402.Extension {
	e, ok := offered[x402.ExtensionIdentifier]
	info := map[string]any{}
	if !ok || (len(e.Info) > 0 && json.Unmarshal(e.Info, &info) != nil) || info == nil {
		return offered
	}
	info["id"] = "pay_" + randomHex(16)
	data, err := json.Marshal(info)
	if err != nil {
		return offered
	}
	e.Info = data
	all := maps.Clone(offered)
	all[x402.ExtensionIdentifier] = e
	return all
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b)
}
