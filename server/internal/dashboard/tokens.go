package dashboard

import (
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/store"
)

const (
	// tokenLife is the lifetime of an access token.
	tokenLife = 90 * 24 * time.Hour
	// allMandates is the choice of every mandate of the account.
	allMandates = "all"
	// maxOffered limits the mandates that a token can be bound to here.
	maxOffered = 100
)

// tokensPage is the list of access tokens, with a form for another one.
type tokensPage struct {
	site.Faulty
	site.Pager

	Name, Mandate, Secret string
	Scopes                []site.ScopeBox
	Mandates              []mandateRow
	Rows                  []tokenRow
}

type tokenRow struct {
	Name, Hint, Scopes, Mandate, Revoke string
	UsedAt, ExpiresAt                   time.Time
	State                               site.Badge
}

func (d *Dashboard) showTokens(w http.ResponseWriter, v visit) {
	d.showTokensWith(w, v, http.StatusOK, tokensPage{})
}

func (d *Dashboard) showTokensWith(w http.ResponseWriter, v visit, status int, page tokensPage) {
	before := v.URL.Query().Get("before")
	if !id.Valid(id.AccessToken, before) {
		before = ""
	}
	list, err := d.Tokens.Tokens(v.Context(), v.merchant.ID, before, pageSize+1)
	if err == nil {
		page.Mandates, err = d.usableMandates(v)
	}
	if err != nil {
		d.failed(w, v, err)
		return
	}
	if before != "" {
		page.First = Root + "/tokens"
	}
	if len(list) > pageSize {
		list = list[:pageSize]
		page.Next = Root + "/tokens?before=" + list[pageSize-1].ID
	}
	for _, t := range list {
		page.Rows = append(page.Rows, d.tokenRow(t))
	}
	if page.Scopes == nil {
		page.Scopes = site.ScopeBoxes(client.Scopes(), nil)
	}
	d.show(w, v, "/tokens", site.Page{Title: "Access tokens", Status: status, Content: page}, "tokens")
}

func (d *Dashboard) tokenRow(t store.AccessToken) tokenRow {
	row := tokenRow{
		Name: t.Name, Hint: "…" + t.Hint, Scopes: strings.Join(t.Scopes, ", "), Mandate: t.MandateID, UsedAt: t.UsedAt, ExpiresAt: t.ExpiresAt,
		State: site.Badge{Tone: site.Good, Text: "Valid"},
	}
	switch {
	case !t.RevokedAt.IsZero():
		row.State = site.Badge{Tone: site.Neutral, Text: "Revoked"}
	case !d.Clock().Before(t.ExpiresAt):
		row.State = site.Badge{Tone: site.Neutral, Text: "Expired"}
	default:
		row.Revoke = Root + "/tokens/" + t.ID + "/revoke"
	}
	return row
}

// usableMandates returns the newest mandates of the merchant that a token can use.
func (d *Dashboard) usableMandates(v visit) ([]mandateRow, error) {
	list, err := d.Store.UsableMandatesOf(v.Context(), v.merchant.ID, d.Clock(), maxOffered)
	var rows []mandateRow
	for _, m := range list {
		rows = append(rows, mandateRow{ID: m.ID, Limit: site.Dollars(m.Terms.MaxMonthly), ExpiresAt: m.Terms.ExpiresAt})
	}
	return rows, err
}

// createToken takes the form. A valid token of the same name refuses it, so that a form that
// is sent twice creates one token.
func (d *Dashboard) createToken(w http.ResponseWriter, v visit) {
	page := tokensPage{
		Name: strings.TrimSpace(v.PostForm.Get("name")), Mandate: v.PostForm.Get("mandate"), Scopes: site.ScopeBoxes(client.Scopes(), v.PostForm),
	}
	t := store.AccessToken{MerchantID: v.merchant.ID, Name: page.Name, Scopes: site.Checked(page.Scopes)}
	mandates, err := d.usableMandates(v)
	if err == nil {
		page.Faulty, err = d.tokenProblem(v, t, page, mandates)
	}
	if err != nil {
		d.failed(w, v, err)
		return
	}
	if page.Error != "" {
		d.showTokensWith(w, v, http.StatusUnprocessableEntity, page)
		return
	}
	if page.Mandate != allMandates {
		t.MandateID = page.Mandate
	}
	plain, t, err := d.Tokens.IssueToken(v.Context(), t, tokenLife)
	var full *client.Error
	switch {
	case errors.As(err, &full):
		page.Faulty = site.Faulty{Error: full.Message}
		d.showTokensWith(w, v, http.StatusUnprocessableEntity, page)
	case err != nil:
		d.failed(w, v, err)
	default:
		d.did(v, "token.create", t.ID, slog.String("scopes", strings.Join(t.Scopes, " ")), slog.String("mandateId", t.MandateID))
		d.record(v, audit.TokenCreated, "tokenId", t.ID)
		d.showTokensWith(w, v, http.StatusCreated, tokensPage{Secret: plain})
	}
}

// tokenProblem says what is wrong with the form.
func (d *Dashboard) tokenProblem(v visit, t store.AccessToken, page tokensPage, mandates []mandateRow) (site.Faulty, error) {
	latest, err := d.Tokens.Tokens(v.Context(), v.merchant.ID, "", pageSize)
	taken := slices.ContainsFunc(latest, func(other store.AccessToken) bool { return other.Name == t.Name && d.tokenRow(other).Revoke != "" })
	named := slices.ContainsFunc(mandates, func(m mandateRow) bool { return m.ID == page.Mandate })
	switch {
	case t.Name == "":
		return site.Faulty{Error: "Name the token after the agent that will use it.", Wrong: "name"}, err
	case text.Check(t.Name, maxName) != nil:
		return site.Faulty{Error: "The name " + text.Check(t.Name, maxName).Error() + ".", Wrong: "name"}, err
	case taken:
		return site.Faulty{Error: "You have a valid token of this name. It was shown when it was created, and cannot be shown again.", Wrong: "name"}, err
	case len(t.Scopes) == 0:
		return site.Faulty{Error: "Choose what the agent may do.", Wrong: "scope"}, err
	case !named && page.Mandate != allMandates:
		return site.Faulty{Error: "Choose which mandate the agent may use.", Wrong: "mandate"}, err
	case !v.merchant.Active:
		return site.Faulty{Error: "Your account is suspended, so it can create no token."}, err
	}
	return site.Faulty{}, err
}

// revokeToken takes the form. Sending it again changes nothing.
func (d *Dashboard) revokeToken(w http.ResponseWriter, v visit) {
	t, revoked, err := d.Tokens.RevokeToken(v.Context(), v.merchant.ID, v.PathValue("tokenId"))
	if err != nil {
		d.failed(w, v, err)
		return
	}
	if revoked {
		d.did(v, "token.revoke", t.ID)
		d.record(v, audit.TokenRevoked, "tokenId", t.ID)
	}
	back(w, v, "/tokens")
}
