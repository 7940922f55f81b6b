package oauth

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

const (
	// allMandates is the choice of every mandate of the account.
	allMandates = "all"
	// maxMandates limits the mandates that are offered.
	maxMandates = 100
)

// consentPage asks whether an app may act for the merchant.
type consentPage struct {
	site.Faulty

	Action   string // the address of the request itself
	Key      string
	App      string
	Host     string // proven; empty: the app registered itself
	Account  string
	SendsTo  string
	Loopback bool
	Scopes   []site.ScopeBox
	Mandates []mandateChoice
	All      bool // every mandate was chosen
}

type mandateChoice struct {
	ID, Limit string
	ExpiresAt time.Time
	Chosen    bool
}

// ask shows the page of a request.
func (s *Service) ask(w http.ResponseWriter, r *http.Request, m ledger.Merchant, browser string) {
	req, err := s.parse(r.Context(), r, m)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	all, err := s.mandates(r, m)
	if err != nil {
		s.Site.Failed(w, r, err)
		return
	}
	s.show(w, r, http.StatusOK, s.page(r, req, m, browser, all))
}

// page returns the page of a request on which nothing was changed yet.
func (s *Service) page(r *http.Request, req request, m ledger.Merchant, browser string, all []ledger.Mandate) consentPage {
	page := consentPage{
		Action: r.URL.RequestURI(), Key: s.key(r, m, browser), App: cmp.Or(shown(req.app.Name), "An app without a name"), Host: req.app.Host,
		Account: m.Name, SendsTo: req.to.host, Loopback: req.to.loopback, Scopes: site.ScopeBoxes(req.scopes, r.PostForm),
	}
	for _, one := range all {
		page.Mandates = append(page.Mandates, mandateChoice{ID: one.ID, Limit: site.Dollars(one.Terms.MaxMonthly), ExpiresAt: one.Terms.ExpiresAt})
	}
	return page
}

func (s *Service) show(w http.ResponseWriter, r *http.Request, status int, page consentPage) {
	to, _ := parseRedirect(r.URL.Query().Get("redirect_uri")) // it was checked
	s.Site.Render(w, r, site.Page{Template: s.consent, Title: "Connect an app", Status: status, Content: page, LeadsTo: to.source()})
}

// mandates returns the mandates that an app can be bound to.
func (s *Service) mandates(r *http.Request, m ledger.Merchant) ([]ledger.Mandate, error) {
	return s.Store.UsableMandatesOf(r.Context(), m.ID, s.Clock(), maxMandates)
}

// key authenticates the form for one request, merchant and session, so that no other site and
// no other session can send it.
func (s *Service) key(r *http.Request, m ledger.Merchant, browser string) string {
	mac := hmac.New(sha256.New, s.Secret)
	for _, part := range []string{"consent", browser, m.ID, r.URL.RawQuery} {
		_, _ = fmt.Fprintf(mac, "%d %s", len(part), part) // never fails
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// decide takes the form.
func (s *Service) decide(w http.ResponseWriter, r *http.Request, m ledger.Merchant, browser string) {
	req, err := s.parse(r.Context(), r, m)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	if !s.Site.ParseForm(w, r) {
		return
	}
	if !hmac.Equal([]byte(r.PostForm.Get("key")), []byte(s.key(r, m, browser))) {
		s.Site.Message(w, r, http.StatusForbidden, site.Message{
			Badge: site.Badge{Tone: site.Bad, Text: "Refused"}, Headline: "Open the page again",
			Text: "You signed in again since the page was opened. Nothing was decided.", Next: r.URL.RequestURI(), Action: "Open the page",
		})
		return
	}
	if r.PostForm.Get("decision") != "allow" {
		back := req.answer(s.BaseURL, url.Values{"error": {"access_denied"}, "error_description": {"the merchant did not allow it"}})
		http.Redirect(w, r, back, http.StatusSeeOther) //nolint:gosec // a registered address, and the merchant decided
		return
	}
	all, err := s.mandates(r, m)
	if err != nil {
		s.Site.Failed(w, r, err)
		return
	}
	page := s.page(r, req, m, browser, all)
	grant, problem, err := s.granted(r, req, m, &page)
	switch {
	case err != nil:
		s.Site.Failed(w, r, err)
	case problem.Error != "":
		page.Faulty = problem
		s.show(w, r, http.StatusUnprocessableEntity, page)
	default:
		s.allow(w, r, req, grant)
	}
}

// granted reads what the merchant grants. The page shows the choices again.
func (s *Service) granted(r *http.Request, req request, m ledger.Merchant, page *consentPage) (store.OAuthGrant, site.Faulty, error) {
	now := s.Clock()
	g := store.OAuthGrant{
		ID: id.New(id.Grant, now), MerchantID: m.ID, ClientID: req.app.ID, ClientName: page.App, RedirectURI: req.to.text, Challenge: req.challenge,
		Resource: req.resource, Scopes: site.Checked(page.Scopes), CreatedAt: now, ExpiresAt: now.Add(codeLifetime),
	}
	chosen := r.PostForm.Get("mandate")
	page.All = chosen == allMandates
	for i, one := range page.Mandates {
		if page.Mandates[i].Chosen = one.ID == chosen; page.Mandates[i].Chosen {
			g.MandateID = one.ID
		}
	}
	connected, err := s.Store.OAuthGrants(r.Context(), m.ID, now, MaxGrants)
	switch {
	case err != nil:
		return g, site.Faulty{}, err
	case !m.Active:
		return g, site.Faulty{Error: "Your account is suspended, so it can connect no app."}, nil
	case len(connected) == MaxGrants:
		return g, site.Faulty{Error: fmt.Sprintf("%d apps are connected, the most that an account can have. Disconnect one first.", MaxGrants)}, nil
	case len(g.Scopes) == 0:
		return g, site.Faulty{Error: "Choose what the app may do, or do not connect it.", Wrong: "scope"}, nil
	case g.MandateID == "" && !page.All:
		return g, site.Faulty{Error: "Choose which mandate the app may use.", Wrong: "mandate"}, nil
	}
	return g, site.Faulty{}, nil
}

// allow stores the grant and sends the code to the app.
func (s *Service) allow(w http.ResponseWriter, r *http.Request, req request, g store.OAuthGrant) {
	code := id.NewCapability(id.Code)
	err := s.Store.AddOAuthGrant(r.Context(), g, store.OAuthSecret{Hash: id.Hash(code), GrantID: g.ID, Kind: store.SecretCode, ExpiresAt: g.ExpiresAt})
	if err != nil {
		s.Site.Failed(w, r, err)
		return
	}
	s.Audit.Did(r.Context(), audit.Merchant(g.MerchantID), "app.connect", g.ID, slog.String("clientId", g.ClientID),
		slog.String("scopes", strings.Join(g.Scopes, " ")), slog.String("mandateId", g.MandateID))
	s.Audit.Record(r.Context(), audit.AppConnected, slog.String("merchantId", g.MerchantID), slog.String("grantId", g.ID))
	site.Private(w.Header())
	http.Redirect(w, r, req.answer(s.BaseURL, url.Values{"code": {code}}), http.StatusSeeOther) //nolint:gosec // as above
}
