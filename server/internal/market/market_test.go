package market_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/server/internal/market"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// TestMain serves a catalog in a process of its own if the environment has an address for it.
func TestMain(m *testing.M) {
	if address := os.Getenv("MARKET_TEST_CATALOG"); address != "" {
		serveCatalog(address)
		return
	}
	goleak.VerifyTestMain(m)
}

// serveCatalog serves both kinds of catalog at an address until its input ends.
func serveCatalog(address string) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", address)
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	srv := &http.Server{Handler: catalog(25), ReadHeaderTimeout: time.Minute}
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		os.Exit(0)
	}()
	fmt.Println(l.Addr())
	_ = srv.Serve(l)
}

// catalog has n endpoints in each form.
func catalog(n int) http.Handler { return catalogOf(n, 100) }

// catalogOf serves pages of at most so many items.
func catalogOf(n, most int) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/discovery/resources", func(w http.ResponseWriter, r *http.Request) {
		offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		var items []string
		for i := offset; i < min(n, offset+most); i++ {
			items = append(items, item(fmt.Sprintf("https://shop.example/a/%d", i)))
		}
		answer(w, r, `{"x402Version":2,"items":[`+strings.Join(items, ",")+`],"pagination":{"limit":100,"offset":`+strconv.Itoa(offset)+`,"total":`+strconv.Itoa(n)+`}}`)
	})
	mux.HandleFunc("/services", func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, `{"version":1,"services":[{"id":"s","name":"Search <b>","serviceUrl":"https://mpp.example/api","categories":["search"],"methods":{},
			"endpoints":[{"method":"POST","path":"/find/:id","description":"Find\nthings","payment":{"intent":"charge","method":"tempo","currency":"0x20c0","decimals":6,"amount":"5000"}},
				{"method":"GET","path":"/free","payment":null}]}]}`)
	})
	return mux
}

func item(url string) string {
	return `{"resource":"` + url + `","type":"http","x402Version":2,"lastUpdated":"2026-11-22T00:00:00Z","description":"Weather of a town","tags":["weather"],
		"accepts":[{"scheme":"exact","network":"eip155:8453","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","amount":"10000","payTo":"0xabc","extra":{"name":"USD Coin"}}]}`
}

func answer(w http.ResponseWriter, r *http.Request, body string) {
	tag := strconv.Quote(strconv.Itoa(len(body)))
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(body))
}

// process starts a catalog in a process of its own, and returns its address and what stops it.
func process(t *testing.T, address string) (at string, stop func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "MARKET_TEST_CATALOG="+address)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	at, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	stop = sync.OnceFunc(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	t.Cleanup(stop)
	return strings.TrimSpace(at), stop
}

// world is a market with upstreams.
type world struct {
	*market.Market

	clock *clock.Movable
	log   *syncLog
	mu    sync.Mutex
	pulls map[string]int
}

type syncLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *syncLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *syncLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func setup(t *testing.T, upstreams ...market.Upstream) *world {
	t.Helper()
	return setupPatient(t, 2*time.Second, upstreams...)
}

// setupPatient is setup with another time limit of requests.
func setupPatient(t *testing.T, timeout time.Duration, upstreams ...market.Upstream) *world {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pay.db"))
	require.NoError(t, err)
	w := &world{clock: &clock.Movable{}, log: &syncLog{}, pulls: map[string]int{}}
	w.Market = market.New(market.Config{
		Store: db, Merchant: db.Merchant, Payee: func(context.Context, string) (string, error) { return "", nil }, Clock: w.clock.Now, Logger: slog.New(slog.NewTextHandler(w.log, nil)), Upstreams: upstreams, AllowPrivate: true,
		Limits: market.Limits{Timeout: timeout, Page: 64 << 10, Size: 512 << 10, Pages: 20, Entries: 1000},
		Pulled: func(upstream, outcome string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.pulls[upstream+" "+outcome]++
		},
	})
	t.Cleanup(func() {
		w.Close()
		require.NoError(t, db.Close())
	})
	return w
}

// pulled waits until an upstream was read with an outcome so many times. It moves the clock.
func (w *world) pulled(t *testing.T, outcome string, times int) {
	t.Helper()
	require.Eventually(t, func() bool {
		w.clock.Advance(6 * time.Minute)
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.pulls[outcome] >= times
	}, 2*time.Minute, 50*time.Millisecond, outcome)
}

