package card_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
)

func TestChargesThatNoCardCanPay(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	instrument := connect(t, s.rail, "card_visa")
	for name, change := range map[string]func(*rail.Charge){
		"a tenth of a cent":  func(c *rail.Charge) { c.Amount = money.MicrosPerCent / 10 },
		"a cent and a bit":   func(c *rail.Charge) { c.Amount = money.MicrosPerCent + 1 },
		"nothing":            func(c *rail.Charge) { c.Amount = 0 },
		"less than nothing":  func(c *rail.Charge) { c.Amount = -dollar },
		"a wallet as payee":  func(c *rail.Charge) { c.MerchantID, c.PayTo = "", "0x01" },
		"a chain instrument": func(c *rail.Charge) { c.Instrument.Rail = rail.Chain },
	} {
		c := charge("txn_1.fiatrail", instrument)
		change(&c)
		outcome, err := s.rail.Charge(t.Context(), c)
		require.NoError(t, err, name)
		require.Equal(t, rail.Outcome{Status: rail.Refused, Reason: rail.Unavailable}, outcome, name)
	}
	outcome, err := s.rail.Lookup(t.Context(), "txn_1.fiatrail")
	require.NoError(t, err)
	require.Equal(t, rail.Unseen, outcome.Status, "the processor was not asked")
}

func TestLongDescriptionsAreCut(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	c := charge("txn_1.fiatrail", connect(t, s.rail, "card_visa"))
	c.Description = "\xff" + strings.Repeat("é", 400)
	outcome, err := s.rail.Charge(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, rail.Succeeded, outcome.Status)
	payment, err := s.processor.Payment(t.Context(), c.Reference)
	require.NoError(t, err)
	require.True(t, utf8.ValidString(payment.Description))
	require.LessOrEqual(t, len(payment.Description), 500)
	require.Greater(t, len(payment.Description), 490)
}

func TestMalformedReferencesAreErrors(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	instrument := connect(t, s.rail, "card_visa")
	for _, reference := range []string{"", ".", "..", "a/b", "a b", "ä", "a\n", strings.Repeat("a", 256)} {
		_, err := s.rail.Charge(t.Context(), charge(reference, instrument))
		require.ErrorIs(t, err, card.ErrInvalid, "%q", reference)
		_, err = s.rail.Lookup(t.Context(), reference)
		require.ErrorIs(t, err, card.ErrInvalid, "%q", reference)
		_, err = s.rail.Connect(t.Context(), rail.Connection{Reference: reference, Method: "card_visa"})
		require.ErrorIs(t, err, card.ErrInvalid, "%q", reference)
	}
}

// TestOnlyTheProcessorsOwnAnswersAreDefinite puts other servers in the
// processor's place: whatever they answer, it is neither a refusal nor "unseen".
func TestOnlyTheProcessorsOwnAnswersAreDefinite(t *testing.T) {
	t.Parallel()
	const ok = `{"reference":"txn_1.fiatrail","id":"pay_1","amountCents":100,"state":"captured","capturedAtMillis":1}`
	for name, answer := range map[string]struct {
		status      int
		contentType string
		body        string
	}{
		"a proxy's 404":                {404, "text/html", "<h1>Not Found</h1>"},
		"a JSON 404 of something else": {404, "application/json", `{"error":"not found"}`},
		"a code with another status":   {502, "application/json", `{"code":"unknown_payment","message":""}`},
		"402 of something else":        {402, "application/json", `{"code":"card_declined"}`},
		"500":                          {500, "application/json", `{"code":"internal_error","message":""}`},
		"503":                          {503, "application/json", `{"code":"unavailable","message":""}`},
		"401":                          {401, "application/json", `{"code":"unauthorized","message":""}`},
		"a redirect":                   {307, "application/json", `{}`},
		"an empty object":              {200, "application/json", `{}`},
		"a page":                       {200, "text/html", ok},
		"half an answer":               {200, "application/json", ok[:len(ok)-5]},
		"two answers":                  {200, "application/json", ok + ok},
		"a number with a fraction":     {200, "application/json", strings.Replace(ok, "100", "100.0", 1)},
		"another reference":            {200, "application/json", strings.Replace(ok, "txn_1", "txn_2", 1)},
		"an unknown state":             {200, "application/json", strings.Replace(ok, "captured", "refunded", 1)},
		"an endless answer":            {200, "application/json", `{"reference":"` + strings.Repeat("a", 1<<20) + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRail(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", answer.contentType)
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(answer.status)
				_, _ = fmt.Fprint(w, answer.body)
			}), ""))
			instrument := rail.Instrument{Rail: rail.Card, Customer: "cus_1", Method: "pm_1"}
			outcome, err := r.Charge(t.Context(), charge("txn_1.fiatrail", instrument))
			require.Error(t, err)
			require.Empty(t, outcome)
			outcome, err = r.Lookup(t.Context(), "txn_1.fiatrail")
			require.Error(t, err)
			require.Empty(t, outcome)
			_, err = r.Connect(t.Context(), rail.Connection{Reference: "c1", Method: "card_visa"})
			require.Error(t, err)
			var refused *rail.RefusedError
			require.NotErrorAs(t, err, &refused)
			require.NotErrorIs(t, err, rail.ErrUnknownMethod)
		})
	}
}

func TestAnswerAboutAnotherAmountIsAnError(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	instrument := connect(t, s.rail, "card_visa")
	_, err := newRail(t, &otherAmount{s.processor}).Charge(t.Context(), charge("txn_1.fiatrail", instrument))
	require.ErrorContains(t, err, "answered about 101 cents")
}

// otherAmount is a processor whose answers are off by a cent.
type otherAmount struct{ card.Gateway }

func (g *otherAmount) Pay(ctx context.Context, p card.PaymentParams) (card.Payment, error) {
	payment, err := g.Gateway.Pay(ctx, p)
	payment.AmountCents++
	return payment, err
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	gateway, err := card.NewHTTP(card.HTTPConfig{BaseURL: "http://127.0.0.1:1"})
	require.NoError(t, err)
	_, err = newRail(t, gateway).Lookup(t.Context(), "txn_1.fiatrail")
	require.ErrorIs(t, err, card.ErrUnavailable)
	require.NoError(t, gateway.Close())
}

func TestUnknownOutcomesAreLoggedWithoutSecrets(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	gateway, err := card.NewHTTP(card.HTTPConfig{BaseURL: "http://127.0.0.1:1", Key: "canary"})
	require.NoError(t, err)
	r, err := card.New(card.Config{Gateway: gateway, Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	require.NoError(t, err)
	_, err = r.Lookup(t.Context(), "txn_1.fiatrail")
	require.Error(t, err)
	require.Contains(t, log.String(), "txn_1.fiatrail")
	require.NotContains(t, log.String()+err.Error(), "canary")
}

func TestConfigsAreValidated(t *testing.T) {
	t.Parallel()
	_, err := card.New(card.Config{})
	require.ErrorContains(t, err, "Gateway")
	_, err = card.New(card.Config{Gateway: &card.HTTP{}, Timeout: -1})
	require.ErrorContains(t, err, "Timeout")
	for _, url := range []string{"", "127.0.0.1:80", "ftp://host", "http://", "http://u:p@host", "http://host?q=1", "http://host#f", "http://[::1"} {
		_, err = card.NewHTTP(card.HTTPConfig{BaseURL: url})
		require.ErrorContains(t, err, "BaseURL", url)
	}
}
