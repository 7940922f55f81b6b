package dashboard

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/internal/signin"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// accountsPage lets who proved an address choose an account of it, or create one.
type accountsPage struct {
	site.Faulty

	Email, Name, Website string
	Accounts             []ledger.Merchant
	SignUp               bool
}

// maxName limits the name of a merchant and its website, in characters.
const maxName = 100

// provenEmail returns the address of a session without a merchant, or answers otherwise.
func (d *Dashboard) provenEmail(w http.ResponseWriter, r *http.Request) (string, bool) {
	account, ok := d.sessions.Account(r.Context())
	switch {
	case !ok:
		http.Redirect(w, r, SignInPath, http.StatusSeeOther)
		return "", false
	case account.Kind == signin.Merchant:
		http.Redirect(w, r, Root, http.StatusSeeOther)
		return "", false
	}
	return account.ID, true
}

func (d *Dashboard) showAccounts(w http.ResponseWriter, r *http.Request) {
	if email, ok := d.provenEmail(w, r); ok {
		d.showAccountsWith(w, r, http.StatusOK, accountsPage{Email: email})
	}
}

func (d *Dashboard) showAccountsWith(w http.ResponseWriter, r *http.Request, status int, page accountsPage) {
	var err error
	if page.Accounts, err = d.Store.MerchantsByEmail(r.Context(), page.Email, maxAccounts); err != nil {
		d.Site.Failed(w, r, err)
		return
	}
	page.SignUp = d.SignUp && len(page.Accounts) == 0
	d.Site.Render(w, r, site.Page{Template: d.pages["account"], Title: "Your account", Status: status, Content: page})
}

// chooseAccount takes the form: one of the accounts of the address, or the name of a new one.
func (d *Dashboard) chooseAccount(w http.ResponseWriter, r *http.Request) {
	email, ok := d.provenEmail(w, r)
	if !ok {
		return
	}
	all, err := d.Store.MerchantsByEmail(r.Context(), email, maxAccounts)
	if err != nil {
		d.Site.Failed(w, r, err)
		return
	}
	chosen := ""
	for _, m := range all {
		if m.ID == r.PostForm.Get("merchant") || len(all) == 1 { // a form that is sent twice signs in to the account of the first
			chosen = m.ID
		}
	}
	switch {
	case chosen != "":
	case len(all) > 0 || !d.SignUp:
		d.showAccountsWith(w, r, http.StatusUnprocessableEntity, accountsPage{Email: email, Faulty: site.Faulty{Error: "Choose an account."}})
		return
	default:
		name, website := strings.TrimSpace(r.PostForm.Get("name")), strings.TrimSpace(r.PostForm.Get("website"))
		if wrong := profileProblem(name, website); wrong.Error != "" {
			d.showAccountsWith(w, r, http.StatusUnprocessableEntity, accountsPage{Email: email, Name: name, Website: website, Faulty: wrong})
			return
		}
		var m ledger.Merchant
		if m, err = d.NewMerchant(r.Context(), name, website, email); err == nil {
			chosen = m.ID
		}
	}
	if err == nil {
		if err = d.sessions.Switch(r.Context(), merchantAccount(chosen, email)); err == nil {
			d.Audit.Did(r.Context(), audit.Merchant(chosen), "sign-in", chosen)
		}
	}
	if err != nil {
		d.Site.Failed(w, r, err)
		return
	}
	d.arrive(w, r)
}

// profileProblem says what is wrong with what people see of a merchant.
func profileProblem(name, website string) site.Faulty {
	if name == "" {
		return site.Faulty{Error: "Enter the name that people know you by.", Wrong: "name"}
	}
	if err := text.Check(name, maxName); err != nil {
		return site.Faulty{Error: "The name " + err.Error() + ".", Wrong: "name"}
	}
	u, err := url.Parse(website)
	if website != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || text.Check(website, maxName) != nil) {
		return site.Faulty{Error: "The website must be a URL such as https://shop.example.", Wrong: "website"}
	}
	return site.Faulty{}
}
