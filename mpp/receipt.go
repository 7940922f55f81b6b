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

// Receipt confirms a payment: the Payment-Receipt header.
type Receipt struct {
	// Method is the payment method, such as [MethodEVM].
	Method string `json:"method"`
	// Reference identifies the payment within the method: a transaction hash.
	Reference string `json:"reference"`
	// Status is [StatusSuccess].
	Status string `json:"status"`
	// Timestamp is when the payment was made.
	Timestamp time.Time `json:"timestamp"`
	// ChallengeID is the id of the challenge that was paid. Optional.
	ChallengeID string `json:"challengeId,omitempty"`
	// Extra holds the members that a method adds. Only [ParseReceipt] sets it.
	Extra map[string]json.RawMessage `json:"-"`
}

// Header returns the receipt as a header value. It returns an error if a required field is
// empty.
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

// DecodeToken decodes base64url of a JSON object, such as a receipt or a session event,
// and returns the JSON unchanged, so that numbers above 2^53 are not rounded. It returns
// an error if value is longer than [MaxReceiptHeader] or not a strict JSON object.
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

// ParseReceipt parses the value of a Payment-Receipt header. It returns an error if the
// value is malformed or lacks a required member.
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

// extra returns the members of a receipt that [Receipt] has no fields for.
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
