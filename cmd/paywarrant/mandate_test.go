package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
)

// inspect runs the command on a token and returns what it printed.
func inspect(t *testing.T, token string, flags ...string) (string, error) {
	t.Helper()
	return command(t, append([]string{"mandate", "inspect", token}, flags...)...)
}

func TestMandateInspect(t *testing.T) {
	t.Parallel()
	s, err := startDevSystem(t.Context(), devSystemConfig{Addr: "127.0.0.1:0", Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	c, err := client.New(client.Config{BaseURL: s.BaseURL, MerchantID: s.People.Merchant.ID, APIKey: s.People.Merchant.APIKey})
	require.NoError(t, err)
	session, err := c.CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 515, MaxMonthlySpendCents: 5000})
	require.NoError(t, err)
	done, err := c.CompleteTestSession(t.Context(), session.SessionToken, client.TestCompletion{})
	require.NoError(t, err)
	token := done.Mandate

	text, err := inspect(t, token, "--status")
	require.NoError(t, err)
	for _, line := range []string{
		`(?m)^Mandate +` + done.MandateID + `$`, `(?m)^Verdict +good: signed by ` + s.BaseURL + `$`,
		`(?m)^Verified against +` + s.BaseURL + `/\.well-known/jwks\.json, key \S{43}$`,
		`(?m)^One payment +up to \$5\.15$`, `(?m)^A month +up to \$50\.00 `, `(?m)^Payees +Weather & Co \(` + s.People.Merchant.ID + `\) https://example\.com$`,
		`(?m)^Rails +fiatrail$`, `(?m)^Until +\S+, 36[45] days left$`, `(?m)^Its own key +\S{43}$`, `(?m)^Status list +index \d+ of \S+ not revoked$`,
		`(?m)^Disclosures +0$`, `(?m)^Presentation +none`,
	} {
		require.Regexp(t, line, text)
	}
	require.NotContains(t, text, token, "it may be shown to others")

	var piped bytes.Buffer
	cmd := mandateInspectCmd{Token: "-", JSON: true, stdin: strings.NewReader(token + "\n")}
	require.NoError(t, cmd.Run(t.Context(), output{&piped, io.Discard}))
	var got inspectionJSON
	require.NoError(t, json.Unmarshal(piped.Bytes(), &got))
	require.True(t, got.Good)
	require.Equal(t, done.MandateID, got.ID)

	made, err := c.CreatePresentation(t.Context(), token, client.PresentationParams{
		Audience: "https://api.example.com", Nonce: "ch_1", Amount: "0.05", PayTo: s.People.Merchant.PayTo, Network: "eip155:8453", Resource: "https://api.example.com/x",
	})
	require.NoError(t, err)
	text, err = inspect(t, made.Presentation)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^Presented to +https://api\.example\.com, challenge ch_1$`, text)
	require.Regexp(t, `(?m)^Payment +\$0\.05 to `+s.People.Merchant.PayTo, text)
	require.Regexp(t, `(?m)^Good +only with a key binding$`, text)

	other := filepath.Join(t.TempDir(), "jwks.json")
	require.NoError(t, os.WriteFile(other, []byte(`{"keys":[]}`), 0o600))
	text, err = inspect(t, token, "--jwks", other)
	require.ErrorIs(t, err, errSaid)
	require.Contains(t, text, "NOT GOOD (kid_unknown); nothing below is proven")
	resp, err := http.Get(s.BaseURL + "/.well-known/jwks.json")
	require.NoError(t, err)
	keys, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.NoError(t, os.WriteFile(other, keys, 0o600))
	_, err = inspect(t, token, "--jwks", other)
	require.NoError(t, err)

	_, err = c.Revoke(t.Context(), token)
	require.NoError(t, err)
	text, err = inspect(t, token, "--status", "--json")
	require.ErrorIs(t, err, errSaid)
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	require.EqualValues(t, "revoked", got.Reason)
	_, err = inspect(t, "dtok_garbage")
	require.ErrorContains(t, err, "bad_format")
}

// TestTextOfATokenDrawsNothing: names in a token are anybody's.
func TestTextOfATokenDrawsNothing(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Karten & Söhne", plain("Karten & Söhne"))
	for _, bad := range []string{"a\nVerdict  good", "\x1b[2J", "\u202eevil", "a\tb", "\u009b"} {
		require.NotContains(t, plain(bad), bad)
	}
}
