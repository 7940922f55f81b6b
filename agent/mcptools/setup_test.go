package mcptools_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/agent/mcptools"
	"github.com/paywarrant/paywarrant/agent/toolkit"
	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const shopWallet = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"

// world is a service, a shop behind a gate, and an agent's session with the tools.
type world struct {
	*servertest.Server

	mandateID string
	token     string
	shop      string // URL of what costs 0.75 USD
	served    atomic.Int64
	lose      atomic.Bool // the connection breaks when a payment arrives
	session   *mcp.ClientSession
	progress  atomic.Int64
}

func setup(t *testing.T, change func(*toolkit.Config, *mcp.ClientOptions)) *world {
	t.Helper()
	w := &world{Server: servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: shopWallet}})}
	mandate := w.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	b, err := w.Client().Balance(t.Context(), mandate)
	require.NoError(t, err)
	w.mandateID = b.MandateID
	made, err := w.Client().CreateAccessToken(t.Context(), client.AccessTokenParams{})
	require.NoError(t, err)
	w.token = made.Token
	w.sell(t)
	cfg := toolkit.Config{ServiceURL: w.URL, Token: w.token, Mandate: w.mandateID, AllowPrivate: true, Clock: w.Clock.Now}
	options := &mcp.ClientOptions{ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { w.progress.Add(1) }}
	if change != nil {
		change(&cfg, options)
	}
	w.connect(t, cfg, options)
	return w
}

// sell starts a shop behind a gate.
func (w *world) sell(t *testing.T) {
	t.Helper()
	api := httptest.NewUnstartedServer(nil)
	w.shop = "http://" + api.Listener.Addr().String() + "/weather"
	gate, err := paywall.New(paywall.Config{Price: "0.75", PayTo: shopWallet, APIURL: w.URL, TestMode: true, Resource: w.shop, Clock: w.Clock.Now})
	require.NoError(t, err)
	paid := gate.Require(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		w.served.Add(1)
		_, _ = io.WriteString(rw, "sunny")
	}))
	api.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.lose.Load() && r.Header.Get("X-Service-Mandate") != "" {
			panic(http.ErrAbortHandler)
		}
		paid.ServeHTTP(rw, r)
	})
	api.Start()
	t.Cleanup(api.Close)
}

func (w *world) connect(t *testing.T, cfg toolkit.Config, options *mcp.ClientOptions) {
	t.Helper()
	kit, err := toolkit.New(cfg)
	require.NoError(t, err)
	toServer, toClient := mcp.NewInMemoryTransports()
	served, err := mcptools.New(mcptools.Config{Kit: mcptools.Fixed(kit)}).Connect(t.Context(), toServer, nil)
	require.NoError(t, err)
	w.session, err = mcp.NewClient(&mcp.Implementation{Name: "test"}, options).Connect(t.Context(), toClient, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, end := range []func() error{w.session.Close, served.Wait} {
			if err := end(); !errors.Is(err, io.ErrClosedPipe) { // a canceled call may still be writing
				require.NoError(t, err)
			}
		}
		kit.CloseIdleConnections()
	})
}

// result is what a tool answered.
type result struct {
	*mcp.CallToolResult

	text  string
	value map[string]any
}

func (w *world) call(t *testing.T, tool string, arguments map[string]any) result {
	t.Helper()
	p := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	p.SetProgressToken("p")
	got, err := w.session.CallTool(t.Context(), p)
	require.NoError(t, err)
	require.Len(t, got.Content, 1)
	r := result{CallToolResult: got, text: got.Content[0].(*mcp.TextContent).Text}
	require.NoError(t, json.Unmarshal([]byte(r.text), &r.value), r.text)
	require.NotContains(t, r.text, w.token)
	require.NotContains(t, r.text, "dtok_")
	if !got.IsError {
		require.Equal(t, r.value, got.StructuredContent, "the text is the structured content")
	}
	return r
}

func (r result) ok(t *testing.T) result {
	t.Helper()
	require.False(t, r.IsError, r.text)
	return r
}

// refused requires an error that a model can act on.
func (r result) refused(t *testing.T, code string) result {
	t.Helper()
	require.True(t, r.IsError, r.text)
	require.Equal(t, code, r.value["code"], r.text)
	for _, member := range []string{"message", "remedy", "next"} {
		require.NotEmpty(t, r.value[member], r.text)
	}
	return r
}

func (w *world) spent(t *testing.T) int64 {
	t.Helper()
	b, err := w.Client().Balance(t.Context(), w.mandateID)
	require.NoError(t, err)
	return b.CurrentMonthlySpendCents
}
