package paywall

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

const (
	// maxHeader limits one response header, in bytes. Proxies refuse longer ones.
	maxHeader = 6 << 10
	// maxChallenges limits all challenges of a response together, in bytes: common limits
	// of a response's headers are 8 KiB, in nginx after proxy_buffer_size was raised.
	maxChallenges = 7 << 10
)

// offer is one price of one route, in the form of every protocol. Everything that is the
// same for every request is encoded once, here.
type offer struct {
	micros   int64
	price    string // decimal USDC
	metered  bool   // a mandate pays at most the price
	window   time.Duration
	resource string
	realm    string
	accepts  []*accept // the first is that of Config.Network and Config.Asset

	two      x402.PaymentRequired
	one      x402.PaymentRequiredV1
	declared declared
	required string // PAYMENT-REQUIRED of a request without a credential
	body     []byte // JSON body of such a request, up to its requestId
}

// terms is what the offers of a route have in common.
type terms struct {
	route    Route
	resource resource
	origin   string // Config.Origin
	accepts  []acceptTerms
	bundle   *CreditBundle
	apiURL   string
	signer   *mpp.Signer
	page     pageWriter
	builtIn  bool // page is that of the package

	merchantName, mandateURL string // for the page
	testMode                 bool
}

// errHeaderTooLong reports an offer that does not fit into a header.
var errHeaderTooLong = errors.New("is too long for a header")

// newOffer encodes the offer for a quote. The returned error names the field that makes it
// impossible.
func newOffer(t terms, q quote) (*offer, error) {
	micros, err := parsePrice(q.price)
	if err != nil {
		return nil, field("Price", err)
	}
	o := &offer{micros: micros, price: money.Micros(micros).Decimal(), window: t.route.ChallengeTTL, metered: t.route.Metered, resource: q.resource, realm: host(q.resource)}
	description, extensions, outputV1, err := describe(t.route)
	if err != nil {
		return nil, err
	}
	networks := map[string]bool{}
	for _, each := range t.accepts {
		a, err := newAccept(t, each, o, q.payTo, description, outputV1)
		if err != nil {
			return nil, err
		}
		// A payment of version 1 does not name its token, so there is one for each network.
		a.v1 = !networks[each.network.V1]
		networks[each.network.V1] = true
		o.accepts = append(o.accepts, a)
	}
	if q.facilitator != "" {
		if o.accepts[0].upto, err = newUpto(t, o.accepts[0], q.facilitator); err != nil {
			return nil, field("PayTo", err)
		}
	}
	list := methods(t, o.accepts[0].amount)
	list[0].Metered = t.route.Metered
	if extensions[x402.ExtensionMethods], err = x402.MethodsExtension(list); err != nil {
		return nil, field("CreditBundle", err)
	}
	if err := o.challengeX402(t, description, list, extensions); err != nil {
		return nil, err
	}
	total := len(o.required)
	for i, a := range o.accepts {
		if err := a.encodeMPP(t, o.realm, description, i == 0); err != nil {
			return nil, err
		}
		total += len(a.issuer.Issue(time.Time{}).Header)
	}
	if total > maxChallenges {
		return nil, field(o.longest(), fmt.Errorf("makes the challenges of a 402 %d bytes long, more than %d: %w", total, maxChallenges, errHeaderTooLong))
	}
	return o, o.encodeBody()
}

// challengeX402 sets the challenges of both versions of x402.
func (o *offer) challengeX402(t terms, description string, list []x402.Method, extensions map[string]x402.Extension) error {
	o.one = x402.PaymentRequiredV1{X402Version: x402.Version1, Error: "X-PAYMENT header is required", PaymentMethods: list}
	o.two = x402.PaymentRequired{
		X402Version: x402.Version2, Error: "PAYMENT-SIGNATURE header is required",
		Resource:   x402.Resource{URL: o.resource, Description: description, MimeType: t.route.MimeType},
		Extensions: extensions,
	}
	for _, a := range o.accepts {
		if a.upto != nil { // first, because clients make the first payment that they can make
			o.two.Accepts = append(o.two.Accepts, *a.upto)
		}
		o.two.Accepts = append(o.two.Accepts, a.two)
		if a.v1 {
			o.one.Accepts = append(o.one.Accepts, a.one)
		}
	}
	var err error
	if o.declared, err = newDeclared(o.two); err != nil {
		return err
	}
	if o.required, err = x402.EncodeHeader(o.two); err != nil {
		return err
	}
	if n := len(o.required); n > maxHeader {
		return field(o.longest(), fmt.Errorf("makes PAYMENT-REQUIRED %d bytes long, more than %d: %w", n, maxHeader, errHeaderTooLong))
	}
	return nil
}

