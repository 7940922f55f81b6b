package oauth_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/internal/oauth"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	clientID = "https://app.example/oauth/client.json"
	callback = "https://app.example/callback"
)

// fixture is an authorization server whose merchant is always signed in, and the site of an
// app.
type fixture struct {
	*http.ServeMux

	now     atomic.Int64
	fetches atomic.Int64
	answer  http.HandlerFunc // of every address outside
}

func setup(t *testing.T, configure func(*oauth.Config)) *fixture {
	t.Helper()
	f := &fixture{ServeMux: http.NewServeMux()}
	f.now.Store(time.Now().UnixMilli())
	clock := func() time.Time { return time.UnixMilli(f.now.Load()).UTC() }
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pay.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	m := ledger.Merchant{ID: id.New(id.Merchant, clock()), Name: "Acme", Active: true, CreatedAt: clock()}
	require.NoError(t, db.PutMerchant(t.Context(), m))
	outside := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.fetches.Add(1)
		f.answer(w, r)
	}))
	t.Cleanup(outside.Close)
	transport := outside.Client().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig.InsecureSkipVerify = true // it has the certificate of another name
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, outside.Listener.Addr().String())
	}
	t.Cleanup(transport.CloseIdleConnections)
	logger := slog.New(slog.DiscardHandler)
	cfg := oauth.Config{
		Site:  site.New(site.Config{BaseURL: "https://pay.example", Clock: clock, Logger: logger}),
		Store: db, Clock: clock, Logger: logger, BaseURL: "https://pay.example", Resources: []string{"https://pay.example/mcp"}, Secret: []byte("secret"),
		SignedIn: func(d oauth.Decision) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) { d(w, r, m, "browser") }
		},
		Documents: transport,
	}
	if configure != nil {
		configure(&cfg)
	}
	oauth.New(cfg).Register(f.ServeMux)
	return f
}

