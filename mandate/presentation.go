package mandate

import (
	"time"

	"github.com/paywarrant/paywarrant/internal/sdjwt"
	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// Expect is what a presentation must be made for. Everything is required
// unless a field says otherwise.
type Expect struct {
	// Audience is whom it is for: the origin of the resource.
	Audience string
	// Nonce is the id of the challenge that it answers.
	Nonce string
	// AllowUnbound takes a mandate without key binding too, and an empty
	// Audience or Nonce for any value. A binding that was sent is checked.
	AllowUnbound bool
	// AllowStale takes a binding that is too old as well, and says so in
	// [Presentation.Stale]: for whoever settled it before and is asked again.
	AllowStale bool
	// IgnoreTransaction does not read transaction_data, be it there or not.
	IgnoreTransaction bool
}

// TransactionData is the one payment that a presentation is made for.
type TransactionData struct {
	// AmountMicros is in millionths of a US dollar.
	AmountMicros int64
	// PayTo is the address or id that is paid.
	PayTo string
	// Network is the chain, or another name for how it is paid.
	Network string
	// Resource is the URL that is paid for.
	Resource string
}

// Presentation is a mandate with the binding that came with it.
type Presentation struct {
	Mandate *Mandate
	// Transaction is the payment that it is bound to; nil only where [Expect]
	// allows no binding or ignores transactions. Whether it is the payment
	// asked for is checked where it is settled.
	Transaction *TransactionData
	// Audience, Nonce and IssuedAt are the binding's; zero without one.
	Audience, Nonce string
	IssuedAt        time.Time
	// ExpiresAt is the binding's own end, zero where it has none.
	ExpiresAt time.Time
	// Stale: the binding is too old, which [Expect] allows. Nothing new may be paid with it.
	Stale bool
}

func (v *Verifier) binding(m *verified, want Expect, w window) sdjwt.Binding {
	age := v.MaxPresentationAge
	if age <= 0 {
		age = DefaultMaxPresentationAge
	}
	return sdjwt.Binding{
		Key: m.SessionKey.key, Now: w.now, Skew: w.skew, MaxAge: int64(age / time.Second),
		Audience: want.Audience, Nonce: want.Nonce, Lax: want.AllowUnbound,
		AllowStale: want.AllowStale,
	}
}

// bind checks the key binding (rules 30 to 34) and reads it into p.
func (p *Presentation) bind(tok *sdjwt.Token, b sdjwt.Binding, want Expect) error {
	claims, err := tok.VerifyBinding(b)
	if err != nil {
		return wrap(err)
	}
	if !want.IgnoreTransaction {
		t, ok := readTransaction(claims.Get("transaction_data"))
		if !ok {
			return refuse(KBBadTransactionData)
		}
		p.Transaction = t
	}
	p.Mandate.Bound, p.Stale = true, b.Stale(claims)
	p.Audience, _ = claims.Get("aud").Str()
	p.Nonce, _ = claims.Get("nonce").Str()
	iat, _ := date(claims.Get("iat"))
	p.IssuedAt = time.Unix(iat, 0).UTC()
	if exp, ok := date(claims.Get("exp")); ok {
		p.ExpiresAt = time.Unix(exp, 0).UTC()
	}
	return nil
}

// readTransaction reads exactly the four members: one that is not known here
// could mean that the holder agreed to something else.
func readTransaction(v *ijson.Value) (*TransactionData, bool) {
	var t TransactionData
	var ok [4]bool
	t.AmountMicros, ok[0] = v.Get("amount_micros").Int(1, maxSafe)
	t.PayTo, ok[1] = v.Get("pay_to").Str()
	t.Network, ok[2] = v.Get("network").Str()
	t.Resource, ok[3] = v.Get("resource").Str()
	return &t, v.Len() == len(ok) && ok == [4]bool{true, true, true, true} &&
		t.PayTo != "" && t.Network != "" && t.Resource != ""
}
