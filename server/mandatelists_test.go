package server_test

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestConsentForOneMandateIsNeverForAll: the chosen mandate, the account's only one, ends while
// the page is open.
func TestConsentForOneMandateIsNeverForAll(t *testing.T) {
	t.Parallel()
	a := openApp(t)
	_, mandate := charged(t, a.srv.Client(), 100)
	balance, err := a.srv.Client().Balance(t.Context(), mandate)
	require.NoError(t, err)
	path := authorize(a.request("scope", "pay"))
	opened := a.get(path)
	require.Contains(t, opened.Text, balance.MandateID)
	form := allowed(balance.MandateID, "pay")
	form.Set("key", consentKey.FindStringSubmatch(opened.Text)[1])
	_, err = a.srv.Client().Revoke(t.Context(), mandate)
	require.NoError(t, err)
	refused := a.sendForm(path, form)
	require.Equal(t, 422, refused.Status)
	require.Contains(t, refused.Text, "Choose which mandate")

	require.Contains(t, refused.Text, "no mandate that can pay now")
	form.Set("mandate", "all") // what the page now says and sends
	require.Equal(t, 303, a.sendForm(path, form).Status)
}

// TestEndedMandatesHideNoUsableOne, however many they are.
func TestEndedMandatesHideNoUsableOne(t *testing.T) {
	t.Parallel()
	a := openApp(t)
	c := a.srv.Client()
	_, usable := charged(t, c, 100)
	balance, err := c.Balance(t.Context(), usable)
	require.NoError(t, err)
	for range 101 {
		a.srv.Clock.Advance(time.Second)
		_, ended := charged(t, c, 100)
		_, err = c.Revoke(t.Context(), ended)
		require.NoError(t, err)
	}
	require.Contains(t, a.get(authorize(a.request("scope", "pay"))).Text, balance.MandateID)
	require.Contains(t, a.get("/dashboard/tokens").Text, balance.MandateID)
}

var mandateIDs = regexp.MustCompile(`del_\w{26}`)

// TestMandatesAreListedNewestFirst: their ids have a random part.
func TestMandatesAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	a := openApp(t)
	var made []string
	for range 10 {
		_, mandate := charged(t, a.srv.Client(), 100)
		balance, err := a.srv.Client().Balance(t.Context(), mandate)
		require.NoError(t, err)
		made = append(made, balance.MandateID)
		a.srv.Clock.Advance(time.Second)
	}
	slices.Reverse(made)
	require.Equal(t, made, slices.Compact(mandateIDs.FindAllString(a.get("/dashboard/mandates").Text, -1)))
}
