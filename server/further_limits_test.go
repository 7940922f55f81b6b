package server_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/httpjson"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/webhook"
)

// at noon of a day, so that a test crosses no day by itself
func noonOf(srv *servertest.Server) time.Time {
	now := srv.Clock.Now().UTC()
	srv.Clock.Advance(time.Date(now.Year(), now.Month(), now.Day()+1, 12, 0, 0, 0, time.UTC).Sub(now))
	return srv.Clock.Now().UTC()
}

func TestEachFurtherLimitRefusesWithWhatIsLeft(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	now := noonOf(c.Server)
	const format = "2006-01-02T15:04:05.000Z"
	tomorrow := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.UTC).Format(format)
	nextMonth := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC).Format(format)
	for code, tc := range map[string]struct {
		limits   client.FurtherLimits
		left     any
		payments any
		renews   any
	}{
		"daily":       {client.FurtherLimits{MaxDailySpendCents: 300}, 100.0, nil, tomorrow},
		"total":       {client.FurtherLimits{MaxTotalSpendCents: 300}, 100.0, nil, nil},
		"velocity":    {client.FurtherLimits{MaxPaymentsPerDay: 1}, nil, 1.0, tomorrow},
		"payee_limit": {client.FurtherLimits{MaxMonthlyPerPayeeCents: 300}, 100.0, nil, nextMonth},
	} {
		m := c.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 1000, FurtherLimits: tc.limits})
		c.charge(t, m, 200, code+" 1").ok(t)
		no := c.charge(t, m, 101, code+" 2").refused(t, http.StatusPaymentRequired, code)
		require.Equal(t, []any{tc.left, tc.payments, tc.renews},
			[]any{no.Body["remainingCents"], no.Body["limitPayments"], no.Body["renewsAt"]}, code)
		if tc.left != nil {
			require.Equal(t, 300, no.int("limitCents"), code)
		}
		require.NotContains(t, no.Body, "remainingMonthlySpendCents", code)
		again := c.charge(t, m, 101, code+" 2").refused(t, http.StatusPaymentRequired, code)
		require.Equal(t, no.Text, again.Text, "the answer of the key")
	}
}

func TestMonthlyRefusalHasTheGeneralFieldsToo(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	m := c.mandate(t, 500, 500)
	c.charge(t, m, 400, "k1").ok(t)
	no := c.charge(t, m, 101, "k2").refused(t, http.StatusPaymentRequired, "monthly")
	require.Equal(t, []int{500, 100, 100}, []int{no.int("limitCents"), no.int("remainingCents"), no.int("remainingMonthlySpendCents")})
	renews, err := time.Parse(time.RFC3339, no.str("renewsAt"))
	require.NoError(t, err)
	require.Equal(t, 1, renews.Day())
	require.True(t, renews.After(c.Clock.Now()))
}

func TestBalanceListsEachLimitWithItsUse(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	now := noonOf(c.Server)
	all := client.FurtherLimits{MaxDailySpendCents: 600, MaxTotalSpendCents: 2000, MaxPaymentsPerDay: 7, MaxMonthlyPerPayeeCents: 800}
	m := c.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 1000, FurtherLimits: all})
	c.charge(t, m, 200, "k1").ok(t)
	c.charge(t, m, 50, "k2").ok(t)
	c.do(t, "GET", "/v1/mandates/"+m+"/balance", "").ok(t) // conforms to the document
	b, err := c.Client().Balance(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, all, b.FurtherLimits)
	tomorrow := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.UTC)
	month := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC)
	cents := func(kind client.Code, limit, used, left int64, renews time.Time) client.Limit {
		return client.Limit{Kind: kind, LimitCents: &limit, UsedCents: &used, RemainingCents: &left, RenewsAt: renews}
	}
	require.Equal(t, []client.Limit{
		cents(client.CodeDailyLimit, 600, 250, 350, tomorrow),
		cents(client.CodeMonthlyLimit, 1000, 250, 750, month),
		cents(client.CodeTotalLimit, 2000, 250, 1750, time.Time{}),
		{Kind: client.CodeVelocityLimit, LimitPayments: new(int64(7)), UsedPayments: new(int64(2)), RemainingPayments: new(int64(5)), RenewsAt: tomorrow},
		{Kind: client.CodePayeeLimit, LimitCents: new(int64(800)), RenewsAt: month},
	}, b.Limits)

	c.Clock.Advance(24 * time.Hour)
	b, err = c.Client().Balance(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, []int64{0, 600, 250, 0}, []int64{*b.Limits[0].UsedCents, *b.Limits[0].RemainingCents, *b.Limits[2].UsedCents, *b.Limits[3].UsedPayments},
		"a new day renews what is counted by day, and no more")
}

