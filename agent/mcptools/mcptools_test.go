package mcptools_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent/journal"
	"github.com/paywarrant/paywarrant/agent/toolkit"
	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// maxDefinitions is what all definitions together may take of a model's context: about 3,000
// tokens of four bytes.
const maxDefinitions = 4 * 3000

func TestDefinitionsAreCompleteAndSmall(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	list, err := w.session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		require.NotEmpty(t, tool.Title, tool.Name)
		require.NotEmpty(t, tool.Description, tool.Name)
		require.NotNil(t, tool.OutputSchema, tool.Name)
		require.NotNil(t, tool.Annotations, tool.Name)
	}
	slices.Sort(names)
	require.Equal(t, []string{
		"authorize_agent_payment", "check_bundle_balance", "check_mandate_balance", "delegare_fetch", "poll_setup_session", "purchase_bundle",
		"revoke_mandate", "search_market", "setup_spending_mandate", "verify_receipt",
	}, names)
	text, err := json.Marshal(list.Tools)
	require.NoError(t, err)
	t.Logf("%d bytes, about %d tokens", len(text), len(text)/4)
	require.LessOrEqual(t, len(text), maxDefinitions)
}

func TestFetchPaysOnceAndItsReceiptVerifies(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	got := w.call(t, "delegare_fetch", map[string]any{"url": w.shop}).ok(t)
	require.Equal(t, "sunny", got.value["content"])
	require.Equal(t, true, got.value["paid"])
	receipt := got.value["receipt"].(map[string]any)
	require.InDelta(t, 750_000, receipt["amountMicros"], 0)
	require.Equal(t, true, w.call(t, "verify_receipt", map[string]any{"receipt": receipt["value"]}).ok(t).value["valid"])
	other := map[string]any{"receipt": receipt["value"], "resource": "https://api.example.com/other", "payTo": shopWallet, "amount": "0.75"}
	require.Equal(t, false, w.call(t, "verify_receipt", other).ok(t).value["valid"])
	require.Equal(t, int64(75), w.spent(t))
}

func TestTheSamePaymentIsNotMadeTwiceUnconfirmed(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.call(t, "delegare_fetch", map[string]any{"url": w.shop}).ok(t)
	w.call(t, "delegare_fetch", map[string]any{"url": w.shop}).refused(t, toolkit.CodeDuplicate)
	require.Equal(t, int64(75), w.spent(t))
	w.call(t, "delegare_fetch", map[string]any{"url": w.shop, "payAgain": true}).ok(t)
	require.Equal(t, int64(150), w.spent(t))
	w.Clock.Advance(11 * time.Minute)
	w.call(t, "delegare_fetch", map[string]any{"url": w.shop}).ok(t)
	require.Equal(t, int64(225), w.spent(t))

	pay := map[string]any{"amountCents": 100, "currency": "usd", "description": "report", "recipient": w.Merchant.ID}
	first := w.call(t, "authorize_agent_payment", pay).ok(t)
	again := w.call(t, "authorize_agent_payment", pay).refused(t, toolkit.CodeDuplicate)
	require.Equal(t, first.value["transactionId"], again.value["transactionId"])
	require.Equal(t, int64(325), w.spent(t))
	pay["payAgain"] = true
	w.call(t, "authorize_agent_payment", pay).ok(t)
	require.Equal(t, int64(425), w.spent(t))
	delete(pay, "payAgain")
	pay["description"] = "another report"
	w.call(t, "authorize_agent_payment", pay).ok(t)
	require.Equal(t, int64(525), w.spent(t))
}

