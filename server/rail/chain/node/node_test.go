package node_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/devchain/devchaintest"
	"github.com/paywarrant/paywarrant/server/rail/chain/node"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func client(t *testing.T, c node.Config) *node.Client {
	t.Helper()
	n, err := node.New(c)
	require.NoError(t, err)
	t.Cleanup(n.Close)
	return n
}

func TestAsksADevelopmentChain(t *testing.T) {
	t.Parallel()
	c := devchaintest.Start(t, devchain.Config{})
	id, err := client(t, node.Config{URL: c.RPCURL()}).ChainID(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, devchain.ChainID, id.Int64())
}

// answering is a node that answers each call the same, and records the requests.
func answering(t *testing.T, status int, body string) (address string, asked chan *http.Request) {
	t.Helper()
	asked = make(chan *http.Request, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

func TestCallsGoToTheWholeURL(t *testing.T) {
	t.Parallel()
	at, asked := answering(t, http.StatusOK, `{"jsonrpc":"2.0","id":1,"result":"0x2a"}`)
	u, err := url.Parse(at)
	require.NoError(t, err)
	u.User, u.Path, u.RawQuery = url.UserPassword("me", "secret"), "/v2/key", "a=b"
	id, err := client(t, node.Config{URL: u.String()}).ChainID(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 42, id.Int64())
	r := <-asked
	require.Equal(t, "/v2/key?a=b", r.RequestURI)
	name, password, ok := r.BasicAuth()
	require.True(t, ok)
	require.Equal(t, "me secret", name+" "+password)
}

// TestErrorsContainNoSecret checks that errors of a failing node have neither the path nor
// the password of its URL.
func TestErrorsContainNoSecret(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for name, test := range map[string]struct {
		status int
		body   string
	}{
		"redirected": {http.StatusTemporaryRedirect, ""}, "refused": {http.StatusUnauthorized, long},
		"no JSON": {http.StatusOK, "<html>"}, "endless": {http.StatusOK, `"` + strings.Repeat(long, 17)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, asked := answering(t, test.status, test.body)
			_, err := client(t, node.Config{URL: strings.Replace(at, "://", "://me:hidden@", 1) + "/hidden"}).ChainID(t.Context())
			require.Error(t, err)
			require.NotContains(t, err.Error(), "hidden")
			require.Less(t, len(err.Error()), 2<<10)
			require.Len(t, asked, 1, "nothing is followed")
		})
	}
	s := httptest.NewServer(nil)
	s.Close()
	_, err := client(t, node.Config{URL: s.URL + "/hidden"}).ChainID(t.Context())
	require.ErrorContains(t, err, strings.TrimPrefix(s.URL, "http://"))
	require.NotContains(t, err.Error(), "hidden")
}

func TestACallEnds(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-ended:
		}
	}))
	t.Cleanup(s.Close)
	defer close(ended)
	_, err := client(t, node.Config{URL: s.URL, Timeout: time.Millisecond}).ChainID(context.WithoutCancel(t.Context()))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "hidden", "wss://hidden", "http://", "http:///hidden", "http://hidden\x00", "/hidden.ipc"} {
		_, err := node.New(node.Config{URL: text})
		require.ErrorContains(t, err, "URL")
		require.NotContains(t, err.Error(), "hidden")
	}
	_, err := node.New(node.Config{URL: "http://node.example", Timeout: -1})
	require.ErrorContains(t, err, "Timeout")
}
