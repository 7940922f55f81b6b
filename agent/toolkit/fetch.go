package toolkit

import (
	"context"
	"encoding/base64"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/paywarrant/paywarrant/agent"
)

// FetchIn asks for a resource that may cost money. It has no headers: a model cannot choose
// what authenticates a request.
type FetchIn struct {
	URL           string `json:"url" jsonschema:"http or https"`
	Method        string `json:"method,omitempty" jsonschema:"Default GET, or POST with a body"`
	Body          string `json:"body,omitempty" jsonschema:"Sent as JSON"`
	BundleToken   string `json:"bundleToken,omitempty" jsonschema:"Pay with a credit of this bundle"`
	MandateID     string `json:"mandateId,omitempty" jsonschema:"del_…; default: the configured mandate"`
	MaxPriceCents int64  `json:"maxPriceCents,omitempty" jsonschema:"Most to pay; default 100"`
	PayAgain      bool   `json:"payAgain,omitempty" jsonschema:"Pay a second time for the same request within 10 minutes"`
}

// Receipt is a payment for what was fetched.
type Receipt struct {
	Method           string `json:"method"`
	AmountMicros     int64  `json:"amountMicros" jsonschema:"Millionths of a US dollar"`
	PayTo            string `json:"payTo,omitempty"`
	Network          string `json:"network,omitempty"`
	Transaction      string `json:"transaction,omitempty"`
	CreditsRemaining int64  `json:"creditsRemaining,omitempty"`
	Value            string `json:"value,omitempty" jsonschema:"For verify_receipt"`
}

// FetchOut is an answer.
type FetchOut struct {
	Status      int      `json:"status"`
	ContentType string   `json:"contentType"`
	Content     string   `json:"content"`
	Encoding    string   `json:"encoding,omitempty" jsonschema:"base64 if content is not text"`
	Paid        bool     `json:"paid"`
	Receipt     *Receipt `json:"receipt,omitempty"`
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
		return FetchOut{}, k.explain(err, in.BundleToken, m)
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
		BundleTokens: map[string]string{originOf(u): bundleToken},
	})
}

// originOf returns scheme and host as package agent spells them.
func originOf(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	port := map[string]string{"https": ":443", "http": ":80"}[scheme]
	return scheme + "://" + strings.TrimSuffix(host, port)
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
