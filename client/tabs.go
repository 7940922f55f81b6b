package client

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// TabStatus is the state of a tab.
type TabStatus string

// The states of a tab.
const (
	TabOpening TabStatus = "opening" // the card is asked for the block
	TabOpen    TabStatus = "open"    // the card holds the block, and payments are drawn from it
	TabClosing TabStatus = "closing" // no more payments; the sum is being captured
	TabClosed  TabStatus = "closed"  // the sum was captured
	TabVoided  TabStatus = "voided"  // nothing was captured; the operator has paid what was drawn
	TabFailed  TabStatus = "failed"  // the card refused the block or the capture
)

// Tab is a block that a card holds for small payments of one mandate, which are captured as
// one sum.
type Tab struct {
	// ID is the tab's id (tab_…).
	ID string `json:"id"`
	// MandateID is the id of the mandate (del_…).
	MandateID string `json:"delegateId"`
	// Status is the state of the tab.
	Status TabStatus `json:"status"`
	// BlockCents is the amount that the card holds, in US cents.
	BlockCents int64 `json:"blockCents"`
	// Draws is the number of payments drawn from the tab.
	Draws int64 `json:"draws"`
	// DrawnMicros is their sum, in micro-dollars.
	DrawnMicros int64 `json:"drawnMicros"`
	// CapturedCents is the amount that was captured, in US cents.
	CapturedCents int64 `json:"capturedCents,omitzero"`
	// ProcessorPaymentID is the card processor's id of the payment.
	ProcessorPaymentID string `json:"processorPaymentId,omitempty"`
	// CloseReason is why the tab takes no more payments: "used_up", "expired", "revoked" or
	// "requested". Empty while it does.
	CloseReason string `json:"closeReason,omitempty"`
	// FailureReason is set if Status is TabFailed.
	FailureReason FailureReason `json:"failureReason,omitempty"`
	// CreatedAt is the time of the first payment's request.
	CreatedAt time.Time `json:"createdAt"`
	// ClosesAt is the time from which the tab takes no more payments.
	ClosesAt time.Time `json:"closesAt"`
}

// TabPage is one page of the merchant's tabs.
type TabPage struct {
	// HasMore reports whether older tabs follow.
	HasMore bool `json:"hasMore"`
	// Data lists the tabs, newest first.
	Data []Tab `json:"data"`
}

// TabsPage returns one page of the merchant's tabs, newest first: GET /v1/tabs. If HasMore is
// true, the next page starts after the last tab of this one.
//
// Errors: [ErrValidation] for an invalid limit or cursor, and those that every call may return
// (see the package comment).
func (c *Client) TabsPage(ctx context.Context, p ListParams) (TabPage, error) {
	q := url.Values{}
	if p.Limit != 0 {
		q.Set("limit", strconv.Itoa(p.Limit))
	}
	if p.StartingAfter != "" {
		q.Set("starting_after", p.StartingAfter)
	}
	return do(ctx, c, call{
		doing: "list tabs", method: http.MethodGet, pattern: "/v1/tabs", query: q, idempotent: true,
	}, func(_ *TabPage, a answer) bool { return bytes.Contains(a.body, []byte(`"hasMore"`)) })
}

// Tabs returns an iterator over the merchant's tabs, newest first, as [Client.Transactions]
// does over transactions.
func (c *Client) Tabs(ctx context.Context, p ListParams) iter.Seq2[Tab, error] {
	return pages("list tabs", p.StartingAfter, func(after string) ([]Tab, bool, error) {
		page, err := c.TabsPage(ctx, ListParams{Limit: cmp.Or(p.Limit, rangePage), StartingAfter: after})
		return page.Data, page.HasMore, err
	}, func(t Tab) string { return t.ID })
}

// CloseTab captures what was drawn from a tab now, instead of at the end of its time:
// POST /v1/tabs/{tabId}/close. The capture happens within seconds; [Client.Tabs] shows it, and
// each payment gets its webhook event. A sum below 50 cents is voided, and the operator
// pays it. A tab that is not open does not change, and is returned.
//
// Errors: [ErrNotFound], and those that every call may return (see the package comment).
func (c *Client) CloseTab(ctx context.Context, tabID string) (Tab, error) {
	return do(ctx, c, call{
		doing: "close tab", method: http.MethodPost, pattern: "/v1/tabs/{tabId}/close", value: tabID, body: struct{}{}, idempotent: true,
	}, func(t *Tab, _ answer) bool { return t.ID != "" && t.Status != "" })
}
