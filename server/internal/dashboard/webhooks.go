package dashboard

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/webhook"
)

// webhooksPage is the list of endpoints, with a form for another one.
type webhooksPage struct {
	site.Faulty

	URL   string
	Types []option
	Rows  []endpointRow
}

type endpointRow struct {
	ID, Page, URL, Types string
	State                site.Badge
	CreatedAt            time.Time
}

func endpointRowOf(e store.WebhookEndpoint) endpointRow {
	row := endpointRow{ID: e.ID, Page: Root + "/webhooks/" + e.ID, URL: e.URL, Types: "All events", State: endpointBadge(e), CreatedAt: e.CreatedAt}
	if len(e.Types) > 0 {
		names := make([]string, len(e.Types))
		for i, t := range e.Types {
			names[i] = string(t)
		}
		row.Types = strings.Join(names, ", ")
	}
	return row
}

func (d *Dashboard) showWebhooks(w http.ResponseWriter, v visit) {
	d.showWebhooksWith(w, v, http.StatusOK, webhooksPage{}, nil)
}

func (d *Dashboard) showWebhooksWith(w http.ResponseWriter, v visit, status int, page webhooksPage, types []webhook.Type) {
	all, err := d.Webhooks.Endpoints(v.Context(), v.merchant.ID)
	if err != nil {
		d.failed(w, v, err)
		return
	}
	for _, e := range all {
		page.Rows = append(page.Rows, endpointRowOf(e))
	}
	for _, t := range webhook.Types() {
		page.Types = append(page.Types, option{Value: string(t), Text: string(t), Selected: slices.Contains(types, t)})
	}
	d.show(w, v, "/webhooks", site.Page{Title: "Webhooks", Status: status, Content: page}, "webhooks")
}

// createEndpoint takes the form. A URL that has an endpoint refuses it, so that a form that is
// sent twice creates one endpoint.
func (d *Dashboard) createEndpoint(w http.ResponseWriter, v visit) {
	to := strings.TrimSpace(v.PostForm.Get("url"))
	var types []webhook.Type
	for _, t := range webhook.Types() {
		if slices.Contains(v.PostForm["event"], string(t)) {
			types = append(types, t)
		}
	}
	problem := ""
	var e store.WebhookEndpoint
	var secret string
	err := d.Receiver(to)
	if err != nil {
		problem, err = "The URL "+err.Error()+".", nil
	} else if e, secret, err = d.Webhooks.CreateEndpoint(v.Context(), v.merchant.ID, to, types); errors.Is(err, store.ErrEndpointExists) {
		problem = "You have an endpoint with this URL."
	} else if errors.Is(err, store.ErrTooManyEndpoints) {
		problem = "You have 16 endpoints, the most that an account can have. Delete one first."
	}
	switch {
	case problem != "":
		page := webhooksPage{URL: to, Faulty: site.Faulty{Error: problem, Wrong: "url"}}
		d.showWebhooksWith(w, v, http.StatusUnprocessableEntity, page, types)
	case err != nil:
		d.failed(w, v, err)
	default:
		d.did(v, "endpoint.create", e.ID)
		d.record(v, audit.SecretCreated, "endpointId", e.ID)
		d.showEndpointWith(w, v, http.StatusCreated, e, endpointPage{Secret: secret})
	}
}

// endpointPage is the page of one endpoint.
type endpointPage struct {
	endpointRow

	Secret   string // that was just created
	Version  string // of the secret, so that a form that is sent twice rotates it once
	Error    string
	Test     *testResult
	Disabled string
	Facts    []fact
}

type testResult struct {
	State         site.Badge
	Status        int
	Error, Answer string
}

// endpointOf returns the endpoint of a path.
func (d *Dashboard) endpointOf(v visit) (store.WebhookEndpoint, error) {
	endpointID := v.PathValue("endpointId")
	if !id.Valid(id.WebhookEndpoint, endpointID) {
		return store.WebhookEndpoint{}, ledger.ErrNotFound
	}
	return d.Webhooks.Endpoint(v.Context(), v.merchant.ID, endpointID)
}

func (d *Dashboard) showEndpoint(w http.ResponseWriter, v visit) {
	e, err := d.endpointOf(v)
	if err != nil {
		d.failed(w, v, err)
		return
	}
	d.showEndpointWith(w, v, http.StatusOK, e, endpointPage{})
}

// secretVersion identifies a secret without revealing it: a hash of its sealed form.
func secretVersion(e store.WebhookEndpoint) string { return id.Hash(string(e.Secret))[:16] }

func (d *Dashboard) showEndpointWith(w http.ResponseWriter, v visit, status int, e store.WebhookEndpoint, page endpointPage) {
	page.endpointRow, page.Version, page.Disabled = endpointRowOf(e), secretVersion(e), e.Disabled
	page.Facts = []fact{{"Endpoint", e.ID}, {"Events", page.Types}, {"Created", e.CreatedAt}}
	if !e.FailingSince.IsZero() {
		page.Facts = append(page.Facts, fact{"Failing since", e.FailingSince}, fact{"Failures in a row", site.Count(int64(e.Failures))})
	}
	if d.Clock().Before(e.PreviousUntil) {
		page.Facts = append(page.Facts, fact{"Signed with the previous secret too until", e.PreviousUntil})
	}
	d.show(w, v, "/webhooks", site.Page{Title: "Webhook endpoint", Status: status, Content: page}, "endpoint")
}

func (d *Dashboard) deleteEndpoint(w http.ResponseWriter, v visit) {
	e, err := d.endpointOf(v)
	if err == nil {
		err = d.Webhooks.DeleteEndpoint(v.Context(), v.merchant.ID, e.ID)
	}
	if err != nil {
		d.failed(w, v, err)
		return
	}
	d.did(v, "endpoint.delete", e.ID)
	back(w, v, "/webhooks")
}

// rotateSecret takes the form. If the secret is another one than the form knew, it is not
// rotated again: the one that was shown before would be lost.
func (d *Dashboard) rotateSecret(w http.ResponseWriter, v visit) {
	e, err := d.endpointOf(v)
	if err != nil {
		d.failed(w, v, err)
		return
	}
	const already = "The secret was rotated since you opened this page. The new one was shown then."
	if v.PostForm.Get("version") != secretVersion(e) {
		d.showEndpointWith(w, v, http.StatusConflict, e, endpointPage{Error: already})
		return
	}
	fresh, secret, err := d.Webhooks.RotateSecret(v.Context(), v.merchant.ID, e.ID)
	switch {
	case errors.Is(err, ledger.ErrConflict):
		d.showEndpointWith(w, v, http.StatusConflict, e, endpointPage{Error: already})
	case err != nil:
		d.failed(w, v, err)
	default:
		d.did(v, "endpoint.rotate-secret", e.ID)
		d.record(v, audit.SecretRotated, "endpointId", e.ID)
		d.showEndpointWith(w, v, http.StatusOK, fresh, endpointPage{Secret: secret})
	}
}

func (d *Dashboard) testEndpoint(w http.ResponseWriter, v visit) {
	e, err := d.endpointOf(v)
	if err != nil {
		d.failed(w, v, err)
		return
	}
	sent, err := d.Webhooks.TestEndpoint(v.Context(), v.merchant.ID, e.ID)
	if err != nil {
		d.failed(w, v, err)
		return
	}
	d.did(v, "endpoint.test", e.ID)
	result := &testResult{State: deliveryBadge(sent), Status: sent.HTTPStatus, Error: sent.Error, Answer: sent.Answer}
	d.showEndpointWith(w, v, http.StatusOK, e, endpointPage{Test: result})
}
