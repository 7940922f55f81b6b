package x402

import (
	"encoding/base64"
	"strconv"

	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// Settlement is the outcome of a payment: the header PAYMENT-RESPONSE (v2) or
// X-PAYMENT-RESPONSE (v1), and the answer of a facilitator's settle.
type Settlement struct {
	Success     bool   `json:"success"`
	ErrorReason Reason `json:"errorReason,omitempty"`
	// ErrorMessage says it for a person. Optional in v2.
	ErrorMessage string `json:"errorMessage,omitempty"`
	Transaction  string `json:"transaction"` // hash; empty where it failed
	Network      string `json:"network"`
	Payer        string `json:"payer,omitempty"`

	// Replayed: the facilitator had settled this authorization before and gives
	// the first result again (its Idempotency-Replayed header). Not on the wire.
	Replayed bool `json:"-"`
}

// Header writes the outcome as a header, as [EncodeHeader] does.
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
	return base64.StdEncoding.EncodeToString(append(b, '}'))
}

// appendText writes a JSON string. Hashes, addresses and names need no escapes.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return ijson.AppendString(b, s)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// DecodeSettlement reads a PAYMENT-RESPONSE or X-PAYMENT-RESPONSE header. A
// [*DecodeError] where it is malformed.
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
	} {
		if *f.to, err = o.optionalText(f.name); err != nil {
			return s, err
		}
	}
	return s, nil
}
