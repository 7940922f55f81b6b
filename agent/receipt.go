package agent

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

type (
	paidKey     struct{} // the credential of a paid request
	receiptsKey struct{} // collects the receipts of a fetch
)

// receipts collects the receipts of a chain of redirects.
type receipts struct {
	mu   sync.Mutex
	last *Receipt
}

func (l *receipts) add(r Receipt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = &r
}

func (l *receipts) latest() *Receipt {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Receipt is a payment for a response. Transaction, Payer and CreditsRemaining are only
// the seller's claim.
type Receipt struct {
	// Method is the payment method.
	Method Method `json:"method"`
	// AmountMicros is the price in millionths of a US dollar, or what a metered request paid of
	// it. It is 0 for a bundle.
	AmountMicros int64 `json:"amountMicros"`
	// PayTo is the wallet address of the payee.
	PayTo string `json:"payTo,omitempty"`
	// Network is the CAIP-2 id of the chain, or "card".
	Network string `json:"network,omitempty"`
	// Transaction is the transaction hash on chain, or the card processor's payment id.
	// It is empty if the seller sent no readable receipt.
	Transaction string `json:"transaction,omitempty"`
	// Payer is the wallet that paid, or the mandate's id.
	Payer string `json:"payer,omitempty"`
	// CreditsRemaining is the number of credits left of a bundle.
	CreditsRemaining int64 `json:"creditsRemaining,omitzero"`
	// Header is the seller's receipt as received. The service can verify the receipt of a
	// mandate or of x402.
	Header string `json:"header,omitempty"`
}

// ReceiptFrom returns the receipt of a response that a [Transport] paid for, or of the
// last paid response before it in its chain of redirects. It returns false if nothing was
// paid or if the seller did not serve. The receipt of a metered response that streams is
// complete once the body was read to its end; before that, AmountMicros is the most that the
// request can cost.
func ReceiptFrom(resp *http.Response) (Receipt, bool) {
	for resp != nil && resp.Request != nil {
		if c, ok := resp.Request.Context().Value(paidKey{}).(*credential); ok {
			return receiptOf(resp, c)
		}
		resp = resp.Request.Response
	}
	return Receipt{}, false
}

// receiptOf returns the receipt of the response to one credential.
func receiptOf(resp *http.Response, c *credential) (Receipt, bool) {
	if resp.StatusCode >= http.StatusBadRequest && !confirms(resp.Header) {
		return Receipt{}, false
	}
	return readReceipt(resp, c), true
}

// readReceipt returns the receipt of a payment with the details that a response reports.
func readReceipt(resp *http.Response, c *credential) Receipt {
	o := c.offer
	r := Receipt{Method: o.Method, AmountMicros: o.AmountMicros, PayTo: o.PayTo, Network: o.Network}
	switch o.Method {
	case Bundle:
		r.Header = resp.Header.Get(HeaderCreditsRemaining)
		r.CreditsRemaining, _ = strconv.ParseInt(r.Header, 10, 64) // 0 if it is missing
	case MPP:
		r.Header = resp.Header.Get(mpp.HeaderReceipt)
		if parsed, err := mpp.ParseReceipt(r.Header); err == nil {
			r.Transaction = parsed.Reference
		}
	case X402:
		r.read(resp.Header.Get(x402.HeaderPaymentResponse))
	case X402V1, Mandate:
		header := resp.Header.Get(x402.HeaderPaymentResponseV1)
		if header == "" { // a metered response that streams has its receipt at the end
			header = resp.Trailer.Get(x402.HeaderPaymentResponseV1)
		}
		r.read(header)
	}
	return r
}

func (r *Receipt) read(header string) {
	r.Header = header
	if s, err := x402.DecodeSettlement(header); err == nil && s.Success {
		r.Transaction, r.Payer, r.Network = s.Transaction, s.Payer, s.Network
		if m := s.Metered; m != nil {
			r.AmountMicros = min(r.AmountMicros, m.CapturedMicros)
		}
	}
}

// confirms reports whether a response confirms a payment.
func confirms(h http.Header) bool {
	for _, name := range receiptHeaders() {
		value := h.Get(name)
		if s, err := x402.DecodeSettlement(value); value != "" && (err != nil || s.Success) {
			return true
		}
	}
	return false
}
