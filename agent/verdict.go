package agent

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/paywarrant/paywarrant/x402"
)

// verdict is what a response reveals about the credential that was sent.
type verdict int

const (
	// accepted: any response but 402, and but a 409 because the credential was used before.
	accepted verdict = iota
	// refused: a 402 that definitely moved no money.
	refused
	// spent: a 402 or 409 because the credential was used before.
	spent
	// open: a 402 after which the payment may still happen, or has happened.
	open
)

// judge returns the verdict of a response, and the seller's reason for a 402.
func judge(resp *http.Response) (verdict, string) {
	if resp.StatusCode != http.StatusPaymentRequired && resp.StatusCode != http.StatusConflict {
		return accepted, ""
	}
	reasons, settled := refusalReasons(resp)
	for _, reason := range reasons {
		if slices.Contains([]string{"already_redeemed", "duplicate_settlement", "nonce_already_used", otherPayment}, reason) {
			return spent, reason
		}
	}
	if resp.StatusCode != http.StatusPaymentRequired {
		return accepted, ""
	}
	if confirms(resp.Header) {
		return open, "the seller reports a payment and asks for another"
	}
	for _, reason := range reasons {
		for _, part := range []string{"pending", "unexpected", "timed_out", "timeout", "in_use", "in_progress"} {
			if strings.Contains(reason, part) {
				return open, reason
			}
		}
	}
	if len(reasons) == 0 {
		reasons = []string{"402 again"}
	}
	if settled {
		return open, reasons[0]
	}
	return refused, reasons[0]
}

// refusalReasons returns the reasons that a 402 gives: in a settlement, in the code of
// Paywarrant's gate, and in the challenges. Settled reports whether a settlement was
// attempted whose outcome is unclear.
func refusalReasons(resp *http.Response) (reasons []string, settled bool) {
	for _, name := range []string{x402.HeaderPaymentResponse, x402.HeaderPaymentResponseV1} {
		if s, err := x402.DecodeSettlement(resp.Header.Get(name)); err == nil {
			settled = settled || s.Transaction != "" || s.ErrorReason == ""
			reasons = append(reasons, string(s.ErrorReason))
		}
	}
	head, err := peek(resp)
	var body struct {
		Code  string `json:"code"`
		Error string `json:"error"`
		Type  string `json:"type"`
	}
	if err == nil && json.Unmarshal(head, &body) == nil {
		reasons = append(reasons, body.Code, body.Error, body.Type)
	}
	if two, err := x402.DecodePaymentRequired(resp.Header.Get(x402.HeaderPaymentRequired)); err == nil {
		reasons = append(reasons, two.Error)
	}
	for i, reason := range reasons {
		reasons[i] = plain(reason)
	}
	return slices.DeleteFunc(reasons, func(s string) bool { return s == "" }), settled
}