// TestAnotherProcessAlsoRefusesTheSamePayment: the guard does not rest on one process's memory.
func TestAnotherProcessAlsoRefusesTheSamePayment(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.Clock.Advance(w.Clock.Now().Truncate(10 * time.Minute).Add(11 * time.Minute).Sub(w.Clock.Now())) // the next window has just begun
	in := toolkit.PayIn{AmountCents: 100, Currency: "usd", Description: "report", Recipient: w.Merchant.ID}
	var refused int
	for range 3 {
		kit, err := toolkit.New(toolkit.Config{ServiceURL: w.URL, Token: w.token, Mandate: w.mandateID, Clock: w.Clock.Now})
		require.NoError(t, err)
		if _, err = kit.Pay(t.Context(), in, nil); err != nil {
			var e *toolkit.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, toolkit.CodeDuplicate, e.Code)
			refused++
		}
		kit.CloseIdleConnections()
	}
	require.Equal(t, 2, refused)
	require.Equal(t, int64(100), w.spent(t))
}

// TestAFetchThatWasKilledIsNotPaidAgain: with a journal, the same fetch in the next process sends
// the same payment.
func TestAFetchThatWasKilledIsNotPaidAgain(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	path := filepath.Join(t.TempDir(), "purchases")
	fetch := func(lost bool) error {
		book, err := journal.OpenFile(path)
		require.NoError(t, err)
		defer func() { require.NoError(t, book.Close()) }()
		kit, err := toolkit.New(toolkit.Config{
			ServiceURL: w.URL, Token: w.token, Mandate: w.mandateID, AllowPrivate: true, Clock: w.Clock.Now, Journal: book,
		})
		require.NoError(t, err)
		defer kit.CloseIdleConnections()
		w.lose.Store(lost)
		_, err = kit.Fetch(t.Context(), toolkit.FetchIn{URL: w.shop})
		return err
	}
	require.Error(t, fetch(true))
	require.NoError(t, fetch(false))
	require.Equal(t, int64(75), w.spent(t))
	require.Equal(t, int64(1), w.served.Load())
	require.NoError(t, fetch(false), "a purchase that was delivered is over")
	require.Equal(t, int64(150), w.spent(t))
}

func TestParallelCallsForOnePurposePayOnce(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_, _ = w.session.CallTool(t.Context(), &mcp.CallToolParams{Name: "delegare_fetch", Arguments: map[string]any{"url": w.shop}})
		})
		all.Go(func() {
			_, _ = w.session.CallTool(t.Context(), &mcp.CallToolParams{Name: "authorize_agent_payment", Arguments: map[string]any{
				"amountCents": 100, "currency": "usd", "description": "report", "recipient": w.Merchant.ID,
			}})
		})
	}
	all.Wait()
	require.Equal(t, int64(175), w.spent(t))
}

func TestRefusalsSayWhatToDo(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.call(t, "delegare_fetch", map[string]any{"url": w.shop, "maxPriceCents": 10}).refused(t, toolkit.CodeTooExpensive)
	w.call(t, "delegare_fetch", map[string]any{"url": "file:///etc/passwd"}).refused(t, "validation_error")
	w.call(t, "delegare_fetch", map[string]any{"url": "https://user:secret@api.example.com/"}).refused(t, "validation_error")
	w.call(t, "delegare_fetch", map[string]any{}).refused(t, "validation_error")
	w.call(t, "delegare_fetch", map[string]any{"url": w.shop, "headers": map[string]any{"X-Service-Mandate": "x"}}).refused(t, "validation_error")
	pay := func(cents int, recipient string) map[string]any {
		return map[string]any{"amountCents": cents, "currency": "usd", "description": "x", "recipient": recipient}
	}
	require.Equal(t, "lower_amount", w.call(t, "authorize_agent_payment", pay(501, w.Merchant.ID)).refused(t, "per_tx").value["remedy"])
	w.call(t, "authorize_agent_payment", pay(100, "0x2222222222222222222222222222222222222222")).refused(t, "merchant_not_allowed")
	w.call(t, "authorize_agent_payment", pay(100, "")).refused(t, "validation_error")
	w.call(t, "check_mandate_balance", map[string]any{"mandateId": "del_01JDZ8Y5TT6S8V3PB2N6C9XQ4R"}).refused(t, "not_found")
	require.Equal(t, map[string]any{"success": true, "status": "revoked"}, w.call(t, "revoke_mandate", map[string]any{"mandateId": w.mandateID}).ok(t).value)
	require.Equal(t, "revoked", w.call(t, "check_mandate_balance", nil).ok(t).value["status"])
	require.Equal(t, "new_mandate", w.call(t, "authorize_agent_payment", pay(100, w.Merchant.ID)).refused(t, "mandate_revoked").value["remedy"])
	require.Zero(t, w.spent(t))
}

