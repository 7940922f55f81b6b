package facilitator

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/internal/httpjson"
	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/x402"
)

// payment is a decoded request whose declared fields match the signed ones.
type payment struct {
	ticket ticket

	version  int
	payer    string
	exact    x402.Exact
	upto     *x402.Upto // in place of exact
	amount   string     // to settle of upto
	resource string
	payee    string

	// What the payment says to directories. bazaar is nil if it says nothing.
	described x402.Resource
	accepted  x402.Requirements
	bazaar    *x402.Extension
}

// refusal is an error response.
type refusal struct {
	status  int
	reason  x402.Reason
	message string
	wait    time.Duration
}

// undecided reports whether the same request may be repeated.
func (no *refusal) undecided() bool { return no.reason == "" }

func refuse(reason x402.Reason, message string) *refusal {
	return &refusal{status: http.StatusOK, reason: reason, message: message}
}

func malformed(reason x402.Reason, message string) *refusal {
	return &refusal{status: http.StatusBadRequest, reason: reason, message: message}
}

// take decodes, counts and admits a request. The caller must call leave if it is not refused.
func (f *Facilitator) take(w http.ResponseWriter, r *http.Request, who caller) (payment, *refusal) {
	p, no := f.read(w, r)
	if no != nil {
		return p, f.limits.refused(who, w.Header(), no)
	}
	if p.upto != nil {
		if no = f.checkPayee(r, who, p.payee); no != nil {
			return p, f.limits.refused(who, w.Header(), no)
		}
	}
	if p.ticket, no = f.limits.admit(who, w.Header(), p.payer, f.signed(p)); no != nil {
		return p, no
	}
	select {
	case f.slots <- struct{}{}:
		return p, nil
	default:
		f.limits.judged(p.ticket, unknown)
		return p, &refusal{status: http.StatusServiceUnavailable, message: "Too many payments at a time.", wait: time.Second}
	}
}

// leave releases what take acquired. valid reports whether the payment was good, and reason
// is why it was not. A payment that the chain could not check does not count; one whose
// client hung up counts against its address.
func (f *Facilitator) leave(p payment, valid bool, reason x402.Reason, no *refusal) {
	j := refused
	switch {
	case valid:
		j = good
	case no != nil && no.status == http.StatusServiceUnavailable:
		j = unknown
	case no != nil && no.status == httplog.StatusClientClosedRequest, isCopied(reason):
		j = copied
	}
	f.limits.judged(p.ticket, j)
	<-f.slots
}

// isCopied reports whether the reason also applies to a payment that was once good. Such
// a payment can be copied from the chain, so its payer need not have sent it.
func isCopied(reason x402.Reason) bool {
	switch reason {
	case x402.ReasonValidBefore, x402.ReasonValidAfter, x402.ReasonNonceUsed, x402.ReasonTransactionState, x402.ReasonDuplicate,
		x402.ReasonUptoExpired, x402.ReasonUptoEarly, x402.ReasonUptoNonce:
		return true
	default:
		return false
	}
}

// body is the request of verify and settle (specification v2 §7.1, v1 §7.1).
type body struct {
	X402Version         int             `json:"x402Version"`
	PaymentPayload      json.RawMessage `json:"paymentPayload"`
	PaymentRequirements json.RawMessage `json:"paymentRequirements"`
}

func (f *Facilitator) read(w http.ResponseWriter, r *http.Request) (payment, *refusal) {
	var in body
	if err := httpjson.Decode(w, r, &in); err != nil {
		no := malformed(x402.ReasonInvalidPayload, "The body cannot be read: "+err.Error()+".")
		switch {
		case errors.Is(err, httpjson.ErrTooLarge):
			no.status = http.StatusRequestEntityTooLarge
		case errors.Is(err, httpjson.ErrMediaType):
			no.status = http.StatusUnsupportedMediaType
		case r.Context().Err() != nil:
			no.status = httplog.StatusClientClosedRequest
		}
		return payment{}, no
	}
	switch in.X402Version {
	case x402.Version1:
		return f.readV1(in)
	case x402.Version2:
		return f.readV2(in)
	}
	return payment{}, malformed(x402.ReasonInvalidVersion, "x402Version must be 1 or 2.")
}

func (f *Facilitator) readV1(in body) (payment, *refusal) {
	p := payment{version: x402.Version1}
	payload, err := x402.DecodePayloadV1(base64.StdEncoding.EncodeToString(in.PaymentPayload))
	if err != nil {
		return p, unreadable("paymentPayload", x402.ReasonInvalidPayload, err)
	}
	asked, err := requirementsV1(in.PaymentRequirements)
	if err != nil {
		return p, unreadable("paymentRequirements", x402.ReasonInvalidRequirement, err)
	}
	p.exact, p.resource, p.payee, p.payer = payload.Payload, asked.Resource, asked.PayTo, payload.Payload.Authorization.From
	value := p.exact.Authorization.Value
	switch {
	case payload.Scheme != x402.SchemeExact || asked.Scheme != x402.SchemeExact:
		return p, refuse(x402.ReasonUnsupportedScheme, "Only the scheme exact is settled.")
	case payload.Network != f.network.V1 || asked.Network != f.network.V1:
		return p, refuse(x402.ReasonInvalidNetwork, "Only the network "+f.network.V1+" is settled.")
	case x402.CompareAmounts(value, asked.MaxAmountRequired) < 0:
		return p, refuse(x402.ReasonValue, "The authorization is for less than what is required.")
	}
	return p, f.match(p, asked.Asset, asked.Extra)
}

