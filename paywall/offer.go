package paywall

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// maxHeader is the longest header that a gate sends, in bytes: proxies refuse longer ones.
const maxHeader = 6 << 10

// offer is one price of one route, in the forms of every protocol. Everything
// that does not change from request to request is encoded here, once.
type offer struct {
	micros   int64
	price    string // decimal USDC
	amount   string // base units
	window   time.Duration
	resource string
	binding  string // what a credential is redeemed for

	two      x402.PaymentRequired
	one      x402.PaymentRequiredV1
	asksTwo  any    // two.Accepts[0], as a facilitator is asked
	asksOne  any    // one.Accepts[0]
	required string // PAYMENT-REQUIRED of a request without credential
	body     []byte // JSON of such a request, up to its requestId
	request  string // of the Payment scheme
	realm    string
	issuer   *mpp.Issuer
}

// terms is what an offer is made of, beside the quote.
type terms struct {
	route    Route
	resource resource
	origin   string // of Config
	network  x402.Network
	asset    Asset
	bundle   *CreditBundle
	apiURL   string
	signer   *mpp.Signer
	page     pageWriter
	testMode bool
}

// errHeaderTooLong is an offer that does not fit into a header.
var errHeaderTooLong = errors.New("is too long for a header")

// newOffer encodes everything for one quote. The returned error names the field
// that makes it impossible.
func newOffer(t terms, q quote) (*offer, error) {
	micros, err := parsePrice(q.price)
	if err != nil {
		return nil, field("Price", err)
	}
	t.route.Resource, t.route.PayTo = q.resource, q.payTo
	o := &offer{
		micros: micros, price: money.Micros(micros).Decimal(), window: t.route.MaxTimeout, resource: q.resource,
		amount: baseUnits(micros, t.asset), realm: host(q.resource),
	}
	o.binding = strings.Join([]string{o.resource, o.amount, q.payTo, t.network.CAIP2, t.asset.Address}, "|")
	description, extensions, outputV1, err := describe(t.route)
	if err != nil {
		return nil, err
	}
	list := methods(t, o.amount)
	if extensions[x402.ExtensionMethods], err = x402.MethodsExtension(list); err != nil {
		return nil, field("CreditBundle", err)
	}
	o.challengeX402(t, description, outputV1, list, extensions)
	if o.one.Accepts[0], err = o.one.Accepts[0].Encoded(); err != nil {
		return nil, field("Discovery", err)
	}
	if o.two.Accepts[0], err = o.two.Accepts[0].Encoded(); err != nil {
		return nil, field("Discovery", err)
	}
	o.asksOne, o.asksTwo = o.one.Accepts[0], o.two.Accepts[0]
	if o.required, err = x402.EncodeHeader(o.two); err != nil {
		return nil, err
	}
	if n := len(o.required); n > maxHeader {
		return nil, field("Discovery", fmt.Errorf("makes PAYMENT-REQUIRED %d bytes long, more than %d: %w", n, maxHeader, errHeaderTooLong))
	}
	if err := o.encodeMPP(t, description); err != nil {
		return nil, err
	}
	return o, o.encodeBody()
}

// challengeX402 sets the challenges of both versions.
func (o *offer) challengeX402(t terms, description string, outputV1 json.RawMessage, list []x402.Method, extensions map[string]x402.Extension) {
	extra := map[string]any{x402.ExtraName: t.asset.Name, x402.ExtraVersion: t.asset.Version}
	seconds := int64(t.route.MaxTimeout / time.Second)
	o.one = x402.PaymentRequiredV1{
		X402Version: x402.Version1, Error: "X-PAYMENT header is required", PaymentMethods: list,
		Accepts: []x402.RequirementsV1{{
			Scheme: x402.SchemeExact, Network: t.network.V1, MaxAmountRequired: o.amount, Asset: t.asset.Address, PayTo: t.route.PayTo,
			Resource: o.resource, Description: description, MimeType: t.route.MimeType, OutputSchema: outputV1,
			MaxTimeoutSeconds: seconds, Extra: extra,
		}},
	}
	o.two = x402.PaymentRequired{
		X402Version: x402.Version2, Error: "PAYMENT-SIGNATURE header is required",
		Resource: x402.Resource{URL: o.resource, Description: description, MimeType: t.route.MimeType},
		Accepts: []x402.Requirements{{
			Scheme: x402.SchemeExact, Network: t.network.CAIP2, Amount: o.amount, Asset: t.asset.Address, PayTo: t.route.PayTo,
			MaxTimeoutSeconds: seconds,
			Extra:             map[string]any{x402.ExtraName: t.asset.Name, x402.ExtraVersion: t.asset.Version, x402.ExtraPaymentFlow: x402.FlowUpfront},
		}},
		Extensions: extensions,
	}
}

