package client_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
)

// A body without end would fill the memory; this test ends only because the
// client stops reading.
func TestEndlessBodyIsCutOff(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 502, 402} {
		handler, calls := inTurn(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, err := io.WriteString(w, `{"code":"monthly","transactionId":"txn_1","status":"completed","pad":"`)
			for err == nil {
				_, err = io.WriteString(w, strings.Repeat("a", 64<<10))
			}
		})
		c := setup(t, handler, func(cfg *client.Config) { cfg.MaxRetries = 1 })
		_, err := c.Receipt(t.Context(), "txn_1")
		require.Error(t, err)
		require.NotErrorIs(t, err, client.ErrMonthlyLimit)
		if status == http.StatusOK {
			require.ErrorIs(t, err, client.ErrUnexpectedAnswer)
			require.ErrorContains(t, err, "1 MiB")
			require.Equal(t, 1, calls(), "a second helping is not asked for")
		}
	}
}

func TestGzipBombIsCutOff(t *testing.T) {
	t.Parallel()
	c := setup(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.CopyN(z, zeros{}, 64<<20)
		_ = z.Close()
	}, noRetries)
	_, err := c.Stats(t.Context())
	require.ErrorIs(t, err, client.ErrUnexpectedAnswer)
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func TestLongestAnswerIsRead(t *testing.T) {
	t.Parallel()
	start := `{"totalVolumeCents":1,"pad":"`
	for size, ok := range map[int]bool{1 << 20: true, 1<<20 + 1: false} {
		body := start + strings.Repeat("a", size-len(start)-2) + `"}`
		c := setup(t, reply(http.StatusOK, body), noRetries)
		_, err := c.Stats(t.Context())
		require.Equal(t, ok, err == nil, "%d: %v", size, err)
	}
}

func TestLongErrorBodyIsNotTold(t *testing.T) {
	t.Parallel()
	c := setup(t, reply(http.StatusPaymentRequired, `{"code":"monthly","message":"`+strings.Repeat("a", 16<<10)+`"}`), noRetries)
	_, err := c.Receipt(t.Context(), "txn_1")
	require.ErrorIs(t, err, client.ErrUnexpectedAnswer)
	require.Less(t, len(err.Error()), 300)
}

// A redirect would carry the API key elsewhere, or turn a POST into a GET.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere, calls := inTurn(reply(http.StatusOK, chargeAnswer))
	thief := httptest.NewServer(elsewhere)
	t.Cleanup(thief.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		own := 0
		var given *http.Client
		c := setup(t, func(w http.ResponseWriter, r *http.Request) {
			own++
			http.Redirect(w, r, thief.URL+r.URL.Path, status)
		}, func(cfg *client.Config) { given = cfg.HTTPClient })
		for name, err := range everyMethod(t.Context(), c) {
			require.ErrorIs(t, err, client.ErrUnexpectedAnswer, name)
			require.ErrorContains(t, err, "redirect", name)
		}
		require.Equal(t, 10, own, "and not tried again")
		require.Nil(t, given.CheckRedirect, "the caller's client is left as it was")
	}
	require.Zero(t, calls())
}

func TestRetryAfterIsRead(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]float64{
		"": 0, "0": 0, "7": 7, "-7": 0, "1.5": 0, "soon": 0, "7 s": 0, "99999999999": 86400, "99999999999999999999999": 86400,
		"Mon, 02 Jan 2006 15:04:05 GMT": 0, "Fri, 31 Dec 9999 23:59:59 GMT": 86400, "Fri, 99 Dec 9999 23:59:59 GMT": 0,
	} {
		c := setup(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", header)
			reply(http.StatusTooManyRequests, rateRefusal)(w, r)
		}, noRetries)
		_, err := c.Stats(t.Context())
		var e *client.Error
		require.ErrorAs(t, err, &e)
		require.InDelta(t, want, e.RetryAfter.Seconds(), 0, strconv.Quote(header))
	}
}

// FuzzAnswer feeds arbitrary responses to every method: none panics, and a charge
// result is accepted only if it names its transaction.
func FuzzAnswer(f *testing.F) {
	f.Add(200, "", chargeAnswer)
	f.Add(402, "7", monthlyRefusal)
	f.Add(503, "Mon, 02 Jan 2006 15:04:05 GMT", "<html>")
	f.Add(409, "1", runningRefusal)
	f.Add(200, "x", `{"hasMore":true,"data":[{}]}`)
	f.Fuzz(func(t *testing.T, status int, retryAfter, body string) {
		if status < 100 || status > 999 {
			return
		}
		c := newClient(t, client.Config{BaseURL: "https://pay.example", HTTPClient: &http.Client{Transport: canned{status, retryAfter, body}}}, noRetries)
		for name, err := range everyMethod(t.Context(), c) {
			if err != nil {
				require.NotContains(t, err.Error(), token, name)
				require.NotContains(t, err.Error(), apiKey, name)
			}
		}
		ch, err := c.Charge(t.Context(), chargeParams())
		if err == nil {
			require.NotEmpty(t, ch.TransactionID)
			require.NotEmpty(t, ch.Status)
			require.Equal(t, 2, status/100)
		}
		seen := 0
		for _, err := range c.Transactions(t.Context(), client.ListParams{}) {
			seen++
			if err != nil || seen > 1000 {
				break
			}
		}
	})
}

// canned answers without a network, for the speed that fuzzing needs.
type canned struct {
	status     int
	retryAfter string
	body       string
}

func (a canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return &http.Response{
		StatusCode: a.status, Header: http.Header{"Retry-After": {a.retryAfter}}, Request: r,
		Body: io.NopCloser(strings.NewReader(a.body)), ContentLength: -1,
	}, nil
}
