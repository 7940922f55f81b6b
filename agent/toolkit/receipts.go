package toolkit

import (
	"cmp"
	"context"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/money"
)

// VerifyReceiptIn is a receipt and what it should be for. What is missing is filled in if this
// Kit made the payment.
type VerifyReceiptIn struct {
	// Receipt is the value of an X-PAYMENT-RESPONSE header. Required.
	Receipt string `json:"receipt" jsonschema:"Value of X-PAYMENT-RESPONSE"`
	// Resource is the address that was paid for.
	Resource string `json:"resource,omitempty" jsonschema:"URL that was paid for"`
	// PayTo is the wallet address of the payee.
	PayTo string `json:"payTo,omitempty" jsonschema:"Wallet of the payee"`
	// Amount is the price in dollars, such as "0.01".
	Amount string `json:"amount,omitempty" jsonschema:"Dollars, such as 0.01"`
}

// VerifyReceiptOut is the service's verdict.
type VerifyReceiptOut struct {
	// Valid reports whether the receipt is genuine.
	Valid bool `json:"valid"`
	// Reason is why the receipt is not valid.
	Reason string `json:"reason,omitempty" jsonschema:"Why it is not valid"`
	// Transaction is the transaction hash, or the card processor's payment id.
	Transaction string `json:"transaction,omitempty"`
	// TransactionID is the id of the payment (txn_…).
	TransactionID string `json:"transactionId,omitempty"`
	// Network is the CAIP-2 id of the chain, or "card".
	Network string `json:"network,omitempty"`
	// Payer is the wallet that paid, or the mandate's id.
	Payer string `json:"payer,omitempty"`
	// Amount is the price in dollars, such as "0.01".
	Amount string `json:"amount,omitempty"`
	// Resource is the address that was paid for.
	Resource string `json:"resource,omitempty"`
}

// VerifyReceipt checks a receipt against the service's ledger and the chain.
func (k *Kit) VerifyReceipt(ctx context.Context, in VerifyReceiptIn) (VerifyReceiptOut, error) {
	own := k.paid.find(in.Receipt)
	p := client.ReceiptParams{
		Receipt: in.Receipt, Resource: cmp.Or(in.Resource, own.resource), PayTo: cmp.Or(in.PayTo, own.payTo), Amount: cmp.Or(in.Amount, own.amount),
	}
	if p.Resource == "" || p.PayTo == "" || p.Amount == "" {
		return VerifyReceiptOut{}, invalid("resource", "and payTo and amount are required for a receipt of another payment")
	}
	v, err := k.service.VerifyReceipt(ctx, p)
	if err != nil {
		return VerifyReceiptOut{}, k.explain(err)
	}
	return VerifyReceiptOut{
		Valid: v.Valid, Reason: v.Reason, Transaction: v.Transaction, TransactionID: v.TransactionID, Network: v.Network, Payer: v.Payer,
		Amount: v.Amount, Resource: v.Resource,
	}, nil
}

// dollars returns an amount of micro-dollars as the API spells it.
func dollars(micros int64) string { return money.Micros(micros).Decimal() }
