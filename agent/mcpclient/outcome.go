package mcpclient

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/paywarrant/paywarrant/internal/mcppay"
)

// outcome returns the status and the body that a result stands for, and sets the headers of a 402.
// Below 400 the result is what was paid for.
func outcome(h http.Header, result *mcp.CallToolResult) (status int, body []byte) {
	switch {
	case result.InputRequests != nil: // the tool asks something before it does its work
		return http.StatusPreconditionRequired, nil
	case !result.IsError:
		return http.StatusOK, nil
	}
	if body = required(h, result); body != nil {
		return http.StatusPaymentRequired, body
	}
	status, body = mcppay.ReadRefusal(result.Meta[mcppay.Refusal])
	if status == 0 || status == http.StatusPaymentRequired { // a 402 has a price
		return http.StatusInternalServerError, nil
	}
	return status, body
}

// reason returns why a payment was refused, from the data of an error of the Payment scheme.
func reason(data json.RawMessage) []byte {
	var said map[string]json.RawMessage
	if json.Unmarshal(data, &said) != nil {
		return nil
	}
	if _, body := mcppay.ReadRefusal(said[mcppay.Refusal]); body != nil {
		return body
	}
	return said["problem"] // of other servers
}

// required sets the headers of a 402 for a result that asks for a payment, and returns its body;
// nil if the result asks for none.
func required(h http.Header, result *mcp.CallToolResult) []byte {
	asked := paymentRequired(result)
	challenges, scheme := result.Meta[mcppay.Required]
	if asked == nil && !scheme {
		return nil
	}
	if asked != nil {
		mcppay.SetPaymentRequired(h, asked)
	}
	if scheme {
		mcppay.SetChallenges(h, challenges)
	}
	if offer, err := json.Marshal(result.Meta[mcppay.Offer]); err == nil && string(offer) != "null" {
		return offer
	}
	return []byte("{}")
}

// paymentRequired returns x402's PaymentRequired of a result: its structured content, or its
// first text, with or without the wrapper "x402/error".
func paymentRequired(result *mcp.CallToolResult) json.RawMessage {
	var candidates []json.RawMessage
	if data, err := json.Marshal(result.StructuredContent); err == nil {
		candidates = append(candidates, data)
	}
	if len(result.Content) > 0 {
		if text, ok := result.Content[0].(*mcp.TextContent); ok && strings.HasPrefix(strings.TrimSpace(text.Text), "{") {
			candidates = append(candidates, json.RawMessage(text.Text))
		}
	}
	for _, data := range candidates {
		var found struct {
			X402Version int             `json:"x402Version"`
			Accepts     json.RawMessage `json:"accepts"`
			Wrapped     struct {
				Data json.RawMessage `json:"data"`
			} `json:"x402/error"`
		}
		if json.Unmarshal(data, &found) != nil {
			continue
		}
		if found.Accepts != nil && found.X402Version > 0 {
			return data
		}
		if found.Wrapped.Data != nil {
			return found.Wrapped.Data
		}
	}
	return nil
}
