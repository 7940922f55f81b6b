package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// maxApps limits the apps that are listed. No account has more.
const maxApps = 200

type appRow struct {
	Name, Host, SendsTo, Scopes, Mandate, Disconnect string
	CreatedAt, UsedAt                                time.Time
}

// showApps lists the apps that act for the merchant by OAuth.
func (d *Dashboard) showApps(w http.ResponseWriter, v visit) {
	list, err := d.Store.OAuthGrants(v.Context(), v.merchant.ID, d.Clock(), maxApps)
	if err != nil {
		d.failed(w, v, err)
		return
	}
	var rows []appRow
	for _, g := range list {
		row := appRow{
			Name: g.ClientName, SendsTo: hostOf(g.RedirectURI), Scopes: strings.Join(g.Scopes, ", "), Mandate: g.MandateID, CreatedAt: g.CreatedAt, UsedAt: g.UsedAt,
			Disconnect: Root + "/apps/" + g.ID + "/disconnect",
		}
		if strings.HasPrefix(g.ClientID, "https://") {
			row.Host = hostOf(g.ClientID)
		}
		rows = append(rows, row)
	}
	d.show(w, v, "/apps", site.Page{Title: "Connected apps", Content: rows}, "apps")
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// disconnect takes the form: no token of the app is valid any more. Sending it again changes
// nothing.
func (d *Dashboard) disconnect(w http.ResponseWriter, v visit) {
	grantID := v.PathValue("grantId")
	g, err := d.Store.OAuthGrant(v.Context(), grantID)
	if err == nil && g.MerchantID != v.merchant.ID {
		err = ledger.ErrNotFound
	}
	revoked := false
	if err == nil {
		revoked, err = d.Store.RevokeOAuthGrant(v.Context(), v.merchant.ID, grantID, d.Clock())
	}
	if err != nil {
		d.failed(w, v, err)
		return
	}
	if revoked {
		d.did(v, "app.disconnect", grantID)
		d.record(v, audit.AppDisconnected, "grantId", grantID)
	}
	back(w, v, "/apps")
}
