package api

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// maxWait limits the seconds for which a request waits for an event. It is short, so that
// it does not delay the service's shutdown.
const maxWait = 10

// eventPage is client.EventPage with the events as sent to endpoints.
type eventPage struct {
	HasMore bool             `json:"hasMore"`
	Data    []jsontext.Value `json:"data"`
}

func (a *API) listEvents(ctx context.Context, c call[struct{}]) (reply, error) {
	query := c.Request.URL.Query()
	size, err := number(query, "limit", defaultPage, 1, maxPage)
	if err != nil {
		return reply{}, err
	}
	wait, err := number(query, "wait", 0, 0, maxWait)
	if err != nil {
		return reply{}, err
	}
	before, after := query.Get("starting_after"), query.Get("ending_before")
	for param, cursor := range map[string]string{"starting_after": before, "ending_before": after} {
		if cursor != "" && !id.Valid(id.Event, cursor) {
			return reply{}, invalid(param, "must be the id of an event of yours")
		}
	}
	list, err := a.Webhooks.Events(ctx, c.Merchant.ID, before, after, size+1, time.Duration(wait)*time.Second)
	if errors.Is(err, ledger.ErrNotFound) {
		param := "starting_after"
		if before == "" {
			param = "ending_before"
		}
		return reply{}, invalid(param, "must be the id of an event of yours")
	}
	if err != nil {
		return reply{}, err
	}
	page := eventPage{HasMore: len(list) > size, Data: []jsontext.Value{}}
	for _, e := range list[:min(len(list), size)] {
		page.Data = append(page.Data, a.Webhooks.Body(e))
	}
	return reply{Body: page}, nil
}

// number parses an integer of the query.
func number(query url.Values, name string, otherwise, least, most int) (int, error) {
	if !query.Has(name) {
		return otherwise, nil
	}
	n, err := strconv.Atoi(query.Get(name))
	if err != nil || n < least || n > most {
		return 0, invalid(name, "must be an integer, "+strconv.Itoa(least)+" to "+strconv.Itoa(most))
	}
	return n, nil
}

func (a *API) redeliver(ctx context.Context, c call[struct{}]) (reply, error) {
	if err := a.permit(ctx, c.caller, client.ScopeRead); err != nil {
		return reply{}, err
	}
	eventID := c.Request.PathValue("eventId")
	n, err := a.Webhooks.Redeliver(ctx, c.Merchant.ID, eventID)
	if err != nil {
		return reply{}, err
	}
	return reply{Body: client.Redelivery{EventID: eventID, Endpoints: n}}, nil
}

func (a *API) deliveries(ctx context.Context, c call[struct{}]) (reply, error) {
	all, err := a.Webhooks.Deliveries(ctx, c.Merchant.ID, c.Request.PathValue("eventId"))
	if err != nil {
		return reply{}, err
	}
	endpoints, err := a.Webhooks.Endpoints(ctx, c.Merchant.ID)
	if err != nil {
		return reply{}, err
	}
	urls := map[string]string{}
	for _, e := range endpoints {
		urls[e.ID] = e.URL
	}
	list := client.DeliveryList{Data: []client.Delivery{}}
	for _, d := range all {
		list.Data = append(list.Data, client.Delivery{
			EndpointID: d.EndpointID, URL: urls[d.EndpointID], Status: client.DeliveryStatus(d.Status), Attempts: d.Attempts,
			HTTPStatus: d.HTTPStatus, Error: d.Error, Answer: d.Answer, AttemptedAt: d.TriedAt, NextAttemptAt: next(d),
		})
	}
	return reply{Body: list}, nil
}

// next returns the time of a delivery's next attempt; zero if there is none.
func next(d store.Delivery) time.Time {
	if d.Status != store.DeliveryPending {
		return time.Time{}
	}
	return d.Next
}
