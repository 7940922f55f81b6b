package server_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
)

func TestSetupPageShowsTheLimitsAskedForAndOffersTheOthers(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	s, err := c.Client().CreateSession(t.Context(), client.SessionParams{
		MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, AllowedMerchantIDs: []string{"*"},
		FurtherLimits: client.FurtherLimits{MaxTotalSpendCents: 125_000, MaxPaymentsPerDay: 2000},
	})
	require.NoError(t, err)
	page := c.page(t, s.SetupURL).Text
	before, more, found := strings.Cut(page, `<details id="more-limits">`)
	require.True(t, found)
	require.Regexp(t, `name="maxTotal"[^>]* required value="1,250.00"`, before)
	require.Contains(t, before, "Asked for: $1,250.00.")
	require.Regexp(t, `name="maxPaymentsPerDay"[^>]* required value="2,000"`, before)
	require.Regexp(t, `name="maxDaily"[^>]* autocomplete="off" value=""`, more)
	require.Regexp(t, `name="maxPerPayee"[^>]* autocomplete="off" value=""`, more)

	one, err := c.Client().CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	require.NoError(t, err)
	require.NotContains(t, c.page(t, one.SetupURL).Text, `name="maxPerPayee"`, "one payee has the monthly limit")
}

func TestPersonLowersALimitAndAddsOne(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	noonOf(c.Server)
	m := c.confirm(t, client.SessionParams{
		MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, FurtherLimits: client.FurtherLimits{MaxTotalSpendCents: 125_000},
	}, map[string]string{"maxTotal": "1,200", "maxDaily": "$6.00", "maxPaymentsPerDay": "7", "email": "ada@example.com"})
	want := client.FurtherLimits{MaxTotalSpendCents: 120_000, MaxDailySpendCents: 600, MaxPaymentsPerDay: 7}
	b, err := c.Client().Balance(t.Context(), m.mandate)
	require.NoError(t, err)
	require.Equal(t, want, b.FurtherLimits)
	c.charge(t, m.mandate, 250, "k").ok(t)
	c.charge(t, m.mandate, 351, "k2").refused(t, http.StatusPaymentRequired, "daily")
	private := c.page(t, m.link).Text
	day := c.Clock.Now().UTC().Format("2 January 2006")
	for _, text := range []string{
		"$2.50 of $6.00 spent on " + day, "$2.50 of $1,200.00 spent in all", "1 of 7 payments on " + day,
		`<dt>A day</dt><dd>up to $6.00</dd>`, `<dt>In all</dt><dd>up to $1,200.00</dd>`, `<dt>Payments a day</dt><dd>up to 7</dd>`,
	} {
		require.Contains(t, private, text)
	}
	require.NotContains(t, private, "one payee")
	require.Contains(t, c.mail(t).Text, "\nA day: up to $6.00.\n")
}

func TestSetupPageMarksTheInvalidLimitAndShowsIt(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	s, err := c.Client().CreateSession(t.Context(), client.SessionParams{
		MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, AllowedMerchantIDs: []string{"*"},
		FurtherLimits: client.FurtherLimits{MaxTotalSpendCents: 10_000, MaxPaymentsPerDay: 5},
	})
	require.NoError(t, err)
	marked := regexp.MustCompile(`<[^>]*aria-invalid="true"[^>]*>`)
	for _, bad := range [][2]string{
		{"maxTotal", ""},
		{"maxTotal", "100.01"},
		{"maxTotal", "0"},
		{"maxTotal", "1.005"},
		{"maxPaymentsPerDay", "6"},
		{"maxPaymentsPerDay", "1.5"},
		{"maxPaymentsPerDay", "$3"},
		{"maxPaymentsPerDay", "0"},
		{"maxDaily", "x"},
		{"maxDaily", "0"},
		{"maxDaily", "-1"},
		{"maxDaily", "12,50"},
		{"maxDaily", "9999999999"},
		{"maxPerPayee", "many"},
	} {
		form := url.Values{
			"maxPerTx": {"5"}, "maxMonthly": {"50"}, "expires": {c.Clock.Now().AddDate(0, 1, 0).Format("2006-01-02")}, "method": {"card_visa"},
			"maxTotal": {"100"}, "maxPaymentsPerDay": {"5"},
		}
		form.Set(bad[0], bad[1])
		resp, page := post(t, s.SetupURL, form, "same-origin")
		require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode, bad)
		found := marked.FindAllString(page, -1)
		require.Len(t, found, 1, bad)
		require.Contains(t, found[0], `name="`+bad[0]+`"`)
		require.Contains(t, found[0], `value="`+bad[1]+`"`)
		if bad[0] == "maxDaily" || bad[0] == "maxPerPayee" {
			require.Contains(t, page, `<details id="more-limits" open>`, bad)
		}
	}
}

// TestPersonAddsALimitLater: on the private page, with what its period has used; one that was
// added can be lowered like the others, that for a payee too.
func TestPersonAddsALimitLater(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	m := c.confirm(t, client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, AllowedMerchantIDs: []string{"*"}}, nil)
	c.charge(t, m.mandate, 300, "first").ok(t)
	page := c.page(t, m.link+"/limits").ok(t).Text
	require.Contains(t, page, `<details id="more-limits"><summary>Add a limit</summary>`)
	form := func(day, payee string) url.Values {
		return url.Values{"maxPerTx": {"5"}, "maxMonthly": {"20"}, "maxDaily": {day}, "maxPerPayee": {payee}}
	}
	resp, page := post(t, m.link+"/limits", form("2.99", ""), "same-origin")
	require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode)
	require.Contains(t, page, "The limit for a day cannot be lower than the $3.00 that are used of it already.")
	require.Contains(t, page, `<details id="more-limits" open>`)
	for _, payee := range []string{"10", "4"} {
		var status int
		status, page = c.form(t, m.link+"/limits", form("6", payee))
		require.Equal(t, http.StatusOK, status, page)
	}
	require.Contains(t, page, "$3.00 of $6.00 spent on")
	require.Contains(t, page, "A month to one payee")
	c.charge(t, m.mandate, 101, "second").refused(t, http.StatusPaymentRequired, "payee_limit")
	status, _ := c.form(t, m.link+"/limits", form("6", "4.01"))
	require.Equal(t, http.StatusUnprocessableEntity, status)
	c.charge(t, m.mandate, 100, "third").ok(t)
	c.sound(t, 2)
}
