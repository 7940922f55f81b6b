package server_test

import (
	"encoding/hex"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
)

// personalSign signs a text as wallets do (EIP-191).
func personalSign(t *testing.T, w devchain.Wallet, text string) string {
	t.Helper()
	signature, err := crypto.Sign(crypto.Keccak256(fmt.Appendf(nil, "\x19Ethereum Signed Message:\n%d%s", len(text), text)), w.Key())
	require.NoError(t, err)
	signature[64] += 27
	return "0x" + hex.EncodeToString(signature)
}

// TestPayoutWalletIsProvenBySignature: of the wallet itself, for this merchant and service, now.
func TestPayoutWalletIsProvenBySignature(t *testing.T) {
	t.Parallel()
	b := openTab(t, servertest.Start(t, &servertest.Options{Chain: chain.Start, Merchant: server.MerchantParams{Name: "Acme", Email: "ada@acme.example"}}))
	require.Equal(t, "/dashboard", b.signIn("ada@acme.example").Path)
	wallet, stranger := devchain.Payee(7), devchain.Payee(8)
	open := func() (text, at string) {
		page := b.get("/dashboard/settings").Text
		text = html.UnescapeString(regexp.MustCompile(`data-text="([^"]+)"`).FindStringSubmatch(page)[1])
		return strings.ReplaceAll(text, "{wallet}", strings.ToLower(wallet.Address.Hex())), regexp.MustCompile(`name="at" value="([^"]+)"`).FindStringSubmatch(page)[1]
	}
	text, at := open()
	form := func(at, signature string) url.Values {
		return url.Values{"wallet": {wallet.Address.Hex()}, "at": {at}, "signature": {signature}}
	}
	for name, f := range map[string]url.Values{
		"another wallet":   form(at, personalSign(t, stranger, text)),
		"another merchant": form(at, personalSign(t, wallet, strings.ReplaceAll(text, b.srv.Merchant.ID, "mer_1"))),
		"another service":  form(at, personalSign(t, wallet, strings.ReplaceAll(text, b.srv.URL, "https://evil.example"))),
		"nothing":          form(at, ""),
		"no address":       {"wallet": {"0x1"}, "at": {at}, "signature": {personalSign(t, wallet, text)}},
		"another time":     form(b.srv.Clock.Now().Add(-30*time.Second).UTC().Format(time.RFC3339), personalSign(t, wallet, text)),
		"no time":          form("", personalSign(t, wallet, text)),
	} {
		p := b.post("/dashboard/settings/wallet", f)
		require.Equal(t, http.StatusUnprocessableEntity, p.Status, name)
		require.NotContains(t, p.Text, "Saved.", name)
	}
	for range 2 {
		saved := b.post("/dashboard/settings/wallet", form(at, personalSign(t, wallet, text)))
		require.Contains(t, saved.Text, "Saved.")
		require.Contains(t, saved.Text, wallet.Address.Hex())
	}
	b.mailed("Your account is paid to another wallet")
	require.Contains(t, b.mailOf("Your account is paid to another wallet"), "New: "+wallet.Address.Hex()+"\nBefore: 0x")
	b.srv.Clock.Advance(11 * time.Minute)
	late := b.post("/dashboard/settings/wallet", form(at, personalSign(t, wallet, text)))
	require.Equal(t, http.StatusForbidden, late.Status, "a fresh code is asked for first")
	require.Contains(t, late.Text, "Confirm that it is you")
}
