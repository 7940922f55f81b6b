package browser_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// installPasskeys gives the browser an authenticator that asks for a finger and gets it.
func installPasskeys(ctx context.Context, t *testing.T) {
	t.Helper()
	require.NoError(t, chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		if _, err := chromedp.Call(ctx, webauthn.Enable, webauthn.EnableParams{}); err != nil {
			return err
		}
		_, err := chromedp.Call(ctx, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
			Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
			HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
		}})
		return err
	})))
}

// TestMerchantSignsInByPasskey: it is added, signs in, does not replace the code that its removal
// takes, is removed, and signs in no more. Each page is accessible and quiet.
func TestMerchantSignsInByPasskey(t *testing.T) {
	t.Parallel()
	for _, w := range widths {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			ctx := scripted(t, w)
			quiet(ctx, t)
			installPasskeys(ctx, t)
			srv := servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Aurora Data", Email: "ada@aurora.example"}})
			srv.URL = strings.Replace(srv.URL, "127.0.0.1", "localhost", 1) // passkeys need a name
			signIn(ctx, t, srv, "ada@aurora.example")
			require.NoError(t, chromedp.Do(ctx, click("#enter-code .main"), visible("#start"),
				chromedp.Navigate(srv.URL+"/dashboard/passkeys"), visible("#passkey-form"), click("#passkey-form .main"), contains("#passkey-error", "Name the passkey")))
			accessible(ctx, t, "dashboard-passkey-refused-"+w.name)
			add := func(name string) {
				require.NoError(t, chromedp.Do(ctx, fill("#name", name), click("#passkey-form .main")))
			}
			add("Work laptop")
			require.NoError(t, chromedp.Do(ctx, contains("tbody", "Work laptop")))
			accessible(ctx, t, "dashboard-passkeys-"+w.name)
			add("The same laptop")
			require.NoError(t, chromedp.Do(ctx, contains("#passkey-error", "has a passkey of your account already")))

			signOut := func() {
				require.NoError(t, chromedp.Do(ctx, click("header button"), contains("h1", "signed out"),
					chromedp.Navigate(srv.URL+"/dashboard/sign-in"), visible("#passkey-form")))
			}
			signOut()
			accessible(ctx, t, "dashboard-sign-in-passkey-"+w.name)
			require.NoError(t, chromedp.Do(ctx, click("#passkey-form button"), visible("#start")))
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(srv.URL+"/dashboard/passkeys"), visible("tbody time")))
			require.NotContains(t, text(ctx, t, "tbody"), "Never")

			require.NoError(t, chromedp.Do(ctx, click("tbody .danger"), visible("#ask")))
			accessible(ctx, t, "dashboard-prove-"+w.name)
			enterMailedCode(ctx, t, srv, click("#ask .main"))
			require.NoError(t, chromedp.Do(ctx, click("#prove .main"), visible("tbody .danger"), click("tbody .danger"), hidden("tbody"), visible("#passkey-form")))
			signOut()
			require.NoError(t, chromedp.Do(ctx, click("#passkey-form button"), contains("#passkey-error", "does not sign in here")))
			accessible(ctx, t, "dashboard-sign-in-passkey-refused-"+w.name)
		})
	}
}

// TestSignInPageWithoutScripts: no passkeys are offered, and codes are.
func TestSignInPageWithoutScripts(t *testing.T) {
	t.Parallel()
	ctx := browser(t, widths[0])
	srv := servertest.Start(t, nil)
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(srv.URL+"/dashboard/sign-in"), visible("#sign-in"), hidden("#passkey-form")))
}

// TestSuspendedMerchantSeesWhy: the overview says it, and is accessible.
func TestSuspendedMerchantSeesWhy(t *testing.T) {
	t.Parallel()
	for _, w := range widths {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			ctx := scripted(t, w)
			quiet(ctx, t)
			db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pay.db"))
			require.NoError(t, err)
			srv := servertest.Start(t, &servertest.Options{
				Merchant: server.MerchantParams{Name: "Aurora Data", Email: "ada@aurora.example"}, Store: func(testing.TB) servertest.Store { return db },
			})
			operator, err := server.NewOperator(server.OperatorConfig{Store: db, Mode: server.Sandbox, Actor: "operator:test"})
			require.NoError(t, err)
			require.NoError(t, operator.SetActive(t.Context(), srv.Merchant.ID, false, "complaints"))
			signIn(ctx, t, srv, "ada@aurora.example")
			require.NoError(t, chromedp.Do(ctx, click("#enter-code .main"), contains(".error", "Your account is suspended")))
			accessible(ctx, t, "dashboard-suspended-"+w.name)
		})
	}
}
