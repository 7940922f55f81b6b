package mandate

import (
	"slices"
	"time"
)

// Rail is a way for money to move, as a mandate names its instruments.
type Rail string

// The rails there are.
const (
	// FiatRail is a card.
	FiatRail Rail = "fiatrail"
	// ChainRail is a stablecoin on chain.
	ChainRail Rail = "chainrail"
)

// instrumentType is AP2's type of the instrument; empty for what is no rail.
func (r Rail) instrumentType() string {
	switch r {
	case FiatRail:
		return "card"
	case ChainRail:
		return "stablecoin"
	default:
		return ""
	}
}

// Limits are what may be spent, in US cents, both at least 1 and the first not
// above the second. The month is the calendar month in UTC.
type Limits struct {
	MaxPerTxCents   int64
	MaxMonthlyCents int64
}

// Payee is somebody who may be paid.
type Payee struct {
	// ID is the merchant's id; "*" allows anybody.
	ID string
	// Name is for people to read.
	Name string
	// Website may be empty.
	Website string
}

// anyID is the id of the payee that stands for everybody.
const anyID = "*"

// AnyPayee is the one payee of a mandate that may pay anybody.
func AnyPayee() Payee { return Payee{ID: anyID, Name: "Any merchant"} }

// StatusRef says where a revocation will be told: an index in a status list.
type StatusRef struct {
	Index int64
	URI   string
}

// Mandate is what a verified token says. It belongs to the caller: changing it
// changes nothing else.
type Mandate struct {
	// ID is the identity: del_….
	ID string
	// Issuer is the address of the service that keeps the mandate.
	Issuer string
	Limits Limits
	// Payees are those whom the token shows; others may have been withheld.
	Payees []Payee
	Rails  []Rail
	// IssuedAt and ExpiresAt are whole seconds in UTC; NotBefore is zero where the mandate has none.
	IssuedAt, ExpiresAt, NotBefore time.Time
	// SessionKey is the key that presentations of the mandate are signed with.
	SessionKey PublicKey
	// RequiresBinding tells that the token is good only with a key binding.
	RequiresBinding bool
	// Status is nil where the mandate has no place in a status list.
	Status *StatusRef
	// Bound tells that the text carried a key binding, which was verified.
	Bound bool
	// KeyID is the thumbprint of the issuer's key.
	KeyID string
}

// AllowsAnyPayee tells whether anybody may be paid.
func (m *Mandate) AllowsAnyPayee() bool { return m.AllowsPayee(anyID) }

// AllowsPayee tells whether the payee with that id may be paid.
func (m *Mandate) AllowsPayee(id string) bool {
	return id != "" && slices.ContainsFunc(m.Payees, func(p Payee) bool { return p.ID == id || p.ID == anyID })
}

// AllowsRail tells whether the mandate has the rail.
func (m *Mandate) AllowsRail(r Rail) bool { return slices.Contains(m.Rails, r) }

// clone is a copy that shares nothing that can be changed. Small ones take one allocation.
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
