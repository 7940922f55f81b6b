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
	receiptsKey struct{} // where the receipts of a fetch are collected
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

// Receipt is what was paid for an answer. Transaction, Payer and
// CreditsRemaining are the seller's word.
type Receipt struct {
	Way Way `json:"way"`
	// AmountMicros is the price in millionths of a US dollar; 0 for a bundle.
	AmountMicros int64 `json:"amountMicros"`
	// PayTo was paid on Network: the chain's CAIP-2 name, or "card".
	PayTo   string `json:"payTo,omitempty"`
	Network string `json:"network,omitempty"`
	// Transaction is the hash on chain, or the processor's payment id.
	Transaction string `json:"transaction,omitempty"`
	Payer       string `json:"payer,omitempty"`
	// CreditsRemaining are left of a bundle.
	CreditsRemaining int64 `json:"creditsRemaining,omitempty"`
	// Header is the seller's receipt as it came: the service can verify that of a
	// mandate or of x402.
	Header string `json:"header,omitempty"`
}

// ReceiptFrom returns the receipt of an answer that a [Transport] paid for, or of
// the last one before it in its chain of redirects. It reports false if nothing
// was paid or the seller did not serve. A receipt without Transaction is one that
// the seller left out, or that cannot be read.
func ReceiptFrom(resp *http.Response) (Receipt, bool) {
	for resp != nil && resp.Request != nil {
		if c, ok := resp.Request.Context().Value(paidKey{}).(*credential); ok {
			return receiptOf(resp, c)
		}
		resp = resp.Request.Response
	}
	return Receipt{}, false
}

// receiptOf is the receipt of the answer to one credential.
func receiptOf(resp *http.Response, c *credential) (Receipt, bool) {
	if resp.StatusCode >= http.StatusBadRequest && !told(resp.Header) {
		return Receipt{}, false
	}
	o := c.offer
	r := Receipt{Way: o.Way, AmountMicros: o.AmountMicros, PayTo: o.PayTo, Network: o.Network}
	switch o.Way {
	case Bundle:
		r.Header = resp.Header.Get(HeaderCreditsRemaining)
		r.CreditsRemaining, _ = strconv.ParseInt(r.Header, 10, 64) // 0 if it is missing
	case MPP:
		r.Header = resp.Header.Get(mpp.HeaderReceipt)
		if told, err := mpp.ParseReceipt(r.Header); err == nil {
			r.Transaction = told.Reference
		}
	case X402:
		r.read(resp.Header.Get(x402.HeaderPaymentResponse))
	case X402V1, Mandate:
		r.read(resp.Header.Get(x402.HeaderPaymentResponseV1))
	}
	return r, true
}

func (r *Receipt) read(header string) {
	r.Header = header
	if s, err := x402.DecodeSettlement(header); err == nil && s.Success {
		r.Transaction, r.Payer, r.Network = s.Transaction, s.Payer, s.Network
	}
}

// told reports whether an answer confirms a payment.
func told(h http.Header) bool {
	for _, name := range receiptHeaders() {
		value := h.Get(name)
		if s, err := x402.DecodeSettlement(value); value != "" && (err != nil || s.Success) {
			return true
		}
	}
	return false
}
