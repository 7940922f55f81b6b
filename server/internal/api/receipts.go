package api

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/httpjson"
	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/x402"
)

// verifyReceipt checks an X-PAYMENT-RESPONSE that somebody shows as proof. Anybody
// may ask; only the payee, with its credentials, may redeem.
func (a *API) verifyReceipt(w http.ResponseWriter, r *http.Request) {
	var in client.ReceiptParams
	if err := httpjson.Decode(w, r, &in); err != nil {
		a.fail(w, r, err)
		return
	}
	check, err := receiptCheck(in)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	check.RequestID = httplog.RequestID(r.Context())
	if wait, ok := a.limits.take(w.Header(), strings.ToLower(in.PayTo), settlements); !ok {
		a.fail(w, r, rateLimited(wait))
		return
	}
	if in.Redeem {
		m, err := a.Accounts.Authenticate(r.Context(), r.Header.Get("X-Service-Merchant-Id"), r.Header.Get("X-Service-Api-Key"))
		if err == nil && !strings.EqualFold(m.PayTo, in.PayTo) {
			err = invalid("redeem", "is for the merchant whose wallet payTo is")
		}
		if err != nil {
			a.fail(w, r, err)
			return
		}
	}
	found, err := a.Payments.CheckReceipt(r.Context(), check)
	v := client.ReceiptVerdict{Valid: err == nil && found.Reason == "", Reason: found.Reason}
	if v.Valid {
		v.Transaction, v.Network, v.Payer, v.PayTo = check.Receipt.Transaction, check.Receipt.Network, found.Payer, in.PayTo
		v.Amount, v.Resource, v.TransactionID, v.SettledAt = in.Amount, in.Resource, found.TransactionID, &found.SettledAt
	}
	a.answer(w, r, reply{Body: v}, err)
}

func receiptCheck(in client.ReceiptParams) (payment.ReceiptCheck, error) {
	var c payment.ReceiptCheck
	var err error
	if c.Receipt, err = x402.DecodeSettlement(in.Receipt); err != nil || in.Receipt == "" {
		return c, invalid("receipt", "is required: the value of an X-PAYMENT-RESPONSE header")
	}
	if c.Resource, err = url.Parse(in.Resource); err != nil || c.Resource.Host == "" || len(in.Resource) > maxResource {
		return c, invalid("resource", "is required: the full URL that was paid for, of at most 400 bytes")
	}
	if !wallet.MatchString(in.PayTo) {
		return c, invalid("payTo", "is required: a wallet address (0x and 40 hexadecimal digits)")
	}
	if c.Amount, err = money.ParseDecimal(in.Amount); err != nil || c.Amount <= 0 {
		return c, invalid("amount", `is required: dollars with at most six decimals, such as "0.01"`)
	}
	c.PayTo, c.Text, c.Redeem = in.PayTo, in.Resource, in.Redeem
	return c, nil
}
