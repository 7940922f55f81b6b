package conformance_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/conformance"
)

// serve starts a server that answers every request with a function.
func serve(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(answer)
	t.Cleanup(srv.Close)
	return srv.URL + "/weather"
}

// result returns the result of a rule.
func result(t *testing.T, r conformance.Report, id string) conformance.Result {
	t.Helper()
	for _, found := range r.Results {
		if found.ID == id {
			return found
		}
	}
	t.Fatalf("no rule %s", id)
	return conformance.Result{}
}

func TestConfigurationThatIsRefused(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"": "URL: must be", "ftp://a.example": "URL: must be", "/weather": "URL: must be", "http://user:pw@a.example": "no user or password",
		"http://[::1": "URL: is malformed",
	} {
		_, err := conformance.Validate(t.Context(), conformance.Config{URL: address})
		require.ErrorContains(t, err, want, address)
		require.NotContains(t, err.Error(), "pw")
	}
	_, err := conformance.Validate(t.Context(), conformance.Config{URL: "http://127.0.0.1", BudgetMicros: 1})
	require.ErrorContains(t, err, "BudgetMicros")
}

func TestPlainHTTPIsAFault(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	report, err := conformance.Validate(t.Context(), conformance.Config{
		URL: strings.Replace(s.url, "127.0.0.1", "shop.example", 1), Transport: toLoopback{},
	})
	require.NoError(t, err)
	require.Equal(t, conformance.Fail, result(t, report, "http.tls").Status)
}

// toLoopback sends every request to the loopback interface.
type toLoopback struct{}

func (toLoopback) RoundTrip(r *http.Request) (*http.Response, error) {
	own := r.Clone(r.Context())
	own.URL.Host = "127.0.0.1:" + r.URL.Port()
	return http.DefaultTransport.RoundTrip(own)
}

func TestSlowChallengeIsAFault(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var asked atomic.Bool
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !asked.Swap(true) {
			time.Sleep(2100 * time.Millisecond) // what the rule measures
		}
		s.ServeHTTP(w, r)
	})
	report, err := conformance.Validate(t.Context(), conformance.Config{URL: url})
	require.NoError(t, err)
	require.Equal(t, conformance.Warn, result(t, report, "http.time").Status)
}

func TestUnknownChallengeIsAFault(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="x"`)
		w.WriteHeader(http.StatusPaymentRequired)
	})
	report, err := conformance.Validate(t.Context(), conformance.Config{URL: url})
	require.NoError(t, err)
	require.Equal(t, conformance.Fail, result(t, report, "http.protocol").Status)
	require.Empty(t, report.Protocols)
}

// TestNothingIsSentToAnotherHost: a redirect is judged and not followed.
func TestNothingIsSentToAnotherHost(t *testing.T) {
	t.Parallel()
	other := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("another host was asked") })
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, http.StatusTemporaryRedirect) })
	report, err := conformance.Validate(t.Context(), conformance.Config{URL: url})
	require.NoError(t, err)
	require.Equal(t, conformance.Fail, result(t, report, "http.status").Status)
}

// TestHostileTextIsQuoted: escape sequences and text direction characters of a server do not
// appear in a report.
func TestHostileTextIsQuoted(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	evil := "\x1b[2J\u202e\u0085" + strings.Repeat("x", 1000)
	s.two["network"], s.two["scheme"], s.two["payTo"], s.realm = evil, evil, evil, "\u202eevil"
	s.two["extra"].(map[string]any)["paymentFlow"] = evil
	report, err := conformance.Validate(t.Context(), conformance.Config{URL: s.url})
	require.NoError(t, err)
	require.Equal(t, conformance.Fail, result(t, report, "x402v2.scheme").Status)
	for _, r := range report.Results {
		require.NotContains(t, r.Detail, "\x1b")
		require.NotContains(t, r.Detail, "\u202e")
		require.NotContains(t, r.Detail, "\u0085")
		require.Less(t, len(r.Detail), 1000)
	}
}

// TestEndlessAnswerEnds: a body and a list without an end cost bounded time and memory.
func TestEndlessAnswerEnds(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusPaymentRequired)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat(`{"accepts":[`, 1000)); err != nil {
				return
			}
		}
	})
	report, err := conformance.Validate(t.Context(), conformance.Config{URL: url, Timeout: 2 * time.Second})
	require.NoError(t, err)
	require.Equal(t, conformance.Fail, result(t, report, "http.protocol").Status)
}

func TestServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(nil)
	srv.Close()
	_, err := conformance.Validate(t.Context(), conformance.Config{URL: srv.URL})
	require.ErrorContains(t, err, "connection refused")
}