// baseUnits writes an amount in the units that the token counts in.
func baseUnits(micros int64, a Asset) string {
	return fmt.Sprintf("%d%s", micros, strings.Repeat("0", a.Decimals-6))
}

// microsOf is an amount in base units in millionths of a dollar, rounded down. An
// amount beyond the largest there is becomes that.
func microsOf(amount string, decimals int) int64 {
	digits := len(amount) - (decimals - 6)
	if digits <= 0 {
		return 0
	}
	n, err := strconv.ParseInt(amount[:digits], 10, 64)
	if err != nil {
		return math.MaxInt64
	}
	return n
}

// describe encodes the discovery metadata, which may be absent.
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
	extensions[x402.ExtensionBazaar] = bazaar
	if outputV1, err = d.OutputSchemaV1(); err != nil {
		return "", nil, nil, fmt.Errorf("paywall: Discovery.%w", err)
	}
	return r.Discovery.Description, extensions, outputV1, nil
}

// methods lists the ways to pay beyond x402.
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

// encodeMPP prepares the challenges of the Payment scheme.
func (o *offer) encodeMPP(t terms, description string) error {
	req := mpp.ChargeRequest{
		Amount: o.amount, Currency: t.asset.Address, Recipient: t.route.PayTo, Description: description,
		MethodDetails: mpp.MethodDetails{
			ChainID: t.network.ChainID, CredentialTypes: []string{mpp.CredentialAuthorization}, Decimals: t.asset.Decimals,
		},
	}
	if d := t.route.Discovery; d != nil {
		var err error
		if d.InputSchema != nil {
			if req.InputSchema, err = json.Marshal(d.InputSchema); err != nil {
				return field("Discovery.InputSchema", err)
			}
		}
		if req.OutputSchema, err = json.Marshal(d.Output.Schema); err != nil {
			return field("Discovery.Output.Schema", err)
		}
	}
	var err error
	if o.request, err = mpp.EncodeJSON(req); err != nil {
		return field("Discovery", err)
	}
	o.issuer, err = mpp.NewIssuer(t.signer, mpp.Challenge{
		Realm: o.realm, Method: mpp.MethodEVM, Intent: mpp.IntentCharge, Request: o.request, Description: description,
	})
	if err != nil {
		return field("Resource", err)
	}
	if n := len(o.issuer.Issue(time.Time{}).Header); n > maxHeader {
		return field("Discovery", fmt.Errorf("makes WWW-Authenticate %d bytes long, more than %d: %w", n, maxHeader, errHeaderTooLong))
	}
	return nil
}

// answer is the JSON body of a 402 and of every other refusal: x402 version 1,
// and beside it what went wrong.
type answer struct {
	*x402.PaymentRequiredV1
	Error   string `json:"error,omitempty"`
	Code    string `json:"code"`
	Message string `json:"message"`

	Type   mpp.ProblemType `json:"type,omitempty"`
	Title  string          `json:"title,omitempty"`
	Status int             `json:"status,omitempty"`
	Detail string          `json:"detail,omitempty"`

	LimitCents                 *int64 `json:"limitCents,omitempty"`
	RemainingMonthlySpendCents *int64 `json:"remainingMonthlySpendCents,omitempty"`
	PurchaseURL                string `json:"purchaseUrl,omitempty"`
	Tiers                      []Tier `json:"tiers,omitempty"`

	DocURL    string `json:"docUrl,omitempty"`
	RequestID string `json:"requestId"`
}

func (a *answer) problem(p mpp.Problem) {
	a.Type, a.Title, a.Status, a.Detail = p.Type, p.Title, p.Status, p.Detail
}

// encodeBody writes the body of a request without credential, and leaves it open
// at the request id.
func (o *offer) encodeBody() error {
	a := answer{
		PaymentRequiredV1: &o.one, Error: o.one.Error, Code: codePaymentRequired,
		Message: "This costs " + o.price + " USDC. Pay in one of the ways listed and ask again.",
		DocURL:  docURL(codePaymentRequired),
	}
	a.problem(mpp.NewProblem(mpp.ProblemPaymentRequired, a.Message))
	data, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("paywall: encode the 402: %w", err)
	}
	open, found := strings.CutSuffix(string(data), `"}`)
	if !found {
		return errors.New("paywall: encode the 402: the request id is not last")
	}
	o.body = []byte(open)
	return nil
}
