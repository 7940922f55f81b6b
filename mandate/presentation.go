package mandate

import (
	"time"

	"github.com/paywarrant/paywarrant/internal/sdjwt"
	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// Expect is what a presentation must have been made for. All fields without a stated
// default are required.
type Expect struct {
	// Audience is the origin of the resource.
	Audience string
	// Nonce is the id of the challenge that the presentation answers.
	Nonce string
	// AllowUnbound also accepts a mandate without a key binding, and treats an empty
	// Audience or Nonce as any. An existing binding is verified. Default: false.
	AllowUnbound bool
	// AllowStale also accepts a binding that is too old, and reports it in
	// [Presentation.Stale]. It is meant for replaying a result that was settled before.
	// Default: false.
	AllowStale bool
	// IgnoreTransaction skips transaction_data. Default: false.
	IgnoreTransaction bool
}

// TransactionData is the payment that a presentation is bound to.
type TransactionData struct {
	// AmountMicros is the amount in millionths of a US dollar.
	AmountMicros int64
	// PayTo is the address or id of the payee.
	PayTo string
	// Network is the chain, or another name for the means of payment.
	Network string
	// Resource is the URL that is paid for.
	Resource string
}

// Presentation is a mandate and its key binding.
type Presentation struct {
	// Mandate is the verified mandate.
	Mandate *Mandate
	// Transaction is the payment that the presentation is bound to. It is nil if [Expect]
	// allows no binding or ignores transactions. The caller must compare it with the
	// requested payment.
	Transaction *TransactionData
	// Audience is the binding's aud. It is empty without a binding.
	Audience string
	// Nonce is the binding's nonce. It is empty without a binding.
	Nonce string
	// IssuedAt is the binding's iat. It is zero without a binding.
	IssuedAt time.Time
	// ExpiresAt is the binding's exp. It is zero if the binding has none.
	ExpiresAt time.Time
	// Stale reports that the binding is too old, which [Expect] allowed. It must not be
	// used for a new payment.
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

// bind verifies the key binding (rules 30 to 34) and copies its claims to p.
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

// readTransaction reads exactly four members: an unknown member could mean that the
// holder agreed to something else.
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
