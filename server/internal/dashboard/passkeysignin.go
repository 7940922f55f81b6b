package dashboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/internal/letter"
	"github.com/paywarrant/paywarrant/server/internal/signin"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
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
		d.mailPasskey(r.Context(), passkeyCopied, key)
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

// PasskeyMail is the kind of messages about passkeys. It is stored.
const PasskeyMail = "passkey"

// What happened to a passkey. It is stored.
const (
	passkeyAdded   = "added"
	passkeyRemoved = "removed"
	passkeyCopied  = "copied"
)

// passkeyLetters are what the messages say.
var passkeyLetters = map[string]struct{ subject, intro string }{
	passkeyAdded:   {"A passkey was added to your account", "A passkey was added to your merchant account. It signs in without a code."},
	passkeyRemoved: {"A passkey was removed from your account", "A passkey was removed from your merchant account. All other browsers were signed out."},
	passkeyCopied: {
		"A passkey of your account was refused",
		"A passkey of your merchant account was refused at a sign-in: there may be a copy of it. It is not valid any more. Sign in with a code, and remove it.",
	},
}

// mailPasskey queues a message to the merchant.
func (d *Dashboard) mailPasskey(ctx context.Context, what string, k store.Passkey) {
	if d.Post != nil {
		d.Post(ctx, what+" "+k.Subject+" "+k.ID)
	}
}

// PasskeyLetter writes a message of the kind [PasskeyMail].
func (d *Dashboard) PasskeyLetter(ctx context.Context, subject string) (letter.Letter, error) {
	what, rest, _ := strings.Cut(subject, " ")
	merchantID, _, _ := strings.Cut(rest, " ")
	words, ok := passkeyLetters[what]
	if !ok {
		return letter.Letter{}, fmt.Errorf("a message about passkeys: %q", what)
	}
	m, err := d.Store.Merchant(ctx, merchantID)
	if err != nil {
		return letter.Letter{}, err
	}
	return letter.Letter{
		To: m.Email, Subject: words.subject, Intro: words.intro, Action: "Your passkeys", Link: d.Site.BaseURL + Root + passkeysPath,
		Notes: []string{"If this was not you, remove the passkeys that you do not know, and ask the operator of the service for help."}, Footer: m.ID,
	}, nil
}
