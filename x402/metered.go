package x402

import "encoding/json"

// Metered is the receipt of a request that paid for what it used: the member metered of a
// [Settlement]. It is our own; other clients ignore it.
type Metered struct {
	// TransactionID is the service's id of the payment (txn_…). Empty if a wallet paid by the
	// scheme upto.
	TransactionID string `json:"transactionId,omitempty"`
	// AuthorizedMicros is the most that the request could cost, in millionths of a US dollar.
	AuthorizedMicros int64 `json:"authorizedMicros"`
	// MeteredMicros is what the request used.
	MeteredMicros int64 `json:"meteredMicros"`
	// CapturedMicros is what was charged. It differs from MeteredMicros if a card paid: that
	// pays whole cents, rounded down, and at least one. Zero if nothing was charged yet.
	CapturedMicros int64 `json:"capturedMicros"`
	// Usage describes what was used. Optional.
	Usage *Usage `json:"usage,omitempty"`
}

// Usage is a number of units and the price of one.
type Usage struct {
	// Unit names what was counted, such as "token".
	Unit string `json:"unit"`
	// Quantity is how many units were used.
	Quantity int64 `json:"quantity"`
	// UnitPriceMicros is the price of one unit, in millionths of a US dollar.
	UnitPriceMicros int64 `json:"unitPriceMicros"`
}

// appendMetered appends the member metered.
func appendMetered(b []byte, m *Metered) []byte {
	if m == nil {
		return b
	}
	text, err := json.Marshal(m)
	if err != nil { // cannot happen: strings and integers encode
		return b
	}
	return append(append(b, `,"metered":`...), text...)
}

// decodeMetered returns the optional member metered, or nil if it is not of this form: other
// servers may use the name for something else.
func decodeMetered(o *object) *Metered {
	var m *Metered
	if o.decode("metered", &m) != nil || m == nil {
		return nil
	}
	least := min(m.AuthorizedMicros, m.MeteredMicros, m.CapturedMicros)
	if u := m.Usage; u != nil {
		least = min(least, u.Quantity, u.UnitPriceMicros)
	}
	if least < 0 || m.AuthorizedMicros == 0 {
		return nil
	}
	return m
}
