package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/x402"
)

// story is the demo: each chapter does something and requires the expected result.
type story struct {
	*printer

	system   *devSystem
	merchant *client.Client
	token    string // the mandate
	charge   client.Charge
	hook     *hook
}

func (d *story) tellAll(ctx context.Context) error {
	d.announce("The service runs, and a merchant has an account",
		fact{"service", d.system.BaseURL}, fact{"merchant", d.system.People.Merchant.ID},
		fact{"its API", d.system.API.BaseURL + " (behind a paywall)"})
	for _, chapter := range []func(context.Context) error{
		d.setUp, d.inspect, d.listenForEvents, d.chargeTwice, d.receiveWebhook, d.beyondLimits, d.payPaywall, d.payByBundle, d.showReceipt, d.revoke, d.payFromWallet, d.chargeByChain, d.giveBack, d.payMetered, d.fallBack, d.check,
	} {
		if err := chapter(ctx); err != nil {
			return err
		}
	}
	return nil
}

// setUp: the merchant asks for a mandate, and a person grants less.
func (d *story) setUp(ctx context.Context) error {
	s, err := d.merchant.CreateSession(ctx, client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 2000})
	if err != nil {
		return err
	}
	d.announce("The merchant asks for a spending mandate",
		fact{"asked for", "$5.00 a payment, $20.00 a month"}, fact{"setup page", s.SetupURL})
	done, err := d.merchant.CompleteTestSession(ctx, s.SessionToken, client.TestCompletion{
		PaymentMethods: []string{"card_visa"}, MaxMonthlySpendCents: 1000,
	})
	if err != nil {
		return err
	}
	d.token = done.Mandate
	d.announce("A person lowers the monthly limit to $10.00, connects a card and confirms",
		fact{"session", string(done.Status)}, fact{"mandate", done.MandateID}, fact{"token", short(d.token, 48)})
	return nil
}

// inspect: anybody can read the mandate, and check it with the public keys alone.
func (d *story) inspect(ctx context.Context) error {
	v := mandate.Verifier{
		Issuer: d.system.BaseURL, Keys: mandate.RemoteKeys(d.system.BaseURL + "/.well-known/jwks.json"),
	}
	m, err := v.Verify(ctx, d.token)
	if err != nil {
		return err
	}
	var payees, rails []string
	for _, p := range m.Payees {
		payees = append(payees, p.Name+" ("+p.ID+")")
	}
	for _, r := range m.Rails {
		rails = append(rails, string(r))
	}
	d.announce("The mandate, decoded and verified offline against the public keys",
		fact{"one payment", dollars(m.Limits.MaxPerTxCents)}, fact{"a month", dollars(m.Limits.MaxMonthlyCents)},
		fact{"payees", strings.Join(payees, ", ")}, fact{"rails", strings.Join(rails, ", ")},
		fact{"until", m.ExpiresAt.UTC().Format(time.DateOnly)})
	return nil
}

func (d *story) params(cents int64, key string) client.ChargeParams {
	return client.ChargeParams{
		Mandate: d.token, AmountCents: cents, Currency: client.USD, Description: "October report", IdempotencyKey: key,
	}
}

func (d *story) chargeTwice(ctx context.Context) error {
	c, err := d.merchant.Charge(ctx, d.params(250, "report-1"))
	if err != nil {
		return err
	}
	if c.Status != client.Completed {
		return fmt.Errorf("charge is %s: %s", c.Status, c.FailureReason)
	}
	d.charge = c
	d.announce("The agent's purchase is charged to the card",
		fact{"transaction", c.TransactionID}, fact{"amount", dollars(c.AmountCents)}, fact{"status", string(c.Status)},
		fact{"rail", string(c.RailUsed)}, fact{"processor", c.ProcessorPaymentID})
	again, err := d.merchant.Charge(ctx, d.params(250, "report-1"))
	if err != nil {
		return err
	}
	if !again.Replayed || again.TransactionID != c.TransactionID {
		return errors.New("the second charge was not a replay")
	}
	d.announce("The same request again moves nothing",
		fact{"transaction", again.TransactionID + " (the same)"}, fact{"replayed", "true"})
	return nil
}

func (d *story) beyondLimits(ctx context.Context) error {
	_, err := d.merchant.Charge(ctx, d.params(501, "too-much"))
	if !errors.Is(err, client.ErrPerTxLimit) {
		return fmt.Errorf("a charge over the limit of a payment was not refused: %w", err)
	}
	d.announce("A charge of $5.01 is refused: too much for one payment", refusal(err)...)
	if _, err := d.merchant.Charge(ctx, d.params(500, "report-2")); err != nil {
		return err
	}
	_, err = d.merchant.Charge(ctx, d.params(300, "report-3"))
	if !errors.Is(err, client.ErrMonthlyLimit) {
		return fmt.Errorf("a charge over the limit of the month was not refused: %w", err)
	}
	d.announce("After $7.50, a charge of $3.00 is refused: too much for the month", refusal(err)...)
	return nil
}