func (f *Facilitator) readV2(in body) (payment, *refusal) {
	p := payment{version: x402.Version2}
	payload, err := x402.DecodePayload(base64.StdEncoding.EncodeToString(in.PaymentPayload))
	if err != nil {
		return p, unreadable("paymentPayload", x402.ReasonInvalidPayload, err)
	}
	asked, err := requirements(in.PaymentRequirements)
	if err != nil {
		return p, unreadable("paymentRequirements", x402.ReasonInvalidRequirement, err)
	}
	p.exact, p.payee, p.payer = payload.Payload, asked.PayTo, payload.Payload.Authorization.From
	if payload.Resource != nil {
		p.resource = payload.Resource.URL
		if e, ok := payload.Extensions[x402.ExtensionBazaar]; ok {
			p.described, p.accepted, p.bazaar = *payload.Resource, payload.Accepted, &e
		}
	}
	if payload.Upto != nil && asked.Scheme == x402.SchemeUpto && f.config.Settler.SettlesUpto() {
		p.upto, p.amount, p.payer = payload.Upto, asked.Amount, payload.Upto.Authorization.From
		return p, f.matchUpto(payload, asked)
	}
	switch {
	case payload.Accepted.Scheme != x402.SchemeExact || asked.Scheme != x402.SchemeExact:
		return p, refuse(x402.ReasonUnsupportedScheme, "The scheme is not settled here; GET /v1/x402/supported lists those that are.")
	case payload.Accepted.Network != f.network.CAIP2 || asked.Network != f.network.CAIP2:
		return p, refuse(x402.ReasonInvalidNetwork, "Only the network "+f.network.CAIP2+" is settled.")
	case !payload.Accepted.Equal(asked):
		return p, refuse(x402.ReasonInvalidRequirement, "What the payer accepted is not what is required.")
	case p.exact.Authorization.Value != asked.Amount:
		return p, refuse(x402.ReasonValue, "The authorization is for another amount than what is required.")
	}
	return p, f.match(p, asked.Asset, asked.Extra)
}

// match compares the declared payment with the signed one and with the token's domain.
func (f *Facilitator) match(p payment, asset string, extra map[string]any) *refusal {
	a := p.exact.Authorization
	for _, address := range []string{asset, p.payee, a.From, a.To} {
		if _, err := x402.ParseAddress(address); err != nil {
			return refuse(x402.ReasonInvalidRequirement, "An address is not one: "+err.Error()+".")
		}
	}
	switch {
	case !x402.SameAddress(asset, f.asset.Address):
		return refuse(x402.ReasonInvalidRequirement, "Only the token "+f.asset.Address+" is settled.")
	case !x402.SameAddress(p.payee, a.To):
		return refuse(x402.ReasonRecipient, "The authorization pays somebody else than payTo.")
	}
	if method, declared := extra["assetTransferMethod"]; declared && method != "eip3009" {
		return refuse(x402.ReasonInvalidRequirement, "extra.assetTransferMethod: only eip3009 is settled.")
	}
	return f.matchDomain(extra)
}

// matchDomain compares the signing domain that extra declares with the token's.
func (f *Facilitator) matchDomain(extra map[string]any) *refusal {
	for name, want := range map[string]string{x402.ExtraName: f.asset.Name, x402.ExtraVersion: f.asset.Version} {
		if got, declared := extra[name]; declared && got != want {
			return refuse(x402.ReasonInvalidRequirement, fmt.Sprintf("extra.%s of the token is %q.", name, want))
		}
	}
	return nil
}

func unreadable(part string, reason x402.Reason, err error) *refusal {
	var d *x402.DecodeError
	if errors.As(err, &d) && d.Reason == x402.ReasonInvalidVersion {
		reason = d.Reason
	}
	return malformed(reason, part+": "+err.Error()+".")
}

var errRequirements = errors.New("is not one set of requirements")

// requirementsV1 decodes one set of requirements as the only one of a challenge.
func requirementsV1(raw json.RawMessage) (x402.RequirementsV1, error) {
	challenge, err := json.Marshal(map[string]any{"x402Version": x402.Version1, "accepts": []json.RawMessage{raw}})
	if err != nil {
		return x402.RequirementsV1{}, errRequirements
	}
	required, err := x402.DecodePaymentRequiredV1(challenge)
	if err != nil {
		return x402.RequirementsV1{}, err
	}
	if len(required.Accepts) != 1 {
		return x402.RequirementsV1{}, errRequirements
	}
	return required.Accepts[0], nil
}

func requirements(raw json.RawMessage) (x402.Requirements, error) {
	challenge, err := x402.EncodeHeader(map[string]any{
		"x402Version": x402.Version2, "accepts": []json.RawMessage{raw}, "resource": x402.Resource{},
	})
	if err != nil {
		return x402.Requirements{}, errRequirements
	}
	required, err := x402.DecodePaymentRequired(challenge)
	if err != nil {
		return x402.Requirements{}, err
	}
	if len(required.Accepts) != 1 {
		return x402.Requirements{}, errRequirements
	}
	return required.Accepts[0], nil
}
