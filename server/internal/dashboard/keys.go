package dashboard

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

const (
	// maxKeys limits the valid API keys of a merchant.
	maxKeys = 20
	// maxLabel limits the label of a key, in characters.
	maxLabel = 60
)

// keysPage is the list of API keys, with a form for another one.
type keysPage struct {
	site.Faulty

	MerchantID, Label string
	Secret            string // of the key that was just created
	Scopes            []site.ScopeBox
	Rows              []keyRow
}

type keyRow struct {
	ID, Label, Hint, Scopes, Revoke string
	CreatedAt, RevokedAt            time.Time
	State                           site.Badge
}

func (d *Dashboard) showKeys(w http.ResponseWriter, v visit) {
	d.showKeysWith(w, v, http.StatusOK, keysPage{})
}

func (d *Dashboard) showKeysWith(w http.ResponseWriter, v visit, status int, page keysPage) {
	all, err := d.Store.APIKeys(v.Context(), v.merchant.ID)
	if err != nil {
		d.failed(w, v, err)
		return
	}
	page.MerchantID = v.merchant.ID
	for _, k := range slices.Backward(all) {
		row := keyRow{ID: k.ID(), Label: k.Label, Hint: "…" + k.Hint, Scopes: strings.Join(k.Scopes, ", "), CreatedAt: k.CreatedAt, RevokedAt: k.RevokedAt, State: site.Badge{Tone: site.Good, Text: "Valid"}}
		if k.RevokedAt.IsZero() {
			row.Revoke = Root + "/keys/" + k.ID() + "/revoke"
		} else {
			row.State = site.Badge{Tone: site.Neutral, Text: "Revoked"}
		}
		page.Rows = append(page.Rows, row)
	}
	if page.Scopes == nil {
		page.Scopes = site.ScopeBoxes(client.KeyScopes(), nil)
	}
	d.show(w, v, "/keys", site.Page{Title: "API keys", Status: status, Content: page}, "keys")
}

// createKey takes the form. A valid key of the same label refuses it, so that a form that is
// sent twice creates one key.
func (d *Dashboard) createKey(w http.ResponseWriter, v visit) {
	label := strings.TrimSpace(v.PostForm.Get("label"))
	all, err := d.Store.APIKeys(v.Context(), v.merchant.ID)
	if err != nil {
		d.failed(w, v, err)
		return
	}
	valid := slices.DeleteFunc(all, func(k store.APIKey) bool { return !k.RevokedAt.IsZero() })
	scopes := site.ScopeBoxes(client.KeyScopes(), v.PostForm)
	problem, wrong := "", "label"
	switch {
	case label == "":
		problem = "Name the key after the program that will use it."
	case text.Check(label, maxLabel) != nil:
		problem = "The name " + text.Check(label, maxLabel).Error() + "."
	case slices.ContainsFunc(valid, func(k store.APIKey) bool { return k.Label == label }):
		problem = "You have a valid key of this name. Its secret was shown when it was created, and cannot be shown again."
	case len(valid) >= maxKeys:
		problem = "You have 20 valid keys, the most that an account can have. Revoke one first."
	case len(site.Checked(scopes)) == 0:
		problem, wrong = "Choose what the key may do.", "scope"
	}
	if problem != "" {
		d.showKeysWith(w, v, http.StatusUnprocessableEntity, keysPage{Label: label, Scopes: scopes, Faulty: site.Faulty{Error: problem, Wrong: wrong}})
		return
	}
	plain, key := d.Keys.NewKey(v.merchant.ID, label, site.Checked(scopes))
	if err := d.Keys.AddKey(v.Context(), key); err != nil {
		d.failed(w, v, err)
		return
	}
	d.did(v, "api-key.create", v.merchant.ID, slog.String("keyId", key.ID()), slog.String("scopes", strings.Join(key.Scopes, " ")))
	d.mail(v.Context(), keyCreated, v.merchant.ID, key.ID())
	d.showKeysWith(w, v, http.StatusCreated, keysPage{Secret: plain})
}

// revokeKey takes the form. Sending it again changes nothing.
func (d *Dashboard) revokeKey(w http.ResponseWriter, v visit) {
	all, err := d.Store.APIKeys(v.Context(), v.merchant.ID)
	if err != nil {
		d.failed(w, v, err)
		return
	}
	i := slices.IndexFunc(all, func(k store.APIKey) bool { return k.ID() == v.PathValue("keyId") })
	if i < 0 {
		d.failed(w, v, ledger.ErrNotFound)
		return
	}
	if all[i].RevokedAt.IsZero() {
		if _, err := d.Store.RevokeAPIKey(v.Context(), all[i].Hash, d.Clock()); err != nil {
			d.failed(w, v, err)
			return
		}
		d.did(v, "api-key.revoke", v.merchant.ID, slog.String("keyId", all[i].ID()))
	}
	back(w, v, "/keys")
}