// TestPrivateAddressesAreNotFetched: a model cannot make the tools read what is inside.
func TestPrivateAddressesAreNotFetched(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *toolkit.Config, _ *mcp.ClientOptions) { c.AllowPrivate = false })
	for _, url := range []string{w.shop, "http://169.254.169.254/latest/meta-data", "http://[::1]:1/", "http://0.0.0.0/", "http://127.1/"} {
		w.call(t, "delegare_fetch", map[string]any{"url": url}).refused(t, toolkit.CodeFetchFailed)
		if strings.HasPrefix(url, "http://127.0.0.1") {
			w.call(t, "purchase_bundle", map[string]any{"merchantBundleUrl": url}).refused(t, toolkit.CodeFetchFailed)
		}
	}
	require.Zero(t, w.served.Load())
}

func TestWithoutAMandateThereIsALinkToSetOneUp(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *toolkit.Config, _ *mcp.ClientOptions) { c.Mandate = "" })
	needed := w.call(t, "authorize_agent_payment", map[string]any{
		"amountCents": 100, "currency": "usd", "description": "report", "recipient": w.Merchant.ID,
	}).refused(t, toolkit.CodeMandateNeeded)
	require.Contains(t, needed.value["setupUrl"], w.URL+"/setup/")
	w.CompleteSetup(t, needed.value["sessionToken"].(string))
	done := w.call(t, "poll_setup_session", map[string]any{"sessionToken": needed.value["sessionToken"]}).ok(t)
	require.Equal(t, "completed", done.value["status"])
	paid := w.call(t, "authorize_agent_payment", map[string]any{
		"amountCents": 100, "currency": "usd", "description": "report", "recipient": w.Merchant.ID, "mandateId": done.value["mandateId"],
	}).ok(t)
	require.Equal(t, "completed", paid.value["status"])
}

func TestPollingReportsProgressAndStopsWhenCanceled(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	made := w.call(t, "setup_spending_mandate", map[string]any{"maxAmountPerTxCents": 100, "maxMonthlySpendCents": 1000}).ok(t)
	ctx, cancel := context.WithCancel(t.Context())
	p := &mcp.CallToolParams{Name: "poll_setup_session", Arguments: map[string]any{"sessionToken": made.value["sessionToken"]}}
	p.SetProgressToken("p")
	ended := make(chan error, 1)
	go func() {
		_, err := w.session.CallTool(ctx, p)
		ended <- err
	}()
	require.Eventually(t, func() bool { return w.progress.Load() > 0 }, 5*time.Second, 10*time.Millisecond)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestAClientThatOpensLinksIsAskedTo(t *testing.T) {
	t.Parallel()
	var asked mcp.ElicitParams
	w := setup(t, func(_ *toolkit.Config, o *mcp.ClientOptions) {
		o.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}}
		o.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked = *r.Params
			return &mcp.ElicitResult{Action: "accept"}, nil
		}
	})
	made := w.call(t, "setup_spending_mandate", map[string]any{"maxAmountPerTxCents": 100, "maxMonthlySpendCents": 1000}).ok(t)
	require.Equal(t, made.value["setupUrl"], asked.URL)
	require.Equal(t, "url", asked.Mode)
}

