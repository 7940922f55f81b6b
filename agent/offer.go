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
	// Resource is the address that the seller says is paid for, without query, if
	// it is not the address asked. Servers behind proxies often name another. A
	// transfer pays the address asked all the same; a mandate is bound to it and
	// pays only for addresses of the origin asked.
	Resource string
	// Usable reports whether the configuration has what this way needs. If not, a
	// [Dropped] has the reason.
	Usable bool

	chainID   int64
	resource  string               // as the seller spells it
	required  x402.PaymentRequired // X402, whose way is accepts
	accepts   x402.Requirements
	acceptsV1 x402.RequirementsV1
	challenge mpp.Challenge
	asset     x402.Asset
}

// Price is the price as a decimal of dollars.
func (o Offer) Price() string { return money.Micros(o.AmountMicros).Decimal() }

// Dropped is an offer that was not used, and why.
type Dropped struct {
	Way Way
	// Network is the chain's name; empty if there is none or it cannot be read.
	Network string
	// Reason is for people.
	Reason string
}

// String returns the way, the network and the reason.
func (d Dropped) String() string {
	if d.Network != "" {
		return string(d.Way) + " on " + d.Network + ": " + d.Reason
	}
	return string(d.Way) + ": " + d.Reason
}

// Purchase is a payment that is about to be made.
type Purchase struct {
	Offer

	Method string
	// URL is the address asked, without query; Description is what the seller calls
	// it, cut to what can be read, and not to be trusted.
	URL, Description string
	// Offers are all the ways that were offered and understood.
	Offers []Offer
	// Dropped are the offers that are not used, each with its reason.
	Dropped []Dropped
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

// plain returns a seller's text without what is unsafe to print.
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
