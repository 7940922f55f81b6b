package dashboard

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/internal/signin"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

const (
	passkeysPath = "/passkeys"
	// maxPasskeys limits the passkeys of a merchant.
	maxPasskeys = 20
)

// passkeysPage is the list of passkeys, with a form for another one.
type passkeysPage struct {
	Name, Error string
	Rows        []passkeyRow
}

type passkeyRow struct {
	Name, Remove      string
	CreatedAt, UsedAt time.Time
	State             site.Badge
}

// passkeyOptions is the answer to the script: the options for the browser, or a problem.
type passkeyOptions struct {
	Options json.RawMessage `json:"options,omitempty"`
	Problem string          `json:"problem,omitempty"`
}

func (d *Dashboard) showPasskeys(w http.ResponseWriter, v visit) {
	d.showPasskeysWith(w, v, http.StatusOK, passkeysPage{})
}

func (d *Dashboard) showPasskeysWith(w http.ResponseWriter, v visit, status int, page passkeysPage) {
	all, err := d.Store.PasskeysOf(v.Context(), v.merchant.ID)
	if err != nil {
		d.failed(w, v, err)
		return
	}
	for _, k := range all {
		state := site.Badge{Tone: site.Good, Text: "Valid"}
		switch {
		case !k.SuspectAt.IsZero():
			state = site.Badge{Tone: site.Bad, Text: "Refused: there may be a copy"}
		case !strings.EqualFold(k.Email, v.merchant.Email):
			state = site.Badge{Tone: site.Neutral, Text: "Refused: of an earlier address"}
		}
		page.Rows = append(page.Rows, passkeyRow{
			Name: k.Name, CreatedAt: k.CreatedAt, UsedAt: k.UsedAt, State: state, Remove: Root + passkeysPath + "/" + k.ID + "/remove",
		})
	}
	d.show(w, v, passkeysPath, site.Page{Title: "Passkeys", Status: status, Content: page, Scripts: []*site.Asset{d.passkey}}, "passkeys")
}

// newPasskey returns the account that a passkey is added to, and what is wrong with its name.
func (d *Dashboard) newPasskey(v visit) (a signin.PasskeyAccount, name, problem string, err error) {
	all, err := d.Store.PasskeysOf(v.Context(), v.merchant.ID)
	name = strings.TrimSpace(v.PostForm.Get("name"))
	switch {
	case name == "":
		problem = "Name the passkey after the device that it is on."
	case text.Check(name, maxLabel) != nil:
		problem = "The name " + text.Check(name, maxLabel).Error() + "."
	case slices.ContainsFunc(all, func(k store.Passkey) bool { return k.Name == name }):
		problem = "You have a passkey of this name."
	case len(all) >= maxPasskeys:
		problem = "You have 20 passkeys, the most that an account can have. Remove one first."
	}
	return signin.PasskeyAccount{ID: v.merchant.ID, Email: v.merchant.Email, Name: v.merchant.Name, Passkeys: all}, name, problem, err
}

// askForNewPasskey answers the script with what the browser makes a passkey from.
func (d *Dashboard) askForNewPasskey(w http.ResponseWriter, v visit) {
	account, _, problem, err := d.newPasskey(v)
	var options json.RawMessage
	if err == nil && problem == "" {
		options, err = d.SignIns.AskForNewPasskey(v.Context(), account, d.sessions.Browser(v.Context()))
	}
	d.answerScript(w, v.Request, options, problem, err)
}

// answerScript answers the script of passkeys.
func (d *Dashboard) answerScript(w http.ResponseWriter, r *http.Request, options json.RawMessage, problem string, err error) {
	if errors.Is(err, signin.ErrTooMany) {
		problem, err = "Passkeys were asked for too often from your network. Try again tomorrow, or sign in with a code.", nil
	}
	if err != nil {
		d.Site.Failed(w, r, err)
		return
	}
	site.Private(w.Header())
	w.Header().Set("Content-Type", "application/json")
	if problem != "" {
		w.WriteHeader(http.StatusUnprocessableEntity)
	}
	_ = json.NewEncoder(w).Encode(passkeyOptions{options, problem}) // the client may have gone
}

// addPasskey takes the browser's answer. Sending it again changes nothing.
func (d *Dashboard) addPasskey(w http.ResponseWriter, v visit) {
	account, name, problem, err := d.newPasskey(v)
	var key store.Passkey
	if err == nil && problem == "" {
		key, err = d.SignIns.NewPasskey(v.Context(), account, d.sessions.Browser(v.Context()), v.PostForm.Get("answer"))
	}
	if err == nil && problem == "" {
		key.Name = name
		err = d.Store.AddPasskey(v.Context(), key)
	}
	switch {
	case errors.Is(err, signin.ErrNoChallenge):
		problem = "This took too long, or the form was sent twice. Try again."
	case errors.Is(err, signin.ErrPasskey), errors.Is(err, ledger.ErrConflict):
		problem = "Your browser's answer is no passkey for this service."
	case err != nil:
		d.failed(w, v, err)
		return
	}
	if problem != "" {
		d.showPasskeysWith(w, v, http.StatusUnprocessableEntity, passkeysPage{Name: name, Error: problem})
		return
	}
	d.did(v, "passkey.add", v.merchant.ID, slog.String("passkeyId", key.ID))
	d.mail(v.Context(), passkeyAdded, key.Subject, key.ID)
	back(w, v, passkeysPath)
}

// removePasskey takes the form, and signs out every other browser, since one may have been signed
// in by the passkey. Sending it again changes nothing.
func (d *Dashboard) removePasskey(w http.ResponseWriter, v visit) {
	key := store.Passkey{ID: v.PathValue("passkeyId"), Subject: v.merchant.ID}
	removed, err := d.Store.DeletePasskey(v.Context(), key.Subject, key.ID)
	if err == nil && removed {
		d.did(v, "passkey.remove", v.merchant.ID, slog.String("passkeyId", key.ID))
		d.mail(v.Context(), passkeyRemoved, key.Subject, key.ID)
		account := merchantAccount(v.merchant.ID, v.merchant.Email)
		if err = d.SignIns.EndAll(v.Context(), account); err == nil {
			err = d.sessions.Renew(v.Context(), account)
		}
	}
	if err != nil {
		d.failed(w, v, err)
		return
	}
	back(w, v, passkeysPath)
}
