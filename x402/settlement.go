package x402

import (
	"encoding/base64"
	"strconv"

	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// Settlement is the outcome of a payment: the header PAYMENT-RESPONSE (v2) or
// X-PAYMENT-RESPONSE (v1), and a facilitator's response to settle.
type Settlement struct {
	// Success reports whether the money moved.
	Success bool `json:"success"`
	// ErrorReason is the code of a failed settlement.
	ErrorReason Reason `json:"errorReason,omitempty"`
	// ErrorMessage explains a failed settlement to people. Optional.
	ErrorMessage string `json:"errorMessage,omitempty"`
	// Transaction is the hash of the transfer. Empty if the settlement failed.
	Transaction string `json:"transaction"`
	// Network is the name of the network in the version of the payment.
	Network string `json:"network"`
	// Payer is the payer's address. May be empty.
	Payer string `json:"payer,omitempty"`
	// Amount is what was settled of a payment of the scheme upto, in base units. Zero means
	// that nothing was, and that nothing will be. Empty with other schemes.
	Amount string `json:"amount,omitempty"`
	// Metered is set if the payment is for what a request used. Then Success means that the
	// request owes nothing more: Transaction is empty if nothing was charged.
	Metered *Metered `json:"metered,omitempty"`

	// Replayed reports whether the facilitator had settled this authorization before and
	// returned the first result again (its Idempotency-Replayed header). It is not part
	// of the JSON.
	Replayed bool `json:"-"`
}

// Header returns the outcome as a header, like [EncodeHeader].
func (s Settlement) Header() string {
	b := make([]byte, 0, 256)
	b = strconv.AppendBool(append(b, `{"success":`...), s.Success)
	member := func(name, value string, always bool) {
		if value != "" || always {
			b = appendText(append(append(append(b, `,"`...), name...), `":`...), value)
		}
	}
	member("errorReason", string(s.ErrorReason), false)
	member("errorMessage", s.ErrorMessage, false)
	member("transaction", s.Transaction, true)
	member("network", s.Network, true)
	member("payer", s.Payer, false)
	member("amount", s.Amount, false)
	return base64.StdEncoding.EncodeToString(append(appendMetered(b, s.Metered), '}'))
}

// appendText appends a JSON string. Hashes, addresses and names need no escaping.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return ijson.AppendString(b, s)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// DecodeSettlement decodes a PAYMENT-RESPONSE or X-PAYMENT-RESPONSE header. It returns
// a [*DecodeError] if the header is malformed.
func DecodeSettlement(header string) (Settlement, error) {
	o, err := decodeHeader(header, MaxSettlementHeader)
	if err != nil {
		return Settlement{}, err
	}
	return decodeSettlement(o)
}

func decodeSettlement(o *object) (s Settlement, err error) {
	if s.Success, err = o.boolean("success"); err != nil {
		return s, err
	}
	reason, err := o.optionalText("errorReason")
	if err != nil {
		return s, err
	}
	s.ErrorReason = Reason(reason)
	for _, f := range []struct {
		name string
		to   *string
	}{
		{"errorMessage", &s.ErrorMessage},
		{"transaction", &s.Transaction},
		{"network", &s.Network},
		{"payer", &s.Payer},
		{"amount", &s.Amount},
	} {
		if *f.to, err = o.optionalText(f.name); err != nil {
			return s, err
		}
	}
	s.Metered = decodeMetered(o)
	return s, nil
}
