package paywall

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// Accept is a token in which requests can be paid, in addition to that of [Config.Network]
// and [Config.Asset]. A price is the same in every token, so each must be worth one US
// dollar. Mandates and bundles pay in the first token, whatever else is accepted.
type Accept struct {
	// Network is the CAIP-2 name of the chain: "eip155:137". Default: [Config.Network].
	Network string
	// Asset is the token. Default: USDC if it is known on the network; otherwise required.
	Asset *Asset
	// PayTo is the wallet that is paid, with its EIP-55 checksum. Not with a PayToFunc. A
	// derived route with a payee of its own does not inherit it. Default: that of the route.
	PayTo string
	// Facilitator is the base URL of the facilitator that verifies and settles payments in
	// this token. Default: those of [Config.Facilitator] and [Config.ExternalFacilitator],
	// which must support the network and the token.
	Facilitator string
}

// acceptTerms is an accepted token, whatever the price.
type acceptTerms struct {
	network     x402.Network
	asset       Asset
	payTo       string            // "" means that of the quote
	facilitator *x402.Facilitator // nil means that of the gate
}

// accept is one token that pays an offer.
type accept struct {
	acceptTerms

	amount  string // base units
	binding string // what a credential in this token is redeemed for
	v1      bool   // offered in version 1
	two     x402.Requirements
	one     x402.RequirementsV1
	upto    *x402.Requirements // at most the amount, in version 2; nil if that is not offered
	asksTwo any                // two, as a facilitator gets it
	asksOne any                // one, as a facilitator gets it
	request string             // of the Payment scheme
	issuer  *mpp.Issuer
}

// newAccept encodes an accepted token of an offer.
func newAccept(t terms, each acceptTerms, o *offer, payTo, description string, outputV1 json.RawMessage) (*accept, error) {
	if each.payTo != "" {
		payTo = each.payTo
	}
	a := &accept{acceptTerms: each, amount: baseUnits(o.micros, each.asset)}
	a.binding = strings.Join([]string{o.resource, a.amount, payTo, a.network.CAIP2, a.asset.Address}, "|")
	seconds := int64(t.route.ChallengeTTL / time.Second)
	var err error
	a.one, err = x402.RequirementsV1{
		Scheme: x402.SchemeExact, Network: a.network.V1, MaxAmountRequired: a.amount, Asset: a.asset.Address, PayTo: payTo,
		Resource: o.resource, Description: description, MimeType: t.route.MimeType, OutputSchema: outputV1,
		MaxTimeoutSeconds: seconds, Extra: map[string]any{x402.ExtraName: a.asset.Name, x402.ExtraVersion: a.asset.Version},
	}.Encoded()
	if err != nil {
		return nil, field("Discovery", err)
	}
	a.two, err = x402.Requirements{
		Scheme: x402.SchemeExact, Network: a.network.CAIP2, Amount: a.amount, Asset: a.asset.Address, PayTo: payTo,
		MaxTimeoutSeconds: seconds,
		Extra:             map[string]any{x402.ExtraName: a.asset.Name, x402.ExtraVersion: a.asset.Version, x402.ExtraPaymentFlow: x402.FlowUpfront},
	}.Encoded()
	if err != nil {
		return nil, field("Discovery", err)
	}
	a.asksOne, a.asksTwo = a.one, a.two
	return a, nil
}

// encodeMPP prepares the challenge of the Payment scheme. Only the first of an offer has the
// schemas, since every challenge is a header of the same response.
func (a *accept) encodeMPP(t terms, realm, description string, first bool) error {
	req := mpp.ChargeRequest{
		Amount: a.amount, Currency: a.asset.Address, Recipient: a.two.PayTo, Description: description,
		MethodDetails: mpp.MethodDetails{
			ChainID: a.network.ChainID, CredentialTypes: []string{mpp.CredentialAuthorization}, Decimals: a.asset.Decimals,
		},
	}
	if d := t.route.Discovery; d != nil && first {
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
	if a.request, err = mpp.EncodeJSON(req); err != nil {
		return field("Discovery", err)
	}
	a.issuer, err = mpp.NewIssuer(t.signer, mpp.Challenge{
		Realm: realm, Method: mpp.MethodEVM, Intent: mpp.IntentCharge, Request: a.request, Description: description,
	})
	if err != nil {
		return field("Resource", err)
	}
	if n := len(a.issuer.Issue(time.Time{}).Header); n > maxHeader {
		return field("Discovery", fmt.Errorf("makes WWW-Authenticate %d bytes long, more than %d: %w", n, maxHeader, errHeaderTooLong))
	}
	return nil
}

// withAccepts returns the terms with the additional tokens of a route.
func (s *shared) withAccepts(t terms, list []Accept) (terms, error) {
	t.accepts = s.accepts[:1:1]
	for i, each := range list {
		a, err := s.newAcceptTerms(each)
		if err != nil {
			return t, field(fmt.Sprintf("Accepts[%d]", i), err)
		}
		for _, other := range t.accepts {
			if other.network == a.network && other.asset.Address == a.asset.Address {
				return t, field(fmt.Sprintf("Accepts[%d]", i), fmt.Errorf("repeats %s on %s", a.asset.Address, a.network.CAIP2))
			}
		}
		t.accepts = append(t.accepts, a)
	}
	return t, nil
}

func (s *shared) newAcceptTerms(c Accept) (a acceptTerms, err error) {
	a.network, a.payTo = s.accepts[0].network, c.PayTo
	if c.Network != "" {
		if a.network, err = x402.ParseNetwork(c.Network); err != nil {
			return a, field("Network", err)
		}
	}
	if a.asset, err = newAsset(c.Asset, a.network); err != nil {
		return a, field("Asset", err)
	}
	if c.PayTo != "" {
		if err = checkAddress(c.PayTo); err != nil {
			return a, field("PayTo", err)
		}
	}
	if c.Facilitator == "" {
		return a, nil
	}
	if err = checkURL(c.Facilitator, s.testMode, false); err != nil {
		return a, field("Facilitator", err)
	}
	if a.facilitator, err = s.newFacilitator(c.Facilitator); err != nil {
		return a, field("Facilitator", err)
	}
	return a, nil
}

func newAsset(a *Asset, network x402.Network) (Asset, error) {
	if a == nil {
		known, ok := x402.USDC(network.ChainID)
		if !ok {
			return Asset{}, fmt.Errorf("is required: no USDC is known on %s", network.CAIP2)
		}
		return known, nil
	}
	out := *a
	if out.Decimals == 0 {
		out.Decimals = 6
	}
	if err := checkAddress(out.Address); err != nil {
		return out, field("Address", err)
	}
	if out.Name == "" || out.Version == "" {
		return out, errors.New("want Name and Version of its EIP-712 domain")
	}
	if out.Decimals < 6 || out.Decimals > 18 {
		return out, field("Decimals", errors.New("want 6 to 18"))
	}
	return out, nil
}

// baseUnits returns an amount in base units of a token.
func baseUnits(micros int64, a Asset) string {
	if micros == 0 {
		return "0"
	}
	return fmt.Sprintf("%d%s", micros, strings.Repeat("0", a.Decimals-6))
}

// microsOf returns an amount of base units in micro-dollars, rounded down and clamped to the
// largest int64.
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
