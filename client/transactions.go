package client

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// rangePage is the page size of iterators: the largest that the service accepts.
const rangePage = 100

// TransactionsPage returns one page of the merchant's transactions in all states,
// newest first: GET /v1/merchants/transactions. If HasMore is true, the next page
// starts after the last transaction of this one.
//
// Errors: [ErrValidation] for an invalid limit or cursor, and those that every call
// may return (see the package comment).
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

// Transactions returns an iterator over the merchant's transactions, newest first. It
// reads pages as they are needed; Limit is the size of a page. It yields each
// transaction once, and none that is made after the iteration started.
//
//	for tx, err := range c.Transactions(ctx, client.ListParams{}) {
//		if err != nil {
//			return err
//		}
//		…
//	}
//
// An error of [Client.TransactionsPage] ends the iteration, and is yielded with a zero
// Transaction. Each use of the iterator starts again.
func (c *Client) Transactions(ctx context.Context, p ListParams) iter.Seq2[Transaction, error] {
	return pages("list transactions", p.StartingAfter, func(after string) ([]Transaction, bool, error) {
		page, err := c.TransactionsPage(ctx, ListParams{Limit: cmp.Or(p.Limit, rangePage), StartingAfter: after})
		return page.Data, page.HasMore, err
	}, func(tx Transaction) string { return tx.ID })
}

// pages returns an iterator over the items of a list, which read returns page by page.
// It yields [ErrUnexpectedAnswer] if a page claims that more follows but gives no new
// id to continue after, since it would otherwise read the same page forever.
func pages[T any](doing, after string, read func(after string) ([]T, bool, error), id func(T) string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		next := after
		for {
			items, more, err := read(next)
			if err != nil {
				yield(zero, err)
				return
			}
			last := ""
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
				last = id(item)
			}
			if !more {
				return
			}
			if last == "" || last == next {
				yield(zero, fmt.Errorf("client: %s: a page has no end: %w", doing, ErrUnexpectedAnswer))
				return
			}
			next = last
		}
	}
}
