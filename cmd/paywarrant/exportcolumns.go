package main

import (
	"encoding/json"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// column is a column of a table of rows: its name, and the value of a row, which is a
// string, an int64, a decimal or JSON.
type column[R any] struct {
	name  string
	value func(R) any
}

// The columns of the exports. docs/reference/exports.md describes them: a name never
// changes, and new columns are added at the end.
var (
	transactionColumns = []column[*ledger.Charge]{
		{"transactionId", func(c *ledger.Charge) any { return c.ID }},
		{"status", func(c *ledger.Charge) any { return string(c.Status) }},
		{"mandateId", func(c *ledger.Charge) any { return mandateOf(*c) }},
		{"merchantId", func(c *ledger.Charge) any { return c.MerchantID }},
		{"payTo", func(c *ledger.Charge) any { return c.PayTo }},
		{"rail", func(c *ledger.Charge) any { return string(c.Rail) }},
		{"amountMicros", func(c *ledger.Charge) any { return int64(c.Amount) }},
		{"amount", func(c *ledger.Charge) any { return c.Amount.Decimal() }},
		{"feeMicros", func(c *ledger.Charge) any { return int64(c.Fee) }},
		{"fee", func(c *ledger.Charge) any { return c.Fee.Decimal() }},
		{"authorizedMicros", func(c *ledger.Charge) any { return int64(c.Authorized) }},
		{"authorized", func(c *ledger.Charge) any { return c.Authorized.Decimal() }},
		{"refundedMicros", func(c *ledger.Charge) any { return int64(c.Refunded) }},
		{"refunded", func(c *ledger.Charge) any { return c.Refunded.Decimal() }},
		{"currency", func(c *ledger.Charge) any { return c.Currency }},
		{"description", func(c *ledger.Charge) any { return c.Description }},
		{"metadata", func(c *ledger.Charge) any { return metadataJSON(c.Metadata) }},
		{"resource", func(c *ledger.Charge) any { return c.Resource }},
		{"processorPaymentId", func(c *ledger.Charge) any { return c.ProcessorID }},
		{"txHash", func(c *ledger.Charge) any { return c.TxHash }},
		{"failureReason", func(c *ledger.Charge) any { return string(c.FailureReason) }},
		{"createdAt", func(c *ledger.Charge) any { return exportTime(c.CreatedAt) }},
		{"settledAt", func(c *ledger.Charge) any { return exportTime(c.SettledAt) }},
		{"source", func(c *ledger.Charge) any { return string(c.Source) }},
		{"payer", func(c *ledger.Charge) any { return c.Payer() }},
	}
	postingColumns = []column[postingRow]{
		{"transactionId", func(r postingRow) any { return r.charge.ID }},
		{"posting", func(r postingRow) any { return int64(r.posting.N) }},
		{"mandateId", func(r postingRow) any { return mandateOf(*r.charge) }},
		{"merchantId", func(r postingRow) any { return r.charge.MerchantID }},
		{"rail", func(r postingRow) any { return string(r.charge.Rail) }},
		{"fromAccount", func(r postingRow) any { return r.posting.From }},
		{"toAccount", func(r postingRow) any { return r.posting.To }},
		{"amountMicros", func(r postingRow) any { return int64(r.posting.Amount) }},
		{"amount", func(r postingRow) any { return r.posting.Amount.Decimal() }},
		{"postedAt", func(r postingRow) any { return exportTime(r.posting.At) }},
		{"settledAt", func(r postingRow) any { return exportTime(r.charge.SettledAt) }},
	}
	feeColumns = []column[postingRow]{
		{"transactionId", func(r postingRow) any { return r.charge.ID }},
		{"merchantId", func(r postingRow) any { return r.charge.MerchantID }},
		{"rail", func(r postingRow) any { return string(r.charge.Rail) }},
		{"amountMicros", func(r postingRow) any { return int64(r.charge.Amount) }},
		{"amount", func(r postingRow) any { return r.charge.Amount.Decimal() }},
		{"feeMicros", func(r postingRow) any { return int64(r.posting.Amount) }},
		{"fee", func(r postingRow) any { return r.posting.Amount.Decimal() }},
		{"settledAt", func(r postingRow) any { return exportTime(r.charge.SettledAt) }},
	}
)

// postingRow is a posting with its charge.
type postingRow struct {
	charge  *ledger.Charge
	posting *ledger.Posting
}

// exportTime formats a time in RFC 3339, in UTC and with milliseconds. The zero time is
// empty.
func exportTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

func metadataJSON(m map[string]string) json.RawMessage {
	if len(m) == 0 {
		return json.RawMessage("{}")
	}
	text, _ := json.Marshal(m) // a map of strings
	return text
}
