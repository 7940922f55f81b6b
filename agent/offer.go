package agent

import (
	"math"
	"math/big"
	"strings"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// Method is a payment method.
type Method string

// The payment methods, in the order of preference at equal prices.
const (
	Bundle  Method = "bundle"  // a credit of a bundle that was bought before
	Mandate Method = "mandate" // a mandate that the service binds to the payment
	X402    Method = "x402"    // a signed transfer, x402 version 2
	X402V1  Method = "x402-v1" // a signed transfer, x402 version 1
	MPP     Method = "mpp"     // a signed transfer, Payment scheme
)

func allMethods() []Method { return []Method{Bundle, Mandate, X402, X402V1, MPP} }

// Offer is one payment method that a 402 offers.
type Offer struct {
	// Method is the payment method.
	Method Method
	// AmountMicros is the price in millionths of a US dollar. It is 0 for a bundle, which
	// takes a credit.
	AmountMicros int64
	// PayTo is the wallet address of the payee. It is empty for a bundle.
	PayTo string
	// Network is the CAIP-2 id of the chain. It is empty for a bundle.
	Network string
	// Resource is the address that the seller claims to sell, without its query, if it
	// is not the requested one. Servers behind proxies often name another. A transfer
	// pays for the requested address anyway; a mandate is bound to Resource, which must
	// have the origin of the request.
	Resource string
	// Usable reports whether the configuration has what this method needs. If not, a
	// [Dropped] contains the reason.
	Usable bool

	byService bool // the service pays it from the mandate
	chainID   int64
	resource  string               // as the seller wrote it
	required  x402.PaymentRequired // the 402 that accepts is part of, for X402
	accepts   x402.Requirements
	acceptsV1 x402.RequirementsV1
	challenge mpp.Challenge
	asset     x402.Asset
}

// Price returns the price in dollars, as a decimal.
func (o Offer) Price() string { return money.Micros(o.AmountMicros).Decimal() }

// Dropped is an offer that was not used.
type Dropped struct {
	// Method is the payment method.
	Method Method
	// Network is the CAIP-2 id of the chain. It is empty if it is unknown.
	Network string
	// Reason describes for a person why the offer was not used.
	Reason string
}

// String returns the method, the network and the reason.
func (d Dropped) String() string { return d.offer() + ": " + d.Reason }

// offer returns the method and the network.
func (d Dropped) offer() string {
	if d.Network != "" {
		return string(d.Method) + " on " + d.Network
	}
	return string(d.Method)
}

// Purchase is a payment that is about to be made, for [Config.Approve].
type Purchase struct {
	// Offer is the offer to pay.
	Offer

	// Method is the HTTP method of the request.
	HTTPMethod string
	// URL is the requested address without its query.
	URL string
	// Description is the seller's description, shortened and without control characters.
	// Do not trust it.
	Description string
	// Offers are all offers that were understood.
	Offers []Offer
	// Dropped are the offers that are not used, each with its reason.
	Dropped []Dropped
}

// toMicros converts an amount in base units to millionths of a dollar, rounded up. An
// amount that does not fit becomes the largest int64, which exceeds every limit.
func toMicros(amount string, decimals int) int64 {
	n, ok := new(big.Int).SetString(amount, 10)
	if !ok || !x402.IsAmount(amount) || decimals < 6 || decimals > 36 {
		return math.MaxInt64
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals-6)), nil)
	n.Add(n, unit).Sub(n, big.NewInt(1)).Quo(n, unit)
	if !n.IsInt64() {
		return math.MaxInt64
	}
	return n.Int64()
}

// maxDescription is the maximum length of a seller's text, in bytes.
const maxDescription = 200

// plain removes from a seller's text what is unsafe to print.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) || (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069) {
			return -1
		}
		return r
	}, s)
	if len(s) > maxDescription {
		s = strings.ToValidUTF8(s[:maxDescription], "")
	}
	return s
}
