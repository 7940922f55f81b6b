package mpp

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// StatusSuccess is the only status of a receipt; failures are problems.
const StatusSuccess = "success"

// Receipt tells that a payment was made: the Payment-Receipt header.
type Receipt struct {
	Method string `json:"method"`
	// Reference is the method's own: a transaction hash.
	Reference string    `json:"reference"`
	Status    string    `json:"status"`
	Timestamp time.Time `json:"timestamp"`
	// ChallengeID is the challenge that was paid. Optional.
	ChallengeID string `json:"challengeId,omitempty"`
	// Extra holds the members that a method adds. Only from [ParseReceipt].
	Extra map[string]json.RawMessage `json:"-"`
}

// Header writes the receipt. An error where a required member is empty.
func (r Receipt) Header() (string, error) {
	if r.Method == "" || r.Reference == "" || r.Status != StatusSuccess || r.Timestamp.IsZero() {
		return "", errors.New("encode receipt: method, reference, status success and timestamp are required")
	}
	r.Timestamp = r.Timestamp.UTC().Truncate(time.Millisecond)
	data, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encode receipt: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(data), nil
}

// DecodeToken reads what the scheme sends as base64url of a JSON object, such as
// a receipt or a session event, and gives the JSON as it came, so that numbers
// beyond 2^53 are not rounded. An error where it is over [MaxReceiptHeader] or
// no strict JSON object.
func DecodeToken(value string) (json.RawMessage, error) {
	if len(value) > MaxReceiptHeader {
		return nil, fmt.Errorf("over %d bytes", MaxReceiptHeader)
	}
	data, err := DecodeBase64(value)
	if err != nil {
		return nil, err
	}
	if _, err := members(data); err != nil {
		return nil, err
	}
	return data, nil
}

// ParseReceipt reads a Payment-Receipt. An error where it is malformed or lacks
// a required member.
func ParseReceipt(value string) (r Receipt, err error) {
	data, err := DecodeToken(value)
	if err != nil {
		return r, fmt.Errorf("parse receipt: %w", err)
	}
	all, err := members(data)
	if err != nil {
		return r, fmt.Errorf("parse receipt: %w", err)
	}
	stamp := ""
	for _, f := range []param{
		{"method", &r.Method},
		{"reference", &r.Reference},
		{"status", &r.Status},
		{"challengeId", &r.ChallengeID},
		{"timestamp", &stamp},
	} {
		if *f.value, err = text(all, f.name); err != nil {
			return r, fmt.Errorf("parse receipt: %w", err)
		}
	}
	if r.Timestamp, err = time.Parse(time.RFC3339, stamp); err != nil {
		return r, errors.New("parse receipt: timestamp is not a time of RFC 3339")
	}
	if r.Method == "" || r.Reference == "" || r.Status != StatusSuccess {
		return r, errors.New("parse receipt: want method, reference and status success")
	}
	r.Extra = extra(all)
	return r, nil
}

// extra is what a receipt has beyond the members of [Receipt].
func extra(receipt *ijson.Value) map[string]json.RawMessage {
	var out map[string]json.RawMessage
	for m := range receipt.Children() {
		switch m.Name() {
		case "method", "reference", "status", "challengeId", "timestamp":
			continue
		}
		if out == nil {
			out = map[string]json.RawMessage{}
		}
		out[m.Name()] = m.AppendJSON(nil)
	}
	return out
}
