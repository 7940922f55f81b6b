package paywall

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/x402"
)

// Route is the part of [Config] that differs between routes. Fields that are not set are those
// of the gate from which the route is derived, except the resource, Discovery and Metered.
type Route struct {
	// Price is the price of a request; see [Config.Price].
	Price string
	// PriceFunc returns the price of a request; see [Config.PriceFunc].
	PriceFunc func(*http.Request) (string, error)
	// PayTo is the wallet that is paid; see [Config.PayTo].
	PayTo string
	// PayToFunc returns the wallet that a request pays; see [Config.PayToFunc].
	PayToFunc func(*http.Request) (string, error)
	// Resource is the URL of the route, or a pattern; see [Config.Resource].
	// Required, unless ResourceFunc or [Config.Origin] is set.
	Resource string
	// ResourceFunc returns the URL of a request; see [Config.ResourceFunc].
	ResourceFunc func(*http.Request) (string, error)
	// MimeType is the media type of the response; see [Config.MimeType].
	MimeType string
	// ChallengeTTL is how long a challenge can be paid; see [Config.ChallengeTTL].
	ChallengeTTL time.Duration
	// Discovery describes the route to directories. Default: not described.
	Discovery *Discovery
	// Accepts are further tokens in which requests can be paid; see [Config.Accepts]. A
	// slice that is empty and not nil accepts none.
	Accepts []Accept
	// Metered makes the price the most that a request costs. A mandate holds the price before
	// the handler runs, and a wallet signs it by x402's scheme upto. The handler counts what it
	// uses with [MeterFrom], and when it returns exactly that is captured, and the rest is given
	// back; a handler that counts nothing is free. Other credentials pay the price. HEAD is
	// answered with the price, without running the handler. Requires [Config.Merchant], and PayTo
	// instead of PayToFunc. Default: false.
	Metered bool
	// Hold is how long the price of a metered request is held: 1 minute to 7 days, in whole
	// seconds. The handler must return in that time; the meter counts nothing in the last 30
	// seconds. If the gate's process dies, the amount is given back after this time. What a
	// wallet signs by the scheme upto is valid for this time, at most an hour. Default:
	// [DefaultHold].
	Hold time.Duration
}

// Discovery describes an endpoint to directories. Schemas and examples are any value that
// package json encodes. Schemas must not have references.
type Discovery struct {
	// Description is one sentence about what is sold. Default: none.
	Description string
	// Method is the HTTP method. Default: GET, or POST with BodyType.
	Method string
	// InputSchema is the JSON Schema of the body, or of the query parameters of a request
	// without a body. Default: not described.
	InputSchema any
	// InputExample is an example that fits InputSchema. Default: generated from it.
	InputExample any
	// BodyType is the type of the request body: "json", "form-data" or "text". Default: the
	// request has no body.
	BodyType string
	// Output describes the response. Its Schema is required.
	Output Output
}

// Output describes a response.
type Output struct {
	// Example is an example response. Default: none.
	Example any
	// Schema is the JSON Schema of the response. Required: directories reject an entry
	// without it.
	Schema any
}

func (d *Discovery) declaration() x402.Declaration {
	return x402.Declaration{
		Method: d.Method, BodyType: d.BodyType, InputSchema: d.InputSchema, InputExample: d.InputExample,
		OutputSchema: d.Output.Schema, OutputExample: d.Output.Example,
	}
}

// from sets the fields that the route does not set to those of base.
func (r Route) from(base Route) Route {
	if r.Price == "" && r.PriceFunc == nil {
		r.Price, r.PriceFunc = base.Price, base.PriceFunc
	}
	ownPayee := r.PayTo != "" || r.PayToFunc != nil
	if !ownPayee {
		r.PayTo, r.PayToFunc = base.PayTo, base.PayToFunc
	}
	if r.MimeType == "" {
		r.MimeType = base.MimeType
	}
	if r.ChallengeTTL == 0 {
		r.ChallengeTTL = base.ChallengeTTL
	}
	if r.Hold == 0 {
		r.Hold = base.Hold
	}
	if r.Accepts == nil {
		r.Accepts = slices.Clone(base.Accepts)
		for i := range r.Accepts {
			if ownPayee { // the base's wallets do not belong to this route's payee
				r.Accepts[i].PayTo = ""
			}
		}
	}
	return r
}

// maxWindow is the longest validity of a challenge, for which redemptions are remembered.
const maxWindow = time.Hour

// maxHold is the longest time for which the service holds an amount.
const maxHold = 7 * 24 * time.Hour

// validate returns an error with the name of the invalid field.
func (r Route) validate() error {
	if r.Price == "" && r.PriceFunc == nil {
		return field("Price", errors.New("is required"))
	}
	if r.Price != "" {
		if _, err := parsePrice(r.Price); err != nil {
			return field("Price", err)
		}
	}
	if r.PayTo != "" || r.PayToFunc == nil {
		if err := checkAddress(r.PayTo); err != nil {
			return field("PayTo", err)
		}
	}
	for i, a := range r.Accepts {
		if a.PayTo != "" && r.PayToFunc != nil {
			return field(fmt.Sprintf("Accepts[%d].PayTo", i), errors.New("PayToFunc decides the payee of every token"))
		}
	}
	if strings.Count(r.MimeType, "/") != 1 || !printable(r.MimeType) {
		return field("MimeType", fmt.Errorf("%q is not a media type", r.MimeType))
	}
	if r.ChallengeTTL < time.Second || r.ChallengeTTL > maxWindow || r.ChallengeTTL%time.Second != 0 {
		return field("ChallengeTTL", fmt.Errorf("want whole seconds, from 1 s to %v", maxWindow))
	}
	if r.Hold < time.Minute || r.Hold > maxHold || r.Hold%time.Second != 0 {
		return field("Hold", fmt.Errorf("want whole seconds, from 1 m to %v", maxHold))
	}
	if r.Discovery != nil && !printable(r.Discovery.Description) {
		return field("Discovery.Description", errors.New("has control characters"))
	}
	return nil
}

// checkAddress accepts only an address with its checksum. Without one a typing error would
// go unnoticed, and the money would be lost.
func checkAddress(s string) error {
	if s == "" {
		return errors.New("is required")
	}
	sum, err := x402.ParseAddress(s)
	if err != nil {
		return err
	}
	if sum != s {
		return fmt.Errorf("has no checksum: is it %s?", sum)
	}
	return nil
}

func parsePrice(s string) (int64, error) {
	m, err := money.ParseDecimal(s)
	if err != nil {
		return 0, err
	}
	if m <= 0 {
		return 0, fmt.Errorf("%q is not above zero", s)
	}
	return int64(m), nil
}

// printable reports whether s has no control characters.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