// refusal shows an error as the API answers it.
func refusal(err error) []fact {
	var e *client.Error
	if !errors.As(err, &e) {
		return nil
	}
	facts := []fact{{"answer", fmt.Sprintf("%d %s", e.Status, e.Code)}, {"message", e.Message}}
	if e.RemainingMonthlySpendCents != nil {
		facts = append(facts, fact{"left this month", dollars(*e.RemainingMonthlySpendCents)})
	}
	return facts
}

// payPaywall: an endpoint demands a price, and a mandate pays it.
func (d *story) payPaywall(ctx context.Context) error {
	url := d.system.API.BaseURL + "/report"
	asked, err := fetch(ctx, url, "")
	if err != nil {
		return err
	}
	v1, err := x402.DecodePaymentRequiredV1(asked.body)
	if asked.code != http.StatusPaymentRequired || err != nil {
		return fmt.Errorf("the paywall answered %s: %w", asked.status, err)
	}
	v2, err := x402.DecodePaymentRequired(asked.header.Get(x402.HeaderPaymentRequired))
	if err != nil {
		return err
	}
	d.announce("An agent asks a paywalled endpoint for a report",
		fact{"GET", url}, fact{"answer", asked.status},
		fact{"x402 v1", v1.Accepts[0].MaxAmountRequired + " base units of USDC on " + v1.Accepts[0].Network},
		fact{"x402 v2", v2.Accepts[0].Amount + " base units on " + v2.Accepts[0].Network},
		fact{"MPP", short(asked.header.Get("WWW-Authenticate"), 56)})
	paid, err := fetch(ctx, url, d.token)
	if err != nil {
		return err
	}
	if paid.code != http.StatusOK {
		return fmt.Errorf("the paywall answered %s to the mandate: %s", paid.status, paid.body)
	}
	settled, err := x402.DecodeSettlement(paid.header.Get("X-PAYMENT-RESPONSE"))
	if err != nil {
		return err
	}
	d.announce("It sends the mandate along; the paywall charges $0.50 to the card and serves",
		fact{"answer", paid.status}, fact{"content", strings.TrimSpace(string(paid.body))},
		fact{"paid with", settled.Network + " " + settled.Transaction}, fact{"payer", settled.Payer})
	return nil
}

// fetched is an answer, read whole.
type fetched struct {
	code   int
	status string
	header http.Header
	body   []byte
}

// fetch gets a URL, with a mandate if there is one.
func fetch(ctx context.Context, url, token string) (fetched, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fetched{}, err
	}
	if token != "" {
		r.Header.Set("X-Service-Mandate", token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return fetched{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return fetched{code: resp.StatusCode, status: resp.Status, header: resp.Header, body: body}, err
}

func (d *story) showReceipt(ctx context.Context) error {
	r, err := d.merchant.Receipt(ctx, d.charge.TransactionID)
	if err != nil {
		return err
	}
	s, err := d.merchant.Stats(ctx)
	if err != nil {
		return err
	}
	b, err := d.merchant.Balance(ctx, d.token)
	if err != nil {
		return err
	}
	d.announce("Receipt, statistics and balance agree",
		fact{"receipt", fmt.Sprintf("%s, %s, %s", r.ID, r.Status, dollars(r.AmountCents))},
		fact{"receipt page", r.ReceiptURL},
		fact{"statistics", fmt.Sprintf("%d transactions, %s", s.TransactionCount, dollars(s.TotalVolumeCents))},
		fact{"balance", fmt.Sprintf("%s spent, %s left in %s", dollars(b.CurrentMonthlySpendCents), dollars(b.RemainingMonthlySpendCents), b.CurrentMonth)})
	if s.TransactionCount != 4 || s.TotalVolumeCents != b.CurrentMonthlySpendCents {
		return errors.New("receipt, statistics and balance do not agree")
	}
	return nil
}

func (d *story) revoke(ctx context.Context) error {
	if _, err := d.merchant.Revoke(ctx, d.token); err != nil {
		return err
	}
	_, err := d.merchant.Charge(ctx, d.params(1, "after"))
	if !errors.Is(err, client.ErrMandateRevoked) {
		return fmt.Errorf("a revoked mandate was not refused: %w", err)
	}
	d.announce("The mandate is revoked; the next charge, of one cent, is refused", refusal(err)...)
	return nil
}

func (d *story) check(ctx context.Context) error {
	r, err := d.system.Service.CheckLedger(ctx)
	if err != nil {
		return err
	}
	if len(r.Faults) > 0 {
		return fmt.Errorf("the ledger is not sound: %s", strings.Join(r.Faults, "; "))
	}
	d.announce("The ledger is checked: every counter recomputed from the postings",
		fact{"charges", fmt.Sprintf("%d succeeded, %d failed, %d pending", r.Succeeded, r.Failed, r.Pending)},
		fact{"postings", fmt.Sprintf("%d, volume $%s", r.Postings, r.Volume.Decimal())}, fact{"faults", "none"})
	return nil
}
