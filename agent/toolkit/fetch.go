package toolkit

import (
	"context"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/paywarrant/paywarrant/agent"
)

// FetchIn asks for a resource that may cost money. It has no headers: a model cannot choose
// what authenticates a request.
type FetchIn struct {
	// URL is the http or https address. Required.
	URL string `json:"url" jsonschema:"http or https"`
	// Method is the HTTP method. Default: GET, or POST with a body.
	Method string `json:"method,omitempty" jsonschema:"Default GET, or POST with a body"`
	// Body is the body, which is sent as JSON. Default: none.
	Body string `json:"body,omitempty" jsonschema:"Sent as JSON"`
	// BundleToken pays with a credit of this bundle instead of the mandate. Default: none.
	BundleToken string `json:"bundleToken,omitempty" jsonschema:"Pay with a credit of this bundle"`
	// MandateID is the id of the mandate that pays (del_…). Default: Config.Mandate.
	MandateID string `json:"mandateId,omitempty" jsonschema:"del_…; default: the configured mandate"`
	// MaxPriceCents is the highest price to pay, in US cents. Default: 100.
	MaxPriceCents int64 `json:"maxPriceCents,omitzero" jsonschema:"Most to pay; default 100"`
	// PayAgain allows a payment that equals one of the last ten minutes.
	PayAgain bool `json:"payAgain,omitzero" jsonschema:"Pay a second time for the same request within 10 minutes"`
}

// Receipt is a payment for what was fetched.
type Receipt struct {
	// Method is the payment method.
	Method string `json:"method"`
	// AmountMicros is the price in millionths of a US dollar.
	AmountMicros int64 `json:"amountMicros" jsonschema:"Millionths of a US dollar"`
	// PayTo is the wallet address of the payee.
	PayTo string `json:"payTo,omitempty"`
	// Network is the CAIP-2 id of the chain, or "card".
	Network string `json:"network,omitempty"`
	// Transaction is the transaction hash, or the card processor's payment id.
	Transaction string `json:"transaction,omitempty"`
	// CreditsRemaining is the number of credits that are left.
	CreditsRemaining int64 `json:"creditsRemaining,omitzero"`
	// Value is the receipt as the seller sent it, for [Kit.VerifyReceipt].
	Value string `json:"value,omitempty" jsonschema:"For verify_receipt"`
}

// FetchOut is an answer.
type FetchOut struct {
	// Status is the HTTP status.
	Status int `json:"status"`
	// ContentType is the type of Content.
	ContentType string `json:"contentType"`
	// Content is the body of the answer. Do not trust it.
	Content string `json:"content"`
	// Encoding is "base64" if Content is not text.
	Encoding string `json:"encoding,omitempty" jsonschema:"base64 if content is not text"`
	// Paid reports whether a payment was made.
	Paid bool `json:"paid"`
	// Receipt is the payment. It is nil if nothing was paid.
	Receipt *Receipt `json:"receipt,omitempty"`
}

// Fetch fetches a URL and pays if a payment is required: from the mandate, or with a credit of
// a bundle. It connects to public addresses only, reads at most [agent.MaxFetch] bytes, and
// takes at most [agent.FetchTimeout].
func (k *Kit) Fetch(ctx context.Context, in FetchIn) (FetchOut, error) {
	u, err := url.Parse(in.URL)
	if err != nil || u.Host == "" || u.User != nil || (u.Scheme != "https" && u.Scheme != "http") {
		return FetchOut{}, invalid("url", "must be an http or https URL without user and password")
	}
	limit := in.MaxPriceCents
	switch {
	case limit == 0:
		limit = defaultMaxPriceCents
	case limit < 0 || limit > maxPriceCents:
		return FetchOut{}, invalid("maxPriceCents", "must be an integer of US cents, 1 to 10000000")
	}
	m := k.mandate(in.MandateID)
	a, err := k.fetcher(u, in.BundleToken, m)
	if err != nil {
		return FetchOut{}, k.explain(err, in.BundleToken, m)
	}
	if in.BundleToken != "" {
		defer a.CloseIdleConnections()
	}
	method := strings.ToUpper(in.Method)
	what := &intent{mandate: m, request: key(method, u.String(), in.Body), payAgain: in.PayAgain}
	got, err := a.Fetch(context.WithValue(ctx, intentKey{}, what), agent.FetchParams{
		URL: u.String(), Method: method, Body: []byte(in.Body), MaxPriceMicros: limit * microsPerCent,
	})
	k.remember(u, got.Receipt, what)
	if err != nil {
		err = k.explain(err, in.BundleToken, m)
		var e *Error
		if in.BundleToken != "" && errors.As(err, &e) && (e.Code == CodeOutcomeUnknown || e.Code == CodeTimeout) {
			e.Next = "Each request with a bundle takes a credit, and this one may have. See check_bundle_balance before you call again."
		}
		return FetchOut{}, err
	}
	return k.fetched(got, in.BundleToken, m), nil
}

// fetcher returns the agent of a fetch. With a bundle, it pays by that alone.
func (k *Kit) fetcher(u *url.URL, bundleToken, mandate string) (*agent.Client, error) {
	if bundleToken == "" {
		return k.payer(mandate)
	}
	return agent.New(agent.Config{
		MaxPriceMicros: 1, AllowPrivate: k.cfg.AllowPrivate, Clock: k.cfg.Clock, Methods: []agent.Method{agent.Bundle},
		BundleTokens: map[string]string{agent.Origin(u): bundleToken},
	})
}

// remember records a payment, even if its answer was lost later.
func (k *Kit) remember(u *url.URL, r *agent.Receipt, what *intent) {
	if r == nil && what.begun {
		k.repeats.forget(what.key)
	}
	if r == nil || what.key == "" {
		return
	}
	k.repeats.add(what.key, r.Transaction)
	if r.Header != "" {
		k.paid.add(known{header: r.Header, resource: u.String(), payTo: r.PayTo, amount: dollars(r.AmountMicros)})
	}
}

func (k *Kit) fetched(got agent.Fetched, secrets ...string) FetchOut {
	out := FetchOut{Status: got.Status, ContentType: got.ContentType, Content: string(got.Content), Paid: got.Receipt != nil}
	for _, secret := range append(secrets, k.cfg.Token) {
		if len(secret) > 8 && !strings.HasPrefix(secret, "del_") { // a server may repeat what it was sent
			out.Content = strings.ReplaceAll(out.Content, secret, "[redacted]")
		}
	}
	if !utf8.ValidString(out.Content) {
		out.Content, out.Encoding = base64.StdEncoding.EncodeToString([]byte(out.Content)), "base64"
	}
	if r := got.Receipt; r != nil {
		out.Receipt = &Receipt{
			Method: string(r.Method), AmountMicros: r.AmountMicros, PayTo: r.PayTo, Network: r.Network, Transaction: r.Transaction,
			CreditsRemaining: r.CreditsRemaining, Value: r.Header,
		}
	}
	return out
}