// longest names the field that makes a challenge long.
func (o *offer) longest() string {
	if len(o.accepts) > 1 {
		return "Accepts"
	}
	return "Discovery"
}

// describe encodes the discovery metadata of a route, if it has any.
func describe(r Route) (description string, extensions map[string]x402.Extension, outputV1 json.RawMessage, err error) {
	extensions = map[string]x402.Extension{x402.ExtensionIdentifier: x402.IdentifierExtension()}
	if r.Discovery == nil {
		return "", extensions, nil, nil
	}
	d := r.Discovery.declaration()
	bazaar, err := d.Extension()
	if err != nil {
		return "", nil, nil, fmt.Errorf("paywall: Discovery.%w", err)
	}
	bazaar.RouteTemplate = routeTemplate(r.Resource)
	extensions[x402.ExtensionBazaar] = bazaar
	if outputV1, err = d.OutputSchemaV1(); err != nil {
		return "", nil, nil, fmt.Errorf("paywall: Discovery.%w", err)
	}
	return r.Discovery.Description, extensions, outputV1, nil
}

// methods returns the payment methods beyond x402.
func methods(t terms, amount string) []x402.Method {
	list := []x402.Method{{
		Type: x402.MethodMandate, Header: HeaderMandate, Amount: amount, Currency: "usdc", APIURL: t.apiURL,
	}}
	if b := t.bundle; b != nil {
		list = append(list, x402.Method{
			Type: x402.MethodCreditBundle, PurchaseURL: b.PurchaseURL, BalanceURL: b.BalanceURL, Tiers: b.Tiers,
		})
	}
	return list
}

// answer is the JSON body of a 402 and of every other refusal: the challenge of x402 version
// 1, and the error.
type answer struct {
	*x402.PaymentRequiredV1
	Error   string `json:"error,omitempty"`
	Code    string `json:"code"`
	Message string `json:"message"`

	Type   mpp.ProblemType `json:"type,omitempty"`
	Title  string          `json:"title,omitempty"`
	Status int             `json:"status,omitzero"`
	Detail string          `json:"detail,omitempty"`

	limits

	PurchaseURL string `json:"purchaseUrl,omitempty"`
	Tiers       []Tier `json:"tiers,omitempty"`

	DocURL    string `json:"docUrl,omitempty"`
	RequestID string `json:"requestId"`
}

// limits are the members of an answer that describe the limit that refused a payment. They
// are those of the service's error.
type limits struct {
	LimitCents                 *int64    `json:"limitCents,omitempty"`
	RemainingCents             *int64    `json:"remainingCents,omitempty"`
	RemainingMonthlySpendCents *int64    `json:"remainingMonthlySpendCents,omitempty"`
	LimitPayments              *int64    `json:"limitPayments,omitempty"`
	RenewsAt                   time.Time `json:"renewsAt,omitzero"`
}

func limitsOf(e *client.Error) limits {
	return limits{e.LimitCents, e.RemainingCents, e.RemainingMonthlySpendCents, e.LimitPayments, e.RenewsAt}
}

func (a *answer) problem(p mpp.Problem) {
	a.Type, a.Title, a.Status, a.Detail = p.Type, p.Title, p.Status, p.Detail
}

// most returns what precedes the price in a text.
func (o *offer) most() string {
	if o.metered {
		return "at most "
	}
	return ""
}

// encodeBody encodes the body for a request without a credential, up to the request id.
func (o *offer) encodeBody() error {
	a := answer{
		PaymentRequiredV1: &o.one, Error: o.one.Error, Code: codePaymentRequired,
		Message: "This request costs " + o.most() + o.price + " USDC. Pay with one of the listed methods and send it again.",
		DocURL:  docURL(codePaymentRequired),
	}
	a.problem(mpp.NewProblem(mpp.ProblemPaymentRequired, a.Message))
	data, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("paywall: encode body: %w", err)
	}
	open, found := strings.CutSuffix(string(data), `"}`)
	if !found {
		return errors.New("paywall: encode body: the request id is not last")
	}
	o.body = []byte(open)
	return nil
}
