package agent

import (
	"math"
	"math/big"
	"strings"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// Way is a way to pay.
type Way string

// The ways, in the order in which equals are preferred.
const (
	Bundle  Way = "bundle"  // a credit that was bought before
	Mandate Way = "mandate" // an intent mandate, bound to the payment
	X402    Way = "x402"    // a signed transfer, version 2
	X402V1  Way = "x402-v1" // a signed transfer, version 1
	MPP     Way = "mpp"     // a signed transfer, in the Payment scheme
)

func allWays() []Way { return []Way{Bundle, Mandate, X402, X402V1, MPP} }

// Offer is one way to pay that a 402 offers.
type Offer struct {
	Way Way
	// AmountMicros is the price in millionths of a US dollar; 0 for a bundle,
	// which takes a credit.
	AmountMicros int64
	// PayTo is the wallet that is paid, Network the chain's CAIP-2 name; empty for a bundle.
	PayTo, Network string
	// Usable tells that the configuration has what this way needs.
	Usable bool

	chainID   int64
	resource  string
	required  x402.PaymentRequired // X402, whose way is accepts
	accepts   x402.Requirements
	acceptsV1 x402.RequirementsV1
	challenge mpp.Challenge
	asset     x402.Asset
}

// Price is the price as a decimal of dollars.
func (o Offer) Price() string { return money.Micros(o.AmountMicros).Decimal() }

// Purchase is a payment that is about to be made.
type Purchase struct {
	Offer

	Method string
	// URL is what is asked for, without query; Description is what the seller
	// calls it, cut to what can be read, and not to be trusted.
	URL, Description string
	// Offers are all the ways that were offered and understood.
	Offers []Offer
}

// toMicros is an amount in base units in millionths of a dollar, rounded up. What
// is beyond any price is the largest number there is.
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

// maxDescription is how much of a seller's text is passed on, in bytes.
const maxDescription = 200

// plain makes a seller's text safe to print.
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
