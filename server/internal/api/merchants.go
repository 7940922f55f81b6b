package api

import (
	"context"
	"errors"
	"strconv"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
)

const (
	defaultPage = 10
	maxPage     = 100
)

func (a *API) stats(ctx context.Context, c call[struct{}]) (reply, error) {
	s, err := a.Payments.Stats(ctx, c.Merchant.ID)
	if err != nil {
		return reply{}, err
	}
	return reply{Body: client.Stats{
		TotalVolumeCents: int64(s.Volume.CentsDown()), ActiveMandates: s.ActiveMandates, TransactionCount: s.Count,
		RefundedCents: int64(s.Refunded.CentsUp()),
	}}, nil
}

func (a *API) transactions(ctx context.Context, c call[struct{}]) (reply, error) {
	size, after, err := pageOf(c, id.Charge, "a transaction of yours")
	if err != nil {
		return reply{}, err
	}
	list, err := a.Payments.Charges(ctx, c.Merchant.ID, after, size+1)
	if errors.Is(err, ledger.ErrNotFound) {
		return reply{}, invalid("starting_after", "must be the id of a transaction of yours")
	}
	if err != nil {
		return reply{}, err
	}
	page := client.TransactionPage{HasMore: len(list) > size, Data: []client.Transaction{}}
	for _, ch := range list[:min(len(list), size)] {
		mandateID := ch.MandateID
		if ch.Direct() {
			mandateID = ""
		}
		page.Data = append(page.Data, client.Transaction{
			ID: ch.ID, MandateID: mandateID, Source: client.Source(ch.Source), Payer: ch.Payer(), AmountCents: int64(ch.Amount.CentsUp()),
			Status: client.Status(ch.Status), Rail: client.Rail(ch.Rail), CreatedAt: ch.CreatedAt,
			RefundedCents: int64(ch.Refunded.CentsUp()), TabID: ch.TabID,
		})
	}
	return reply{Body: page}, nil
}

// pageOf returns the size of a requested page, and the id after which it begins.
func pageOf(c call[struct{}], prefix, what string) (size int, after string, err error) {
	query := c.Request.URL.Query()
	size = defaultPage
	if query.Has("limit") {
		size, err = strconv.Atoi(query.Get("limit"))
		if err != nil || size < 1 || size > maxPage {
			return 0, "", invalid("limit", "must be an integer, 1 to 100")
		}
	}
	if after = query.Get("starting_after"); after != "" && !id.Valid(prefix, after) {
		return 0, "", invalid("starting_after", "must be the id of "+what)
	}
	return size, after, nil
}
