package dashboard

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/x402"
)

// settings is the page of what a merchant decides about its account.
type settings struct {
	site.Faulty

	ID, Email, Name, Website, Limit, Operator string
	Saved                                     bool
	Wallet                                    *walletForm // nil: no rail pays to wallets
}

// walletForm asks for the proof of a wallet.
type walletForm struct {
	Current, Text, At, Error string
}

// proofFor is how long the text that a wallet signs is accepted.
const proofFor = 10 * time.Minute

func (d *Dashboard) showSettings(w http.ResponseWriter, v visit) {
	limit := ""
	if v.merchant.OwnMaxCharge > 0 {
		limit = site.Decimal(v.merchant.OwnMaxCharge)
	}
	d.showSettingsWith(w, v, http.StatusOK, settings{
		Name: v.merchant.Name, Website: v.merchant.Website, Limit: limit, Saved: v.URL.Query().Has("saved"),
	}, "")
}

func (d *Dashboard) showSettingsWith(w http.ResponseWriter, v visit, status int, page settings, walletProblem string) {
	page.ID, page.Email = v.merchant.ID, v.merchant.Email
	if v.merchant.MaxCharge > 0 {
		page.Operator = site.Dollars(v.merchant.MaxCharge)
	}
	shown := site.Page{Title: "Settings", Status: status}
	if d.Wallets != nil {
		at := d.Clock().UTC().Format(time.RFC3339)
		page.Wallet = &walletForm{Current: v.merchant.PayTo, At: at, Text: d.proofText(v.merchant.ID, "{wallet}", at), Error: walletProblem}
		shown.Scripts = []*site.Asset{d.Site.Sign}
	}
	shown.Content = page
	d.show(w, v, "/settings", shown, "settings")
}

// proofText is what a wallet signs. It names the service and the merchant, so that the
// signature proves nothing elsewhere.
func (d *Dashboard) proofText(merchantID, wallet, at string) string {
	return "I own the wallet " + wallet + ". " + d.Site.BaseURL + " shall pay the merchant " + merchantID + " to it. Signed at " + at + "."
}

// setProfile takes the form of the name, the website and the limit.
func (d *Dashboard) setProfile(w http.ResponseWriter, v visit) {
	in := settings{
		Name: strings.TrimSpace(v.PostForm.Get("name")), Website: strings.TrimSpace(v.PostForm.Get("website")), Limit: strings.TrimSpace(v.PostForm.Get("limit")),
	}
	in.Faulty = profileProblem(in.Name, in.Website)
	var limit ledger.Micros
	if in.Error == "" && in.Limit != "" {
		var err error
		if limit, err = site.ParseDollars(in.Limit); err != nil || limit <= 0 || !wholeCents(limit) {
			in.Faulty = site.Faulty{Error: "The limit must be an amount such as 25 or 12.50.", Wrong: "limit"}
		}
	}
	if in.Error != "" {
		d.showSettingsWith(w, v, http.StatusUnprocessableEntity, in, "")
		return
	}
	p := store.MerchantProfile{Name: in.Name, Website: in.Website, OwnMaxCharge: limit}
	if err := d.Store.SetMerchantProfile(v.Context(), v.merchant.ID, p); err != nil {
		d.failed(w, v, err)
		return
	}
	d.did(v, "merchant.set-profile", v.merchant.ID, slog.Int64("maxChargeMicros", int64(limit)))
	back(w, v, "/settings?saved")
}

// setWallet takes a wallet with its signature. Sending the form again changes nothing.
func (d *Dashboard) setWallet(w http.ResponseWriter, v visit) {
	problem, err := d.proveWallet(v)
	switch {
	case err != nil:
		d.failed(w, v, err)
	case problem != "":
		m := v.merchant
		page := settings{Name: m.Name, Website: m.Website}
		if m.OwnMaxCharge > 0 {
			page.Limit = site.Decimal(m.OwnMaxCharge)
		}
		d.showSettingsWith(w, v, http.StatusUnprocessableEntity, page, problem)
	default:
		back(w, v, "/settings?saved")
	}
}

// proveWallet sets the wallet of a form. The problem says what to do instead.
func (d *Dashboard) proveWallet(v visit) (problem string, err error) {
	if d.Wallets == nil {
		return "", ledger.ErrNotFound
	}
	wallet, at := v.PostForm.Get("wallet"), v.PostForm.Get("at")
	address, err := x402.ParseAddress(wallet)
	if err != nil {
		return "Your wallet gave no address.", nil //nolint:nilerr // the person reads it
	}
	signedAt, err := time.Parse(time.RFC3339, at)
	if age := d.Clock().Sub(signedAt); err != nil || age > proofFor || age < -time.Minute {
		return "This page was opened too long ago. Try again now.", nil //nolint:nilerr // the person reads it
	}
	text := d.proofText(v.merchant.ID, strings.ToLower(wallet), at)
	err = d.Wallets.VerifySigned(v.Context(), address, text, v.PostForm.Get("signature"))
	if errors.Is(err, rail.ErrSignature) {
		return "This was not signed by the wallet " + address + ".", nil
	}
	if err != nil || address == v.merchant.PayTo {
		return "", err
	}
	err = d.Store.SetMerchantWallet(v.Context(), v.merchant.ID, address)
	if errors.Is(err, ledger.ErrConflict) {
		return "Another merchant is paid to this wallet.", nil
	}
	if err == nil {
		d.did(v, "merchant.set-wallet", v.merchant.ID, slog.String("payTo", address), slog.String("previous", v.merchant.PayTo))
		d.mail(v.Context(), walletChanged, v.merchant.ID, address, cmp.Or(v.merchant.PayTo, "-"))
	}
	return "", err
}
