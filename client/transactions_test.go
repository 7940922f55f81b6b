package client_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/client"
)

// shelf serves a list as the API does: newest first, the cursor exclusive.
type shelf struct {
	mu    sync.Mutex
	ids   []string
	reads int
	limit []string
	fail  int // the read that fails; 0: none
}

func newShelf(n int) *shelf {
	s := &shelf{}
	for i := n; i > 0; i-- {
		s.ids = append(s.ids, "txn_"+strconv.Itoa(i))
	}
	return s
}

func (s *shelf) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	s.limit = append(s.limit, r.FormValue("limit"))
	if s.reads == s.fail {
		reply(500, faultRefusal)(w, r)
		return
	}
	from := 0
	for i, id := range s.ids {
		if id == r.FormValue("starting_after") {
			from = i + 1
		}
	}
	limit, err := strconv.Atoi(r.FormValue("limit"))
	if err != nil {
		limit = 10
	}
	to := min(from+limit, len(s.ids))
	page := client.TransactionPage{HasMore: to < len(s.ids), Data: []client.Transaction{}}
	for _, id := range s.ids[from:to] {
		page.Data = append(page.Data, client.Transaction{ID: id})
	}
	_ = json.NewEncoder(w).Encode(page)
}

func collect(t *testing.T, c *client.Client, p client.ListParams) (ids []string, err error) {
	t.Helper()
	for tx, e := range c.Transactions(t.Context(), p) {
		require.NoError(t, err, "nothing comes after an error")
		if err = e; err != nil {
			require.Zero(t, tx)
			continue
		}
		ids = append(ids, tx.ID)
	}
	return ids, err
}

func TestTransactionsReadEveryPageOnce(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ stored, limit, reads int }{
		{0, 0, 1},
		{1, 0, 1},
		{100, 0, 1},
		{101, 0, 2},
		{10, 10, 1},
		{11, 10, 2},
		{20, 10, 2},
		{5, 1, 5},
	} {
		s := newShelf(tc.stored)
		c := setup(t, s.serve)
		ids, err := collect(t, c, client.ListParams{Limit: tc.limit})
		require.NoError(t, err)
		require.Len(t, ids, tc.stored)
		require.ElementsMatch(t, s.ids, ids)
		require.Equal(t, tc.reads, s.reads, "%+v", tc)
		if tc.limit == 0 {
			require.Equal(t, "100", s.limit[0])
		}
	}
}

func TestTransactionsFromACursorAndAgain(t *testing.T) {
	t.Parallel()
	s := newShelf(9)
	seq := setup(t, s.serve).Transactions(t.Context(), client.ListParams{Limit: 2, StartingAfter: "txn_6"})
	for range 2 { // each use starts again
		var ids []string
		for tx, err := range seq {
			require.NoError(t, err)
			ids = append(ids, tx.ID)
		}
		require.Equal(t, []string{"txn_5", "txn_4", "txn_3", "txn_2", "txn_1"}, ids)
	}
}

func TestTransactionsStopEarly(t *testing.T) {
	t.Parallel()
	s := newShelf(30)
	c := setup(t, s.serve)
	seen := 0
	for _, err := range c.Transactions(t.Context(), client.ListParams{Limit: 10}) {
		require.NoError(t, err)
		if seen++; seen == 10 {
			break
		}
	}
	require.Equal(t, 1, s.reads, "the second page is not wanted, and not read")
}

func TestTransactionsFailMidway(t *testing.T) {
	t.Parallel()
	s := newShelf(30)
	s.fail = 3
	ids, err := collect(t, setup(t, s.serve), client.ListParams{Limit: 10})
	require.ErrorIs(t, err, client.ErrInternal)
	require.Equal(t, s.ids[:20], ids)
	require.Equal(t, 3, s.reads)
}

// A list whose pages never end must not be read forever.
func TestTransactionsWithoutEnd(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int{
		`{"hasMore":true,"data":[]}`:                          0,
		`{"hasMore":true}`:                                    0,
		`{"hasMore":true,"data":[{"id":""}]}`:                 1,
		`{"hasMore":true,"data":[{"id":"a"},{"id":"txn_1"}]}`: 4, // the second page is the first again
	} {
		ids, err := collect(t, setup(t, reply(200, body)), client.ListParams{})
		require.ErrorIs(t, err, client.ErrUnexpectedAnswer)
		require.Len(t, ids, want)
	}
}

func TestTransactionsAnyShape(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := newShelf(rapid.IntRange(0, 60).Draw(rt, "stored"))
		limit := rapid.IntRange(1, 25).Draw(rt, "limit")
		stop := rapid.IntRange(1, 70).Draw(rt, "stop")
		c := newClient(t, client.Config{BaseURL: "https://pay.example", HTTPClient: &http.Client{Transport: inProcess(s.serve)}})
		var ids []string
		for tx, err := range c.Transactions(t.Context(), client.ListParams{Limit: limit}) {
			require.NoError(rt, err)
			if ids = append(ids, tx.ID); len(ids) == stop {
				break
			}
		}
		want := min(stop, len(s.ids))
		require.Len(rt, ids, want)
		require.Equal(rt, append([]string(nil), s.ids[:want]...), ids)
		require.Equal(rt, max(1, (want+limit-1)/limit), s.reads)
	})
}

// The iterator over events continues after the last event of each page, and keeps
// EndingBefore on every page.
func TestEventsReadEveryPageOnce(t *testing.T) {
	t.Parallel()
	var asked []string
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		body := `{"hasMore":true,"data":[{"id":"evt_4"},{"id":"evt_3"}]}`
		if r.URL.Query().Get("starting_after") == "evt_3" {
			body = `{"hasMore":false,"data":[{"id":"evt_2"}]}`
		}
		reply(200, body)(w, r)
	})
	var ids []string
	for e, err := range c.Events(t.Context(), client.EventListParams{EndingBefore: "evt_1", Wait: time.Minute}) {
		require.NoError(t, err)
		ids = append(ids, e.ID)
	}
	require.Equal(t, []string{"evt_4", "evt_3", "evt_2"}, ids)
	require.Equal(t, []string{"ending_before=evt_1&limit=100", "ending_before=evt_1&limit=100&starting_after=evt_3"}, asked)
}

func TestStatusPaid(t *testing.T) {
	t.Parallel()
	require.True(t, client.Completed.Paid())
	require.True(t, client.Succeeded.Paid())
	require.False(t, client.Pending.Paid())
	require.False(t, client.Failed.Paid())
	require.False(t, client.Status("").Paid())
}
