package ledger

import (
	"time"

	"github.com/paywarrant/paywarrant/internal/httpjson"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/webhook"
)

// recordEvent appends an event about m to the effects, and counts it in m.
func recordEvent(e *Effects, m *Mandate, merchantID string, t webhook.Type, data any, now time.Time) {
	m.EventSeq++
	e.Insert.Events = append(e.Insert.Events, Event{
		ID: id.New(id.Event, now), MandateID: m.ID, Seq: m.EventSeq, MerchantID: merchantID,
		Type: t, Data: string(httpjson.Marshal(data)), CreatedAt: now,
	})
}

func mandateData(m *Mandate) webhook.Mandate {
	rails := make([]string, len(m.Terms.Rails))
	for i, r := range m.Terms.Rails {
		rails[i] = string(r)
	}
	return webhook.Mandate{
		MandateID: m.ID, Status: string(m.Status), RevokedBy: string(m.RevokedBy),
		MaxPerTxCents:        int64(m.Terms.MaxPerTx.CentsDown()),
		MaxMonthlySpendCents: int64(m.Terms.MaxMonthly.CentsDown()),
		MaxDailySpendCents:   int64(m.Terms.MaxDaily.CentsDown()), MaxTotalSpendCents: int64(m.Terms.MaxTotal.CentsDown()),
		MaxPaymentsPerDay: m.Terms.MaxPaymentsPerDay, MaxMonthlyPerPayeeCents: int64(m.Terms.MaxMonthlyPerPayee.CentsDown()),
		Rails: rails, ExpiresAt: m.Terms.ExpiresAt,
	}
}

// refundData is the data of a refund's event: the charge's, and the refund.
func refundData(c *Charge, r *Refund) webhook.Payment {
	p := paymentData(c)
	p.Refund = &webhook.Refund{
		ID: r.ID, Status: string(r.Status), AmountCents: int64(r.Amount.CentsUp()), AmountMicros: int64(r.Amount),
		Reason: r.Reason, FailureReason: string(r.FailureReason), TxHash: r.TxHash,
	}
	return p
}

func paymentData(c *Charge) webhook.Payment {
	p := webhook.Payment{
		TransactionID: c.ID, MandateID: c.MandateID, Source: string(c.Source), Payer: c.Payer(), Rail: string(c.Rail), Status: string(c.Status),
		AmountCents: int64(c.Amount.CentsUp()), AmountMicros: int64(c.Amount),
		TxHash: c.TxHash, FailureReason: string(c.FailureReason), AuthorizedMicros: int64(c.Authorized), TabID: c.TabID,
	}
	if c.Direct() {
		p.MandateID = ""
	}
	if c.Status == ChargeAuthorized && c.TabID == "" {
		p.AuthorizedUntil = &c.AuthorizedUntil
	}
	return p
}