// TestAServerThatRepeatsSecretsGetsThemRedacted: what a seller answers reaches the model without
// the token of a bundle that was sent to it.
func TestAServerThatRepeatsSecretsGetsThemRedacted(t *testing.T) {
	t.Parallel()
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Bundle-Token") == "" {
			w.Header().Set("PAYMENT-REQUIRED", "")
		}
		_, _ = w.Write([]byte("you sent " + r.Header.Get("X-Bundle-Token") + r.Header.Get("Authorization")))
	}))
	t.Cleanup(echo.Close)
	w := setup(t, nil)
	const bundle = "bundle-token-canary"
	got := w.call(t, "delegare_fetch", map[string]any{"url": echo.URL, "bundleToken": bundle})
	require.NotContains(t, got.text, bundle)
	got = w.call(t, "check_bundle_balance", map[string]any{"merchantBalanceUrl": echo.URL, "bundleToken": bundle}).refused(t, toolkit.CodeFetchFailed)
	require.NotContains(t, got.text, bundle)
}

func TestATokenWithoutAScopeIsRefusedByTheTools(t *testing.T) {
	t.Parallel()
	var srv *servertest.Server
	w := setup(t, nil)
	srv = w.Server
	made, err := srv.Client().CreateAccessToken(t.Context(), client.AccessTokenParams{Scopes: []client.Scope{client.ScopeBalance}, Mandate: w.mandateID})
	require.NoError(t, err)
	kit, err := toolkit.New(toolkit.Config{ServiceURL: srv.URL, Token: made.Token, Mandate: w.mandateID, AllowPrivate: true})
	require.NoError(t, err)
	t.Cleanup(kit.CloseIdleConnections)
	_, err = kit.Balance(t.Context(), toolkit.MandateIn{})
	require.NoError(t, err)
	for name, call := range map[string]func() error{
		"pay": func() error {
			_, err := kit.Pay(t.Context(), toolkit.PayIn{AmountCents: 1, Currency: "usd", Description: "x", Recipient: srv.Merchant.ID}, nil)
			return err
		},
		"fetch":  func() error { _, err := kit.Fetch(t.Context(), toolkit.FetchIn{URL: w.shop}); return err },
		"revoke": func() error { _, err := kit.Revoke(t.Context(), toolkit.RevokeIn{MandateID: w.mandateID}); return err },
		"setup": func() error {
			_, err := kit.Setup(t.Context(), toolkit.SetupIn{MaxAmountPerTxCents: 1, MaxMonthlySpendCents: 1})
			return err
		},
	} {
		var e *toolkit.Error
		require.ErrorAs(t, call(), &e, name)
		require.Equal(t, "insufficient_scope", e.Code, name)
		require.ErrorIs(t, e, client.ErrInsufficientScope, name)
	}
	require.Zero(t, w.spent(t))
}

// TestTwoMerchantsAreNotConfused: an agent of one merchant can do nothing with a mandate of another.
func TestTwoMerchantsAreNotConfused(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	other, err := w.CreateMerchant(t.Context(), server.MerchantParams{Name: "Other"})
	require.NoError(t, err)
	made, err := w.ClientOf(t, other).CreateAccessToken(t.Context(), client.AccessTokenParams{})
	require.NoError(t, err)
	kit, err := toolkit.New(toolkit.Config{ServiceURL: w.URL, Token: made.Token, Mandate: w.mandateID, AllowPrivate: true})
	require.NoError(t, err)
	t.Cleanup(kit.CloseIdleConnections)
	_, err = kit.Balance(t.Context(), toolkit.MandateIn{})
	require.ErrorIs(t, err, client.ErrNotFound)
	_, err = kit.Pay(t.Context(), toolkit.PayIn{AmountCents: 100, Currency: "usd", Description: "x", Recipient: other.ID}, nil)
	require.Error(t, err)
	_, err = kit.Fetch(t.Context(), toolkit.FetchIn{URL: w.shop})
	require.Error(t, err)
	_, err = kit.Revoke(t.Context(), toolkit.RevokeIn{MandateID: w.mandateID})
	require.ErrorIs(t, err, client.ErrNotFound)
	require.Zero(t, w.spent(t))
}
