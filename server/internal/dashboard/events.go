package dashboard

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// eventsPage is the list of events.
type eventsPage struct {
	site.Pager

	Rows []eventRow
}

type eventRow struct {
	ID, URL, Type string
	At            time.Time
	States        []site.Badge // of the deliveries
}

func (d *Dashboard) showEvents(w http.ResponseWriter, v visit) {
	before := v.URL.Query().Get("before")
	if !id.Valid(id.Event, before) {
		before = ""
	}
	list, err := d.Webhooks.Events(v.Context(), v.merchant.ID, before, "", pageSize+1, 0)
	if err != nil {
		d.failed(w, v, err)
		return
	}
	var page eventsPage
	if before != "" {
		page.First = Root + "/events"
	}
	if len(list) > pageSize {
		list = list[:pageSize]
		page.Next = Root + "/events?before=" + list[pageSize-1].ID
	}
	for _, e := range list {
		sent, err := d.Webhooks.Deliveries(v.Context(), v.merchant.ID, e.ID)
		if err != nil {
			d.failed(w, v, err)
			return
		}
		row := eventRow{ID: e.ID, URL: Root + "/events/" + e.ID, Type: string(e.Type), At: e.CreatedAt}
		for _, s := range sent {
			row.States = append(row.States, deliveryBadge(s))
		}
		page.Rows = append(page.Rows, row)
	}
	d.show(w, v, "/webhooks", site.Page{Title: "Events", Content: page}, "events")
}

// eventPage is the page of one event: what is sent, and what endpoints answered.
type eventPage struct {
	ID, Type, Body, Redeliver string
	At                        time.Time
	Sent                      bool
	Deliveries                []deliveryRow
}

type deliveryRow struct {
	URL, Endpoint, Error, Answer string
	State                        site.Badge
	Status, Attempts             int
	TriedAt, Next                time.Time
}

// eventOf returns the event of a path.
func (d *Dashboard) eventOf(v visit) (ledger.Event, error) {
	eventID := v.PathValue("eventId")
	if !id.Valid(id.Event, eventID) {
		return ledger.Event{}, ledger.ErrNotFound
	}
	return d.Webhooks.Event(v.Context(), v.merchant.ID, eventID)
}

func (d *Dashboard) showEvent(w http.ResponseWriter, v visit) {
	e, err := d.eventOf(v)
	if err != nil {
		d.failed(w, v, err)
		return
	}
	page := eventPage{
		ID: e.ID, Type: string(e.Type), At: e.CreatedAt, Redeliver: Root + "/events/" + e.ID + "/redeliver",
		Sent: v.URL.Query().Has("sent"),
	}
	var body bytes.Buffer
	if json.Indent(&body, d.Webhooks.Body(e), "", "  ") == nil {
		page.Body = body.String()
	}
	if page.Deliveries, err = d.deliveries(v, e); err != nil {
		d.failed(w, v, err)
		return
	}
	d.show(w, v, "/webhooks", site.Page{Title: "Event " + e.ID, Content: page}, "event")
}

func (d *Dashboard) deliveries(v visit, e ledger.Event) ([]deliveryRow, error) {
	sent, err := d.Webhooks.Deliveries(v.Context(), v.merchant.ID, e.ID)
	if err != nil {
		return nil, err
	}
	endpoints, err := d.Webhooks.Endpoints(v.Context(), v.merchant.ID)
	if err != nil {
		return nil, err
	}
	rows := make([]deliveryRow, len(sent))
	for i, s := range sent {
		rows[i] = deliveryRow{
			Endpoint: Root + "/webhooks/" + s.EndpointID, State: deliveryBadge(s), Status: s.HTTPStatus, Attempts: s.Attempts, Error: s.Error,
			Answer: s.Answer, TriedAt: s.TriedAt,
		}
		if s.Status == store.DeliveryPending {
			rows[i].Next = s.Next
		}
		for _, one := range endpoints {
			if one.ID == s.EndpointID {
				rows[i].URL = one.URL
			}
		}
	}
	return rows, nil
}

func (d *Dashboard) redeliver(w http.ResponseWriter, v visit) {
	e, err := d.eventOf(v)
	if err == nil {
		_, err = d.Webhooks.Redeliver(v.Context(), v.merchant.ID, e.ID)
	}
	if err != nil {
		d.failed(w, v, err)
		return
	}
	d.did(v, "event.redeliver", e.ID)
	back(w, v, "/events/"+e.ID+"?sent")
}