// document answers with a description of the app that has an address.
func document(w http.ResponseWriter, at string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"client_id":%q,"client_name":"Assistant","redirect_uris":[%q,"vscode://x"],"logo_uri":"https://app.example/logo.png"}`, at, callback)
}

// open opens the page of a request of an app.
func (f *fixture) open(t *testing.T, clientID string) (int, string) {
	t.Helper()
	q := url.Values{
		"client_id": {clientID}, "redirect_uri": {callback}, "response_type": {"code"}, "code_challenge_method": {"S256"},
		"code_challenge": {strings.Repeat("a", 43)},
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://pay.example/oauth2/authorize?"+q.Encode(), nil)
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestMetadataDocumentDescribesAnApp(t *testing.T) {
	t.Parallel()
	f := setup(t, nil)
	f.answer = func(w http.ResponseWriter, _ *http.Request) { document(w, clientID) }
	status, text := f.open(t, clientID)
	require.Equal(t, 200, status, text)
	require.Contains(t, text, `<strong id="host">app.example</strong>`)
	require.NotContains(t, text, "logo", "nothing is loaded from an app")
}

// TestClientImpersonatedByAMetadataDocument: a document speaks for its own address alone, and
// the page shows the host that was proven beside the name that was not.
func TestClientImpersonatedByAMetadataDocument(t *testing.T) {
	t.Parallel()
	f := setup(t, nil)
	f.answer = func(w http.ResponseWriter, _ *http.Request) { document(w, clientID) }
	status, text := f.open(t, "https://evil.example/client.json")
	require.Equal(t, 400, status)
	require.Contains(t, text, "client_id is not its own address")
	f.answer = func(w http.ResponseWriter, r *http.Request) { document(w, "https://"+r.Host+r.URL.Path) }
	status, text = f.open(t, "https://evil.example/client.json")
	require.Equal(t, 200, status)
	require.Contains(t, text, `<strong id="host">evil.example</strong>`)
}

func TestMetadataDocumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	answers := map[string]http.HandlerFunc{
		"no description": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"has no description of it": func(w http.ResponseWriter, r *http.Request) { // a redirect is not followed
			http.Redirect(w, r, clientID+"?2", http.StatusFound)
		},
		"description of it.": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<p>")
		},
		"too long": func(w http.ResponseWriter, _ *http.Request) { // endless
			w.Header().Set("Content-Type", "application/json")
			for {
				if _, err := w.Write(make([]byte, 1024)); err != nil {
					return
				}
			}
		},
	}
	for text, body := range map[string]string{
		"not one valid JSON":         `{`,
		"given twice":                `{"client_id":"` + clientID + `","client_id":"` + clientID + `"}`,
		"client_name is missing":     `{"client_id":"` + clientID + `","redirect_uris":["` + callback + `"]}`,
		"client_name must have":      `{"client_id":"` + clientID + `","client_name":"a\u202eb","redirect_uris":["` + callback + `"]}`,
		"redirect_uris must have":    `{"client_id":"` + clientID + `","client_name":"A"}`,
		"redirect_uris: an entry":    `{"client_id":"` + clientID + `","client_name":"A","redirect_uris":["javascript:alert(1)"]}`,
		"must be none":               `{"client_id":"` + clientID + `","client_name":"A","client_secret":"x","redirect_uris":["` + callback + `"]}`,
		"token_endpoint_auth_method": `{"client_id":"` + clientID + `","client_name":"A","token_endpoint_auth_method":"client_secret_post","redirect_uris":["` + callback + `"]}`,
		"has not registered":         `{"client_id":"` + clientID + `","client_name":"A","redirect_uris":["https://app.example/other"]}`,
	} {
		answers[text] = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_, _ = io.WriteString(w, body)
		}
	}
	for text, answer := range answers {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			f := setup(t, nil)
			f.answer = answer
			status, shown := f.open(t, clientID)
			require.Equal(t, 400, status)
			require.Contains(t, shown, text)
			require.NotContains(t, shown, `id="next"`, "nothing leads to an address that is not proven")
			require.EqualValues(t, 1, f.fetches.Load())
		})
	}
}

// TestAddressesThatAreNoMetadataDocument are not fetched.
func TestAddressesThatAreNoMetadataDocument(t *testing.T) {
	t.Parallel()
	f := setup(t, nil)
	for _, at := range []string{
		"http://app.example/client.json", "https://app.example", "https://app.example/", "https://app.example/a/../client.json", "https://app.example/./client.json",
		"https://user@app.example/client.json", "https://app.example/client.json#x", "https://App.example/client.json", "https://app.example\\@evil.example/c", "https:///c", "ftp://app.example/c", "",
		"https://app.example/%2e%2e/client.json",
	} {
		status, _ := f.open(t, at)
		require.Equal(t, 400, status, at)
	}
	require.Zero(t, f.fetches.Load())
}

// TestMetadataDocumentAtAPrivateAddress: the service reaches public addresses alone, and its
// answer does not depend on what is inside.
func TestMetadataDocumentAtAPrivateAddress(t *testing.T) {
	t.Parallel()
	f := setup(t, func(c *oauth.Config) { c.Documents = nil })
	var reached atomic.Int64
	inside := httptest.NewUnstartedServer(http.NotFoundHandler())
	inside.Config.ConnState = func(net.Conn, http.ConnState) { reached.Add(1) }
	inside.StartTLS()
	t.Cleanup(inside.Close)
	_, port, err := net.SplitHostPort(inside.Listener.Addr().String())
	require.NoError(t, err)
	var texts []string
	for _, host := range []string{"127.0.0.1:" + port, "localhost:" + port, "127.0.0.1:1", "169.254.169.254", "10.0.0.1", "192.168.0.1:8443"} {
		status, text := f.open(t, "https://"+host+"/client.json")
		require.Equal(t, 400, status)
		texts = append(texts, text)
	}
	for _, text := range texts {
		require.Equal(t, texts[0], text)
		require.Contains(t, text, "does not answer")
	}
	require.Zero(t, reached.Load())
}

// TestMetadataDocumentsAreCachedWithinBounds, as their answers allow, and failures are not.
func TestMetadataDocumentsAreCachedWithinBounds(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"": 10 * time.Minute, "max-age=60": time.Minute, "public, max-age=7200": 2 * time.Hour, "no-store": 0, "max-age=31536000": 24 * time.Hour, "max-age=x": 10 * time.Minute,
	} {
		t.Run(header, func(t *testing.T) {
			t.Parallel()
			f := setup(t, nil)
			f.answer = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Cache-Control", header)
				document(w, clientID)
			}
			fetched := func(n int64) {
				status, text := f.open(t, clientID)
				require.Equal(t, 200, status, text)
				require.Equal(t, n, f.fetches.Load())
			}
			fetched(1)
			if want > 0 {
				f.now.Add(want.Milliseconds() - 1)
				fetched(1)
			}
			f.now.Add(2)
			fetched(2)
		})
	}
	f := setup(t, nil)
	f.answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
	for range 2 {
		_, _ = f.open(t, clientID)
	}
	require.EqualValues(t, 2, f.fetches.Load())
}

// TestFetchesOfAMerchantAreBounded, and a stranger makes the service fetch nothing.
func TestFetchesOfAMerchantAreBounded(t *testing.T) {
	t.Parallel()
	f := setup(t, nil)
	f.answer = func(w http.ResponseWriter, r *http.Request) { document(w, "https://"+r.Host+r.URL.Path) }
	for i := range 20 {
		_, _ = f.open(t, fmt.Sprintf("https://app%d.example/client.json", i))
	}
	require.EqualValues(t, 10, f.fetches.Load())
	stranger := setup(t, func(c *oauth.Config) {
		c.SignedIn = func(oauth.Decision) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusSeeOther) }
		}
	})
	_, _ = stranger.open(t, clientID)
	require.Zero(t, stranger.fetches.Load())
}

// TestSlowAppHoldsUpNoOther: a merchant whose app answers slowly keeps no place from the others.
func TestSlowAppHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	f := setup(t, func(c *oauth.Config) {
		c.SignedIn = func(d oauth.Decision) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				merchant := "mer_slow"
				if r.URL.Query().Get("client_id") == clientID {
					merchant = "mer_other"
				}
				d(w, r, ledger.Merchant{ID: merchant, Name: merchant, Active: true}, "browser")
			}
		}
	})
	release := make(chan struct{})
	done := sync.OnceFunc(func() { close(release) })
	t.Cleanup(done) // before the server of the apps closes
	f.answer = func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "app.example" {
			<-release
		}
		document(w, "https://"+r.Host+r.URL.Path)
	}
	const pages = 10
	var refused atomic.Int64
	var opened sync.WaitGroup
	for i := range pages {
		opened.Go(func() {
			if status, _ := f.open(t, fmt.Sprintf("https://slow.example/%d.json", i)); status == 400 {
				refused.Add(1)
			}
		})
	}
	require.Eventually(t, func() bool { return f.fetches.Load()+refused.Load() >= pages }, time.Minute, time.Millisecond)
	require.EqualValues(t, 2, f.fetches.Load())
	status, text := f.open(t, clientID)
	require.Equal(t, 200, status, text)
	done()
	opened.Wait()
	require.EqualValues(t, pages-2, refused.Load())
}
