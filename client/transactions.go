package client

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// rangePage is the page size when ranging over all transactions: the largest there is.
const rangePage = 100

// TransactionsPage reads one page of the merchant's transactions, succeeded or
// not, newest first: GET /v1/merchants/transactions. Where HasMore is set, the
// next page starts after the last transaction of this one.
//
// Errors: [ErrValidation] for a limit or cursor that cannot be, and those that
// every call may return (see the package comment).
func (c *Client) TransactionsPage(ctx context.Context, p ListParams) (TransactionPage, error) {
	q := url.Values{}
	if p.Limit != 0 {
		q.Set("limit", strconv.Itoa(p.Limit))
	}
	if p.StartingAfter != "" {
		q.Set("starting_after", p.StartingAfter)
	}
	return do(ctx, c, call{
		doing: "list transactions", method: http.MethodGet, pattern: "/v1/merchants/transactions",
		query: q, idempotent: true,
	}, func(_ *TransactionPage, a answer) bool { return bytes.Contains(a.body, []byte(`"hasMore"`)) })
}

// Transactions ranges over the merchant's transactions, newest first, and reads a
// page whenever the last one is used up. Limit is the size of a page, not of the
// whole. Transactions made while ranging do not show up, and none shows up twice.
//
//	for tx, err := range c.Transactions(ctx, client.ListParams{}) {
//		if err != nil {
//			return err
//		}
//		…
//	}
//
// An error of [Client.TransactionsPage] comes last, with a zero Transaction; so
// does [ErrUnexpectedAnswer] where the pages lead nowhere. Ranging again begins anew.
func (c *Client) Transactions(ctx context.Context, p ListParams) iter.Seq2[Transaction, error] {
	if p.Limit == 0 {
		p.Limit = rangePage
	}
	return func(yield func(Transaction, error) bool) {
		next := p
		for {
			page, err := c.TransactionsPage(ctx, next)
			if err != nil {
				yield(Transaction{}, err)
				return
			}
			for _, tx := range page.Data {
				if !yield(tx, nil) {
					return
				}
			}
			if !page.HasMore {
				return
			}
			last := lastID(page)
			if last == "" || last == next.StartingAfter { // would ask for the same page for ever
				yield(Transaction{}, fmt.Errorf("list transactions: a page has no end: %w", ErrUnexpectedAnswer))
				return
			}
			next.StartingAfter = last
		}
	}
}

func lastID(p TransactionPage) string {
	if len(p.Data) == 0 {
		return ""
	}
	return p.Data[len(p.Data)-1].ID
}
