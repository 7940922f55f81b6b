package api

import (
	"context"
	"errors"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
)

func (a *API) tabs(ctx context.Context, c call[struct{}]) (reply, error) {
	size, after, err := pageOf(c, id.Tab, "a tab of yours")
	if err != nil {
		return reply{}, err
	}
	list, err := a.Payments.Tabs(ctx, c.Merchant.ID, after, size+1)
	if errors.Is(err, ledger.ErrNotFound) {
		return reply{}, invalid("starting_after", "must be the id of a tab of yours")
	}
	if err != nil {
		return reply{}, err
	}
	page := client.TabPage{HasMore: len(list) > size, Data: []client.Tab{}}
	for _, t := range list[:min(len(list), size)] {
		page.Data = append(page.Data, tabView(t))
	}
	return reply{Body: page}, nil
}

func (a *API) closeTab(ctx context.Context, c call[struct{}]) (reply, error) {
	tabID := c.Request.PathValue("tabId")
	if !id.Valid(id.Tab, tabID) {
		return reply{}, ledger.ErrNotFound
	}
	t, err := a.Payments.CloseTab(ctx, c.Merchant.ID, tabID)
	if err != nil {
		return reply{}, err
	}
	a.Audit.Did(ctx, audit.Merchant(c.Merchant.ID), "tab.close", t.ID)
	return reply{Body: tabView(t)}, nil
}

func tabView(t ledger.Tab) client.Tab {
	v := client.Tab{
		ID: t.ID, MandateID: t.MandateID, Status: client.TabStatus(t.State), BlockCents: int64(t.Block.CentsDown()), Draws: t.Draws,
		DrawnMicros: int64(t.Drawn), ProcessorPaymentID: t.ProcessorID, CloseReason: string(t.Reason),
		FailureReason: client.FailureReason(t.FailureReason), CreatedAt: t.CreatedAt, ClosesAt: t.ClosesAt,
	}
	if t.Outcome == ledger.TabCaptured {
		v.CapturedCents = int64(t.Capture.CentsDown())
	}
	switch {
	case t.State == ledger.TabSettling:
		v.Status = client.TabClosing
	case t.State == ledger.TabClosed && t.Outcome == ledger.TabVoided:
		v.Status = client.TabVoided
	case t.State == ledger.TabClosed && t.Outcome == ledger.TabRefused:
		v.Status = client.TabFailed
	}
	return v
}
