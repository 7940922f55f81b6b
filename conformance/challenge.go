package conformance

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// Protocols of a challenge.
const (
	version2 = "x402 v2"
	version1 = "x402 v1"
	payment2 = "MPP"
)

// challenge is what a 402 asks for. It is read leniently: each rule judges its own part.
type challenge struct {
	has    map[string]bool
	broken map[string]error // of a protocol that is there and cannot be read
	two    map[string]any
	one    map[string]any
	mpp    []mpp.Challenge
	offers []offer
}

// offer is one payment that a challenge accepts.
type offer struct {
	protocol string
	at       string         // accepts[0], challenge 1
	raw      map[string]any // the entry of accepts, or the request of the Payment scheme
	mpp      mpp.Challenge

	network, amount, asset, payTo string // empty if they are missing or no strings
	chainID                       int64  // zero if it is unknown
}

// protocols returns the protocols of the challenge.
func (c *challenge) protocols() []string {
	var list []string
	for _, protocol := range []string{version2, version1, payment2} {
		if c.has[protocol] {
			list = append(list, protocol)
		}
	}
	return list
}

// of returns the offers of a protocol.
func (c *challenge) of(protocol string) []offer {
	var list []offer
	for _, o := range c.offers {
		if o.protocol == protocol {
			list = append(list, o)
		}
	}
	return list
}

func readChallenge(e *exchange) *challenge {
	c := &challenge{has: map[string]bool{}, broken: map[string]error{}}
	if value := e.header.Get(x402.HeaderPaymentRequired); value != "" {
		c.has[version2] = true
		c.two, c.broken[version2] = readV2(value)
		c.accepts(version2, c.two)
	}
	if one, err := object(e.body); err == nil && (one["accepts"] != nil || one["x402Version"] != nil) && number(one["x402Version"]) != "2" {
		c.has[version1], c.one = true, one
		c.accepts(version1, one)
	}
	for _, value := range e.header.Values(mpp.HeaderChallenge) {
		if strings.HasPrefix(strings.ToLower(strings.TrimSpace(value)), strings.ToLower(mpp.Scheme)+" ") {
			c.has[payment2] = true
		}
	}
	list, err := mpp.ParseChallenges(e.header.Values(mpp.HeaderChallenge)...)
	switch {
	case err == nil:
		c.has[payment2], c.mpp = true, list
		for i, m := range list {
			c.charge(i, m)
		}
	case c.has[payment2]:
		c.broken[payment2] = err
	}
	return c
}

// readV2 decodes a PAYMENT-REQUIRED header.
func readV2(value string) (map[string]any, error) {
	if len(value) > x402.MaxRequiredSize {
		return nil, fmt.Errorf("longer than %d bytes", x402.MaxRequiredSize)
	}
	data, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return nil, errors.New("not standard base64")
	}
	return object(data)
}

// accepts adds the offers of x402.
func (c *challenge) accepts(protocol string, from map[string]any) {
	list, _ := from["accepts"].([]any)
	for i, entry := range list {
		raw, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		o := offer{protocol: protocol, at: fmt.Sprintf("accepts[%d]", i), raw: raw}
		o.network, o.asset, o.payTo = str(raw["network"]), str(raw["asset"]), str(raw["payTo"])
		o.amount = str(raw[amountField(protocol)])
		if n, err := x402.ParseNetwork(o.network); err == nil {
			o.chainID = n.ChainID
		}
		c.offers = append(c.offers, o)
	}
}

// charge adds the offer of a challenge of the Payment scheme.
func (c *challenge) charge(i int, m mpp.Challenge) {
	o := offer{protocol: payment2, at: fmt.Sprintf("challenge %d", i+1), mpp: m}
	if data, err := mpp.DecodeBase64(m.Request); err == nil {
		o.raw, _ = object(data)
	}
	o.amount, o.asset, o.payTo = str(o.raw["amount"]), str(o.raw["currency"]), str(o.raw["recipient"])
	details, _ := o.raw["methodDetails"].(map[string]any)
	if id, err := json.Number(number(details["chainId"])).Int64(); err == nil && id > 0 {
		o.chainID, o.network = id, x402.NetworkOf(id).CAIP2
	}
	c.offers = append(c.offers, o)
}

func amountField(protocol string) string {
	if protocol == version1 {
		return "maxAmountRequired"
	}
	return "amount"
}

// object decodes one JSON object. Numbers keep their digits.
func object(data []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var o map[string]any
	if err := d.Decode(&o); err != nil || o == nil {
		return nil, errors.New("not a JSON object")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return o, nil
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

// number returns the digits of a JSON number, or nothing.
func number(v any) string {
	n, _ := v.(json.Number)
	return n.String()
}
