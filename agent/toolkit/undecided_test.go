package toolkit_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent/toolkit"
	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// losing loses the answers to payments, or turns payments away.
type losing struct{ lose, turnAway atomic.Bool }

func (l *losing) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.turnAway.Load() && strings.Contains(r.URL.Path, "/payments") {
		return &http.Response{
			StatusCode: http.StatusTooManyRequests, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
			Header: http.Header{"Content-Type": {"application/json"}, "Retry-After": {"1"}},
			Body:   io.NopCloser(strings.NewReader(`{"code":"rate_limit_exceeded","message":"Too many requests."}`)),
		}, nil
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && l.lose.Load() && strings.Contains(r.URL.Path, "/payments") {
		_, _ = io.Copy(io.Discard, resp.Body)
		return nil, errors.Join(errors.New("connection reset"), resp.Body.Close())
	}
	return resp, err
}

// TestPaymentWithoutAnOutcomeIsRepeatedOnce: as the error says, the same input repeats it,
// whatever the time, and in another process with the key of the error.
func TestPaymentWithoutAnOutcomeIsRepeatedOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		payAgain, restarted, turnedAway bool
		after                           time.Duration
	}{
		"turned away meanwhile":              {turnedAway: true, after: 30 * time.Second},
		"turned away, and with payAgain":     {turnedAway: true, payAgain: true, after: time.Second},
		"at once":                            {after: time.Second},
		"in another window":                  {after: 30 * time.Second},
		"with payAgain":                      {payAgain: true, after: time.Second},
		"after a restart":                    {restarted: true, after: 30 * time.Second},
		"after a restart, and with payAgain": {restarted: true, payAgain: true, after: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := servertest.Start(t, nil)
			token, err := srv.Client().CreateAccessToken(t.Context(), client.AccessTokenParams{Name: "agent"})
			require.NoError(t, err)
			line, now := &losing{}, time.Unix(1_800_000_590, 0) // ten seconds before a window ends
			cfg := toolkit.Config{
				ServiceURL: srv.URL, Token: token.Token, Mandate: srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000}),
				HTTPClient: &http.Client{Transport: line}, Clock: func() time.Time { return now },
			}
			k, err := toolkit.New(cfg)
			require.NoError(t, err)
			in := toolkit.PayIn{AmountCents: 100, Currency: "usd", Description: "one book", Recipient: srv.Merchant.ID, PayAgain: c.payAgain}
			line.lose.Store(true)
			_, err = k.Pay(t.Context(), in, nil)
			var lost toolkit.Error
			require.Error(t, err)
			require.NoError(t, json.Unmarshal([]byte(err.Error()), &lost))
			require.Equal(t, toolkit.CodeOutcomeUnknown, lost.Code)
			line.lose.Store(false)
			line.turnAway.Store(c.turnedAway)
			if c.turnedAway {
				_, err = k.Pay(t.Context(), in, nil)
				var again *toolkit.Error
				require.ErrorAs(t, err, &again)
				require.Equal(t, lost.IdempotencyKey, again.IdempotencyKey)
				line.turnAway.Store(false)
			}
			now = now.Add(c.after)
			if c.restarted {
				k, err = toolkit.New(cfg)
				require.NoError(t, err)
				in.IdempotencyKey = lost.IdempotencyKey
			}
			out, err := k.Pay(t.Context(), in, nil)
			require.NoError(t, err)
			require.Equal(t, "completed", out.Status)
			in.IdempotencyKey, in.PayAgain = "", true
			more, err := k.Pay(t.Context(), in, nil)
			require.NoError(t, err)
			require.NotEqual(t, out.TransactionID, more.TransactionID, "the first one is decided")
			page, err := srv.Client().TransactionsPage(t.Context(), client.ListParams{})
			require.NoError(t, err)
			require.Len(t, page.Data, 2)
		})
	}
}
