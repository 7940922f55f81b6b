package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/devchain"
)

// walletText asks for what a wallet signs to sign in.
func (c caller) walletText(t *testing.T, b *http.Client, wallet string) (status int, text, at string) {
	t.Helper()
	resp, err := b.PostForm(c.URL+"/me/wallet/text", url.Values{"wallet": {wallet}})
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	var answer struct{ Text, At, Problem string }
	require.NoError(t, json.Unmarshal(body, &answer), string(body))
	require.Equal(t, answer.Problem == "", resp.StatusCode == http.StatusOK)
	return resp.StatusCode, answer.Text, answer.At
}

// confirmFromWallet confirms a mandate that a wallet pays, and returns its private link.
func (c caller) confirmFromWallet(t *testing.T, s client.Session, w devchain.Wallet) string {
	t.Helper()
	form := formOf(map[string]string{"owner": w.Address.Hex(), "expires": c.Clock.Now().AddDate(0, 1, 0).Format("2006-01-02")})
	resp, text := post(t, s.SetupURL+"/wallet", form, "same-origin")
	require.Equal(t, http.StatusOK, resp.StatusCode, text)
	var proposal struct {
		ID       string
		Messages []apitypes.TypedData
	}
	require.NoError(t, json.Unmarshal([]byte(text), &proposal))
	form.Set("method", "own_wallet")
	form.Set("proposal", proposal.ID)
	for _, message := range proposal.Messages {
		digest, _, err := apitypes.TypedDataAndHash(message)
		require.NoError(t, err)
		signature, err := crypto.Sign(digest, w.Key())
		require.NoError(t, err)
		signature[64] += 27
		form.Add("signature", hexutil.Encode(signature))
	}
	status, page := c.form(t, s.SetupURL, form)
	require.Equal(t, http.StatusOK, status, page)
	link := privateLink.FindString(page)
	require.NotEmpty(t, link, page)
	return link
}

// TestWalletSignsInToItsMandates: by the wallet's own signature, in the browser that asked, in time, of a text
// that names this service; and to its own mandates alone.
func TestWalletSignsInToItsMandates(t *testing.T) {
	t.Parallel()
	c := onChain(t)
	owner, stranger := devchain.Wallets()[0], devchain.Wallets()[5]
	session, err := c.Client().CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	require.NoError(t, err)
	link := c.confirmFromWallet(t, session, owner)

	b := browser(t)
	status, _, _ := c.walletText(t, b, "0x1")
	require.Equal(t, http.StatusUnprocessableEntity, status)
	_, text, at := c.walletText(t, b, owner.Address.Hex())
	require.True(t, strings.HasPrefix(text, strings.TrimPrefix(c.URL, "http://")+" wants you to sign in with your Ethereum account:\n"+owner.Address.Hex()+"\n"), text)
	form := func(wallet devchain.Wallet, text, at string) url.Values {
		return url.Values{"wallet": {wallet.Address.Hex()}, "at": {at}, "signature": {personalSign(t, wallet, text)}}
	}
	other := browser(t)
	c.walletText(t, other, owner.Address.Hex())
	notNow := c.Clock.Now().Add(-30 * time.Second).UTC().Format(time.RFC3339)
	for name, try := range map[string]struct {
		by   *http.Client
		form url.Values
	}{
		"another wallet":  {b, url.Values{"wallet": {owner.Address.Hex()}, "at": {at}, "signature": {personalSign(t, stranger, text)}}},
		"another browser": {other, form(owner, text, at)},
		"no browser":      {browser(t), form(owner, text, at)},
		"another service": {b, form(owner, strings.ReplaceAll(text, c.URL, "https://evil.example"), at)},
		"another time":    {b, form(owner, text, notNow)},
		"no time":         {b, form(owner, text, "")},
		"no signature":    {b, url.Values{"wallet": {owner.Address.Hex()}, "at": {at}}},
	} {
		status, page := c.open(t, try.by, c.URL+"/me/wallet", try.form)
		require.Equal(t, http.StatusUnprocessableEntity, status, name)
		require.Contains(t, page, `id="wallet-error">`, name)
		_, page = c.open(t, try.by, c.URL+"/me", nil)
		require.NotContains(t, page, link, name)
	}
	lost := browser(t)
	_, theirs, when := c.walletText(t, lost, stranger.Address.Hex())
	status, page := c.open(t, lost, c.URL+"/me/wallet", form(stranger, theirs, when))
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Contains(t, page, "or has confirmed no mandate here")

	status, page = c.open(t, b, c.URL+"/me/wallet", form(owner, text, at))
	require.Equal(t, http.StatusSeeOther, status, page)
	_, page = c.open(t, b, c.URL+"/me", nil)
	require.Contains(t, page, link)
	again := browser(t)
	status, _ = c.open(t, again, c.URL+"/me/wallet", form(owner, text, at))
	require.Equal(t, http.StatusUnprocessableEntity, status, "the signature alone")

	late := browser(t)
	_, text, at = c.walletText(t, late, owner.Address.Hex())
	c.Clock.Advance(11 * time.Minute)
	status, page = c.open(t, late, c.URL+"/me/wallet", form(owner, text, at))
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Contains(t, page, "opened too long ago")
}