func (w *world) find(t *testing.T, p client.MarketParams) []client.MarketEntry {
	t.Helper()
	p.Limit = 100
	page, err := w.Search(t.Context(), p, store.ListingCursor{})
	require.NoError(t, err)
	return page.Data
}

// TestCatalogsInOtherProcessesComeAndGo: entries of one that is down are stale, those of the
// other are not, and they recover.
func TestCatalogsInOtherProcessesComeAndGo(t *testing.T) {
	t.Parallel()
	one, stopOne := process(t, "127.0.0.1:0")
	two, _ := process(t, "127.0.0.1:0")
	w := setup(t, market.Upstream{Name: "one", Kind: market.KindX402, URL: "http://" + one + "/discovery/resources"},
		market.Upstream{Name: "two", Kind: market.KindMPP, URL: "http://" + two + "/services"})
	w.Start(t.Context())
	w.pulled(t, "one read", 1)
	w.pulled(t, "two read", 1)
	require.Len(t, w.find(t, client.MarketParams{}), 26)
	weather := w.find(t, client.MarketParams{Query: "weather towns", Category: "weather", Method: "GET", Protocol: "x402", MaxPriceMicros: 10_000})
	require.Len(t, weather, 25)
	require.EqualValues(t, 10_000, *weather[0].MinPriceMicros)
	require.Equal(t, []string{"upstream:one"}, weather[0].Sources)
	found := w.find(t, client.MarketParams{Protocol: "mpp"})
	require.Len(t, found, 1)
	require.Equal(t, "https://mpp.example/api/find/{id}", found[0].URL)
	require.Equal(t, "Find things", found[0].Description)
	require.EqualValues(t, 5000, *found[0].MaxPriceMicros)

	w.pulled(t, "one unchanged", 1)
	stopOne()
	w.pulled(t, "one unreachable", 2)
	require.Eventually(t, func() bool {
		for _, e := range w.find(t, client.MarketParams{Protocol: "x402"}) {
			if !e.Stale {
				return false
			}
		}
		return true
	}, time.Minute, 20*time.Millisecond)
	require.False(t, w.find(t, client.MarketParams{Protocol: "mpp"})[0].Stale)
	require.Equal(t, "mpp", w.find(t, client.MarketParams{})[0].Protocols[0], "stale entries come last")

	process(t, one)
	w.pulled(t, "one read", 2)
	for _, e := range w.find(t, client.MarketParams{}) {
		require.False(t, e.Stale, e.URL)
	}
}

// TestCatalogWithShortPagesIsReadToItsEnd: it caps the limit that was asked for.
func TestCatalogWithShortPagesIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(catalogOf(25, 10))
	t.Cleanup(srv.Close)
	w := setup(t, market.Upstream{Name: "short", Kind: market.KindX402, URL: srv.URL + "/discovery/resources"})
	w.Start(t.Context())
	w.pulled(t, "short read", 2)
	require.Len(t, w.find(t, client.MarketParams{}), 25)
}

// lie is a catalog that does not keep to its form, and the outcome that is reported.
type lie struct {
	outcome string
	serve   http.HandlerFunc
}

func lies() map[string]lie {
	page := func(offset int, url string) string {
		items := make([]string, 100)
		for i := range items {
			items[i] = `{"resource":"` + fmt.Sprintf(url, offset+i) + `","type":"http","accepts":[{"amount":"1","network":"base"}]}`
		}
		return `{"items":[` + strings.Join(items, ",") + `]}`
	}
	bomb := gzipped(make([]byte, 32<<20))
	offset := func(r *http.Request) int {
		n, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		return n
	}
	return map[string]lie{
		"endless": {"pages", func(w http.ResponseWriter, r *http.Request) { answer(w, r, page(offset(r), "https://liar.example/%d")) }},
		"repeats": {"pages", func(w http.ResponseWriter, r *http.Request) { answer(w, r, page(0, "https://liar.example/%d")) }},
		"nothing": {"pages", func(w http.ResponseWriter, r *http.Request) { answer(w, r, page(offset(r), "http://10.0.0.1/%d")) }},
		"heavy": {"size", func(w http.ResponseWriter, r *http.Request) {
			answer(w, r, strings.TrimSuffix(page(offset(r), "https://liar.example/%d"), "}")+`,"padding":"`+strings.Repeat("a", 40<<10)+`"}`)
		}},
		"types": {"content", func(w http.ResponseWriter, r *http.Request) { answer(w, r, `{"items":{"a":1}}`) }},
		"html": {"type", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<html>"))
		}},
		"large": {"size", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for range 1 << 14 { // 1 GiB
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}},
		"slow": {"unreachable", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte(" "))
				_ = http.NewResponseController(w).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(20 * time.Millisecond):
				}
			}
		}},
		"bomb": {"type", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		}},
		"redirects": {"status", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		}},
	}
}