func TestMandateWithoutFurtherLimitsAnswersAsBefore(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	b := c.do(t, "GET", "/v1/mandates/"+c.mandate(t, 500, 1000)+"/balance", "").ok(t)
	for _, name := range []string{"maxDailySpendCents", "maxTotalSpendCents", "maxPaymentsPerDay", "maxMonthlyPerPayeeCents"} {
		require.NotContains(t, b.Body, name)
	}
	require.Len(t, b.Body["limits"], 1)
}

func TestBadFurtherLimitsNameTheField(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	for name, most := range map[string]string{
		"maxDailySpendCents": "10000001", "maxTotalSpendCents": "250000001", "maxPaymentsPerDay": "1000001", "maxMonthlyPerPayeeCents": "10000001",
	} {
		for _, value := range []string{"0", "-1", most, `"1"`, "1.5"} {
			body := `{"maxPerTxCents":500,"maxMonthlySpendCents":1000,"` + name + `":` + value + `}`
			require.Equal(t, name, c.do(t, "POST", "/v1/mandates", body).refused(t, 400, "validation_error").str("param"), body)
		}
	}
}

// A person may lower a limit, and add one, but not raise one or drop it.
func TestFurtherLimitsAreOnlyNarrowed(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	session := func() string {
		s, err := c.Client().CreateSession(t.Context(), client.SessionParams{
			MaxPerTxCents: 500, MaxMonthlySpendCents: 1000, FurtherLimits: client.FurtherLimits{MaxDailySpendCents: 300},
		})
		require.NoError(t, err)
		return s.SessionToken
	}
	_, err := c.Client().CompleteTestSession(t.Context(), session(), client.TestCompletion{FurtherLimits: client.FurtherLimits{MaxDailySpendCents: 301}})
	require.ErrorIs(t, err, client.ErrValidation)
	done, err := c.Client().CompleteTestSession(t.Context(), session(), client.TestCompletion{
		FurtherLimits: client.FurtherLimits{MaxDailySpendCents: 200, MaxPaymentsPerDay: 3},
	})
	require.NoError(t, err)
	b, err := c.Client().Balance(t.Context(), done.Mandate)
	require.NoError(t, err)
	require.Equal(t, client.FurtherLimits{MaxDailySpendCents: 200, MaxPaymentsPerDay: 3}, b.FurtherLimits)
}

func TestSessionKeyWithOtherFurtherLimitsIsAnotherRequest(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	const body = `{"maxPerTxCents":500,"maxMonthlySpendCents":1000,"idempotencyKey":"k","maxDailySpendCents":`
	c.do(t, "POST", "/v1/mandates", body+`300}`).ok(t)
	c.do(t, "POST", "/v1/mandates", body+`300}`).ok(t)
	c.do(t, "POST", "/v1/mandates", body+`301}`).refused(t, 422, "idempotency_mismatch")
}

// The token states all limits, and that of a mandate without further ones is as it was.
func TestTokenStatesTheFurtherLimits(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	limits := func(further client.FurtherLimits) mandate.Limits {
		token := c.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 1000, FurtherLimits: further})
		require.Equal(t, further != client.FurtherLimits{}, strings.Contains(tokenPayload(t, token), `"further_limits"`))
		peeked, err := mandate.Peek(token)
		require.NoError(t, err)
		return peeked.Mandate.Limits
	}
	require.Equal(t, mandate.Limits{MaxPerTxCents: 500, MaxMonthlyCents: 1000}, limits(client.FurtherLimits{}))
	require.Equal(t, mandate.Limits{
		MaxPerTxCents: 500, MaxMonthlyCents: 1000, MaxDailyCents: 300, MaxTotalCents: 2000, MaxPaymentsPerDay: 7, MaxMonthlyPerPayeeCents: 800,
	}, limits(client.FurtherLimits{MaxDailySpendCents: 300, MaxTotalSpendCents: 2000, MaxPaymentsPerDay: 7, MaxMonthlyPerPayeeCents: 800}))
}

func tokenPayload(t *testing.T, token string) string {
	t.Helper()
	parts := strings.Split(token, ".")
	require.Len(t, parts, 3)
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	return string(text)
}

func TestMandateEventHasTheFurtherLimits(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	c.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 1000, FurtherLimits: client.FurtherLimits{MaxTotalSpendCents: 2000, MaxPaymentsPerDay: 7}})
	for e, err := range c.Client().Events(t.Context(), client.EventListParams{}) {
		require.NoError(t, err)
		var m webhook.Mandate
		require.NoError(t, httpjson.Unmarshal(e.Data, &m))
		require.Equal(t, []int64{0, 2000, 7, 0}, []int64{m.MaxDailySpendCents, m.MaxTotalSpendCents, m.MaxPaymentsPerDay, m.MaxMonthlyPerPayeeCents})
		return
	}
	t.Fatal("no event")
}
