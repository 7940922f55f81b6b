package mandate

import (
	"slices"
	"time"
)

// Rail is a network that money moves on, as the mandate's instruments name it.
type Rail string

// The rails.
const (
	// CardRail is the card rail.
	CardRail Rail = "fiatrail"
	// ChainRail is the chain rail: a stablecoin on chain.
	ChainRail Rail = "chainrail"
)

// instrumentType returns AP2's type of the instrument, or "" for an unknown rail.
func (r Rail) instrumentType() string {
	switch r {
	case CardRail:
		return "card"
	case ChainRail:
		return "stablecoin"
	default:
		return ""
	}
}

// Limits are the spending limits. MaxPerTxCents and MaxMonthlyCents are at least 1, and
// MaxPerTxCents does not exceed MaxMonthlyCents. The other limits are optional: zero means
// that there is none.
type Limits struct {
	// MaxPerTxCents limits one payment, in US cents.
	MaxPerTxCents int64
	// MaxMonthlyCents limits the sum of a calendar month in UTC, in US cents.
	MaxMonthlyCents int64
	// MaxDailyCents limits the sum of a day in UTC, in US cents. Default: no limit.
	MaxDailyCents int64
	// MaxTotalCents limits the sum of all payments, in US cents. Default: no limit.
	MaxTotalCents int64
	// MaxPaymentsPerDay limits the number of payments of a day in UTC. Default: no limit.
	MaxPaymentsPerDay int64
	// MaxMonthlyPerPayeeCents limits the sum that one payee receives in a calendar month in
	// UTC, in US cents. Default: no limit.
	MaxMonthlyPerPayeeCents int64
	// RoundUpRest allows that small payments by card that are left when the mandate ends, and are
	// together below what a card pays, are charged at that minimum, once for each payee.
	RoundUpRest bool
}

// Payee is a merchant that may be paid.
type Payee struct {
	// ID is the merchant's id (mer_…). "*" allows any merchant.
	ID string
	// Name is the merchant's name, for people.
	Name string
	// Website is the merchant's website. It may be empty.
	Website string
}

// anyID is the id of the payee that stands for any merchant.
const anyID = "*"

// AnyPayee returns the single payee of a mandate that may pay any merchant.
func AnyPayee() Payee { return Payee{ID: anyID, Name: "Any merchant"} }

// StatusRef refers to the mandate's entry in a status list.
type StatusRef struct {
	// Index is the index in the list.
	Index int64
	// URI is the address of the list.
	URI string
}

// Mandate is the content of a verified token. The caller may modify it.
type Mandate struct {
	// ID identifies the mandate (del_…).
	ID string
	// Issuer is the URL of the service that issued the mandate.
	Issuer string
	// Limits are the spending limits.
	Limits Limits
	// Payees are the payees that the token discloses. Others may have been withheld.
	Payees []Payee
	// Rails are the rails that the mandate can pay on.
	Rails []Rail
	// IssuedAt is when the mandate was issued, in whole seconds and UTC.
	IssuedAt time.Time
	// ExpiresAt is when the mandate expires, in whole seconds and UTC.
	ExpiresAt time.Time
	// NotBefore is when the mandate becomes valid, in whole seconds and UTC. It is zero if
	// the mandate is valid from the start.
	NotBefore time.Time
	// SessionKey verifies presentations of the mandate.
	SessionKey PublicKey
	// RequiresBinding reports whether the token is valid only with a key binding.
	RequiresBinding bool
	// Status refers to the mandate's status list. It is nil if there is none.
	Status *StatusRef
	// Bound reports whether the token had a key binding, which was verified.
	Bound bool
	// KeyID is the thumbprint of the issuer's key.
	KeyID string
}

// AllowsAnyPayee reports whether the mandate may pay any merchant.
func (m *Mandate) AllowsAnyPayee() bool { return m.AllowsPayee(anyID) }

// AllowsPayee reports whether the mandate may pay the merchant with that id.
func (m *Mandate) AllowsPayee(id string) bool {
	return id != "" && slices.ContainsFunc(m.Payees, func(p Payee) bool { return p.ID == id || p.ID == anyID })
}

// AllowsRail reports whether the mandate can pay on the rail.
func (m *Mandate) AllowsRail(r Rail) bool { return slices.Contains(m.Rails, r) }

// clone returns a deep copy, in one allocation for small mandates.
func (m *Mandate) clone() *Mandate {
	c := &struct {
		Mandate
		status StatusRef
		payees [2]Payee
		rails  [2]Rail
	}{Mandate: *m}
	c.Payees = append(c.payees[:0:len(c.payees)], m.Payees...)
	c.Rails = append(c.rails[:0:len(c.rails)], m.Rails...)
	if m.Status != nil {
		c.status = *m.Status
		c.Status = &c.status
	}
	return &c.Mandate
}