func gzipped(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(data)
	_ = z.Close()
	return b.Bytes()
}

// TestLiesAreReportedAndListNothing, and the honest catalog is listed.
func TestLiesAreReportedAndListNothing(t *testing.T) {
	t.Parallel()
	lies := lies()
	honest := httptest.NewServer(catalog(3))
	t.Cleanup(honest.Close)
	upstreams := []market.Upstream{{Name: "honest", Kind: market.KindX402, URL: honest.URL + "/discovery/resources"}}
	for name, lie := range lies {
		srv := httptest.NewServer(lie.serve)
		t.Cleanup(srv.Close)
		upstreams = append(upstreams, market.Upstream{Name: name, Kind: market.KindX402, URL: srv.URL + "/discovery/resources"})
	}
	w := setup(t, upstreams...)
	w.Start(t.Context())
	for name, lie := range lies {
		if name != "nothing" {
			w.pulled(t, name+" "+lie.outcome, 1)
		}
	}
	w.pulled(t, "honest read", 1)
	for _, e := range w.find(t, client.MarketParams{}) {
		if strings.HasPrefix(e.URL, "http://10.") {
			continue // AllowPrivate
		}
		require.Equal(t, "https://shop.example", e.Owner)
	}
	require.Contains(t, w.log.String(), "upstream=large kind=size")
	require.NotContains(t, w.log.String(), "<html>")
}

// TestServerIsListedAsItsEndpointsAsk: a line for each operation, and those that agree are listed.
func TestServerIsListedAsItsEndpointsAsk(t *testing.T) {
	t.Parallel()
	request := "eyJhbW91bnQiOiIxMDAwMCIsImN1cnJlbmN5IjoiMHhhYiIsInJlY2lwaWVudCI6IjB4Y2QifQ" // {"amount":"10000","currency":"0xab","recipient":"0xcd"}
	paid := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Payment id="a", realm="shop", method="evm", intent="charge", request="`+request+`"`)
		w.WriteHeader(http.StatusPaymentRequired)
	}
	info := func(amount string) string {
		return `"x-payment-info":{"amount":"` + amount + `","currency":"0xAB","intent":"charge","method":"evm"}`
	}
	mux := http.NewServeMux()
	var broken atomic.Bool
	mux.HandleFunc("/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"openapi":"3.1.0","info":{"title":"A shop"},"x-service-info":{"categories":["data"]},"paths":{
			"/good/{id}":{"get":{"summary":"Good","parameters":[{"name":"id","in":"path","example":"seven"}],` + info("10000") + `,"responses":{"402":{}}}},
			"/dear":{"post":{` + info("20000") + `,"responses":{"402":{}}}},
			"/free":{"get":{` + info("10000") + `,"responses":{"402":{}}}},
			"/silent":{"get":{` + info("10000") + `,"responses":{"402":{}}}},
			"/undocumented":{"get":{` + info("10000") + `,"responses":{"200":{}}}},
			"/put":{"put":{` + info("10000") + `,"responses":{"402":{}}}},
			"/unpriced":{"get":{"responses":{"200":{}}}}}}`))
	})
	mux.HandleFunc("/good/seven", paid)
	mux.HandleFunc("/dear", paid)
	mux.HandleFunc("/free", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/silent", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusPaymentRequired) })
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	w := setup(t)
	shop := ledger.Merchant{ID: "mer_01", Name: "Shop", Active: true, PayTo: "0xCD", CreatedAt: time.Now()}
	putMerchant(t, w, shop)

	_, err := w.Register(t.Context(), shop, srv.URL+"/path")
	require.ErrorContains(t, err, "must be the public origin")
	s, err := w.Register(t.Context(), shop, srv.URL+"/")
	require.NoError(t, err)
	require.Equal(t, 1, s.Listed)
	require.True(t, s.Verified)
	require.Equal(t, []client.MarketLine{
		{Operation: "GET /free", Problem: "answered with status 200, not 402"},
		{Operation: "GET /good/{id}", Listed: true},
		{Operation: "GET /silent", Problem: "WWW-Authenticate has no valid challenge of the Payment scheme"},
		{Operation: "GET /undocumented", Problem: "the operation lists no response 402"},
		{Operation: "POST /dear", Problem: `the document has the price "20000", the challenge "10000"`},
		{Operation: "PUT /put", Problem: "the market lists GET and POST alone"},
	}, s.Report)
	found := w.find(t, client.MarketParams{Query: "good", Category: "data"})
	require.Len(t, found, 1)
	require.Equal(t, srv.URL+"/good/{id}", found[0].URL)
	require.True(t, found[0].Verified)
	require.Nil(t, found[0].MinPriceMicros, "the token is not known")

	broken.Store(true)
	w.Start(t.Context())
	require.Eventually(t, func() bool {
		w.clock.Advance(7 * time.Hour)
		return w.find(t, client.MarketParams{})[0].Stale
	}, time.Minute, 100*time.Millisecond)
	list, err := w.Servers(t.Context(), shop.ID)
	require.NoError(t, err)
	require.Equal(t, "/openapi.json: answered with status 500", list.Data[0].Report[0].Problem)
	require.NoError(t, w.DeleteServer(t.Context(), shop.ID, s.ID))
	require.Empty(t, w.find(t, client.MarketParams{}))
}

