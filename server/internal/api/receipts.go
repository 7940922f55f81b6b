package api

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/httpjson"
	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/x402"
)

// verifyReceipt checks an X-PAYMENT-RESPONSE that serves as proof of payment. Checking needs
// no credentials; only the payee, with its credentials, may redeem.
func (a *API) verifyReceipt(w http.ResponseWriter, r *http.Request) {
	var in client.ReceiptParams
	c, err := a.receiptAsker(w, r)
	if err == nil {
		err = httpjson.Decode(w, r, &in)
	}
	var check payment.ReceiptCheck
	if err == nil {
		check, err = receiptCheck(in)
	}
	switch {
	case err != nil:
	case in.Redeem && c.Merchant.ID == "":
		_, err = a.authenticate(w, r, client.ScopeCharge)
	case in.Redeem && !strings.EqualFold(c.Merchant.PayTo, in.PayTo):
		err = invalid("redeem", "is for the merchant whose wallet payTo is")
	case in.Redeem:
		err = a.permit(r.Context(), c, client.ScopeCharge)
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	check.RequestID = httplog.RequestID(r.Context())
	found, err := a.Payments.CheckReceipt(r.Context(), check)
	v := client.ReceiptVerdict{Valid: err == nil && found.Reason == "", Reason: found.Reason}
	if v.Valid {
		v.Transaction, v.Network, v.Payer, v.PayTo = check.Receipt.Transaction, check.Receipt.Network, found.Payer, in.PayTo
		v.Amount, v.Resource, v.TransactionID, v.SettledAt = in.Amount, in.Resource, found.TransactionID, &found.SettledAt
	}
	if v.Valid && in.Redeem {
		a.Audit.Record(r.Context(), audit.ReceiptRedeemed, slog.String("merchantId", c.Merchant.ID), slog.String("transaction", v.Transaction))
	}
	a.answer(w, r, reply{Body: v}, err)
}

// receiptAsker counts a check of a receipt against the merchant whose credentials the
// request has, and returns the caller; without credentials, against the client's address.
func (a *API) receiptAsker(w http.ResponseWriter, r *http.Request) (caller, error) {
	if r.Header.Get("X-Service-Api-Key") == "" {
		return caller{}, a.takeAddress(r.Context(), w.Header(), anonymous)
	}
	c, err := a.identify(w, r, anyKey)
	if err != nil {
		return c, err
	}
	if wait, ok := a.limits.take(w.Header(), c.Merchant.ID, settlements); !ok {
		return c, rateLimited(wait)
	}
	return c, nil
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
