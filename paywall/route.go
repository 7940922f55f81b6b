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
// route to route. Fields left out are those of the gate that it is made from,
// but for Discovery.
type Route struct {
	Price      string
	PriceFunc  func(*http.Request) (string, error)
	PayTo      string
	Resource   string
	MimeType   string
	MaxTimeout time.Duration
	Discovery  *Discovery
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

// from fills in what the route leaves out from the one it is made from.
func (r Route) from(base Route) Route {
	if r.Price == "" && r.PriceFunc == nil {
		r.Price, r.PriceFunc = base.Price, base.PriceFunc
	}
	if r.PayTo == "" {
		r.PayTo = base.PayTo
	}
	if r.Resource == "" {
		r.Resource = base.Resource
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
func (r Route) validate(testMode bool) error {
	if r.Price == "" && r.PriceFunc == nil {
		return field("Price", errors.New("is required"))
	}
	if r.Price != "" {
		if _, err := parsePrice(r.Price); err != nil {
			return field("Price", err)
		}
	}
	if err := checkAddress(r.PayTo); err != nil {
		return field("PayTo", err)
	}
	if err := checkURL(r.Resource, testMode, false); err != nil {
		return field("Resource", err)
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

// checkAddress takes an address with its checksum alone: a lower-case one may
// have been typed wrong, and money sent there is gone.
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

// printable tells whether s can stand in a header: no control characters.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