// TestSlowServersOfOneMerchantDoNotHoldUpOthers: a merchant waits for one read at a time.
func TestSlowServersOfOneMerchantDoNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}, 1), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-release
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(sync.OnceFunc(func() { close(release) }))
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"openapi":"3.1.0","paths":{}}`))
	}))
	t.Cleanup(empty.Close)
	w := setupPatient(t, time.Minute)
	one, other := ledger.Merchant{ID: "mer_01", Active: true, CreatedAt: time.Now()}, ledger.Merchant{ID: "mer_02", Active: true, CreatedAt: time.Now()}
	putMerchant(t, w, one)
	putMerchant(t, w, other)
	waiting, leave := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		_, err := w.Register(waiting, one, slow.URL)
		result <- err
	}()
	<-asked
	_, err := w.Register(t.Context(), one, empty.URL)
	require.ErrorContains(t, err, "another server of this account is being read")
	_, err = w.Register(t.Context(), other, empty.URL)
	require.NoError(t, err)
	leave()
	require.Error(t, <-result)
	_, err = w.Register(t.Context(), one, empty.URL)
	require.NoError(t, err)
}

func putMerchant(t *testing.T, w *world, m ledger.Merchant) {
	t.Helper()
	db, ok := w.Store.(interface {
		PutMerchant(ctx context.Context, m ledger.Merchant) error
	})
	require.True(t, ok)
	require.NoError(t, db.PutMerchant(t.Context(), m))
}

// TestStrangersTextIsOneLineOfText: no control or direction characters, and no address of a private
// network where those are not allowed.
func TestStrangersTextIsOneLineOfText(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"http://shop.example/", "https://10.0.0.1/", "https://localhost/", "https://intranet/", "https://a:b@shop.example/", "https://shop.example/#a",
		"javascript:alert(1)", "https://shop.example/\u202e", "https://shop.example/" + strings.Repeat("a", 1025), "https://[::1]/", "//shop.example/", "",
		`https://shop.example/"><b>`,
	} {
		require.False(t, market.Listable(address), address)
	}
	require.True(t, market.Listable("https://shop.example/a/{id}?b=c"))
	require.Equal(t, "a b c", market.Line("a\n\x00b\u202e\t c", 10))
	require.Equal(t, "aaaa…", market.Line(strings.Repeat("a", 9), 5))
}

// TestWordsAreCountedInCharacters: not in bytes, of which a character may have four.
func TestWordsAreCountedInCharacters(t *testing.T) {
	t.Parallel()
	long, longer := strings.Repeat("天", 32), strings.Repeat("気", 33)
	words := market.Words(store.Listing{Method: "GET", URL: "https://api.example.com/", Title: long + " " + longer})
	require.Contains(t, words, long)
	require.NotContains(t, words, longer)
}
