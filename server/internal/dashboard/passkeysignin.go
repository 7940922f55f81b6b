package dashboard

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/server/internal/signin"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// askForPasskey answers the script with what the browser asks passkeys for.
func (d *Dashboard) askForPasskey(w http.ResponseWriter, r *http.Request) {
	options, err := d.SignIns.AskForPasskey(r.Context(), d.sessions.Browser(r.Context()), httplog.ClientNetwork(r.Context()))
	d.answerScript(w, r, options, "", err)
}

// signInByPasskey takes the browser's answer. A passkey that was added under another address of
// the merchant is refused like one that does not exist.
func (d *Dashboard) signInByPasskey(w http.ResponseWriter, r *http.Request) {
	key, err := d.SignIns.CheckPasskey(r.Context(), d.sessions.Browser(r.Context()), r.PostForm.Get("answer"))
	var m ledger.Merchant
	if err == nil {
		m, err = d.Store.Merchant(r.Context(), key.Subject)
	}
	if err == nil && !strings.EqualFold(m.Email, key.Email) {
		err = signin.ErrPasskey
	}
	if err == nil {
		err = d.sessions.BeginUnproven(r.Context(), merchantAccount(m.ID, m.Email)) // a copied passkey gives out no keys
	}
	var problem string
	switch {
	case err == nil:
		d.Audit.Did(r.Context(), audit.Merchant(m.ID), "sign-in", m.ID, slog.String("passkeyId", key.ID))
		d.arrive(w, r)
		return
	case errors.Is(err, signin.ErrNoChallenge):
		problem = "This took too long, or the form was sent twice. Try again."
	case errors.Is(err, signin.ErrPasskeyCopied):
		d.Audit.Record(r.Context(), audit.PasskeyCopied, slog.String("merchantId", key.Subject), slog.String("passkeyId", key.ID))
		d.mail(r.Context(), passkeyCopied, key.Subject, key.ID)
		problem = "There may be a copy of this passkey, so it is not valid any more. Sign in with a code, and remove it."
	case errors.Is(err, signin.ErrPasskey):
		problem = "This passkey does not sign in here. It may have been removed."
	default:
		d.Site.Failed(w, r, err)
		return
	}
	d.Audit.Record(r.Context(), audit.AuthenticationFailed, slog.String("route", r.Pattern))
	d.showSignInWith(w, r, http.StatusUnprocessableEntity, signInPage{PasskeyError: problem})
}
