package paywall

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/x402"
)

// Route is what is sold at one address: the part of [Config] that differs from
// route to route. Fields that are not set are those of the gate it is derived from,
// except the resource and Discovery, which are a route's own.
type Route struct {
	// Price of one request; see [Config.Price].
	Price string
	// PriceFunc returns the price of a request; see [Config.PriceFunc].
	PriceFunc func(*http.Request) (string, error)
	// PayTo is the wallet that is paid; see [Config.PayTo].
	PayTo string
	// PayToFunc returns the wallet that a request pays; see [Config.PayToFunc].
	PayToFunc func(*http.Request) (string, error)
	// Resource is the URL that is sold, or a pattern of URLs; see [Config.Resource].
	// Required, unless ResourceFunc or [Config.Origin] is set.
	Resource string
	// ResourceFunc returns the URL that a request asks for; see [Config.ResourceFunc].
	ResourceFunc func(*http.Request) (string, error)
	// MimeType of the answer; see [Config.MimeType].
	MimeType string
	// MaxTimeout is how long a challenge can be paid; see [Config.MaxTimeout].
	MaxTimeout time.Duration
	// Discovery describes the route to directories. Default: not described.
	Discovery *Discovery
}

// Discovery describes an endpoint to directories. Schemas and examples are
// anything that package json encodes; a schema stands for itself, without references.
type Discovery struct {
	// Description says in a sentence what is sold.
	Description string
	// Method is the HTTP method. Default: GET, or POST with BodyType.
	Method string
	// InputSchema is the JSON Schema of the body, or of the query parameters
	// where there is none. Default: not described.
	InputSchema any
	// InputExample fits it. Default: made up from it.
	InputExample any
	// BodyType is "json", "form-data" or "text" where a body is sent.
	BodyType string
	// Output describes the answer. Its Schema is required.
	Output Output
}

// Output describes an answer.
type Output struct {
	// Example answer. Default: none.
	Example any
	// Schema of the answer, a JSON Schema. Required: directories refuse an entry without it.
	Schema any
}

func (d *Discovery) declaration() x402.Declaration {
	return x402.Declaration{
		Method: d.Method, BodyType: d.BodyType, InputSchema: d.InputSchema, InputExample: d.InputExample,
		OutputSchema: d.Output.Schema, OutputExample: d.Output.Example,
	}
}

// from fills in what the route does not set from the one it is derived from.
func (r Route) from(base Route) Route {
	if r.Price == "" && r.PriceFunc == nil {
		r.Price, r.PriceFunc = base.Price, base.PriceFunc
	}
	if r.PayTo == "" && r.PayToFunc == nil {
		r.PayTo, r.PayToFunc = base.PayTo, base.PayToFunc
	}
	if r.MimeType == "" {
		r.MimeType = base.MimeType
	}
	if r.MaxTimeout == 0 {
		r.MaxTimeout = base.MaxTimeout
	}
	return r
}

// maxWindow is the longest validity of a challenge: redemptions are remembered for it.
const maxWindow = time.Hour

// validate names the field that is wrong.
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
	if strings.Count(r.MimeType, "/") != 1 || !printable(r.MimeType) {
		return field("MimeType", fmt.Errorf("%q is no media type", r.MimeType))
	}
	if r.MaxTimeout < time.Second || r.MaxTimeout > maxWindow || r.MaxTimeout%time.Second != 0 {
		return field("MaxTimeout", fmt.Errorf("want whole seconds, from 1 s to %v", maxWindow))
	}
	if r.Discovery != nil && !printable(r.Discovery.Description) {
		return field("Discovery.Description", errors.New("has characters that no header may carry"))
	}
	return nil
}

// checkAddress accepts only an address with its checksum: a lower-case one may
// have been mistyped, and money sent there is lost.
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

// printable reports whether s can stand in a header: no control characters.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
