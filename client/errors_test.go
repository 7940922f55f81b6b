package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
)

// Every code comes through HTTP as its sentinel, and as no other.
func TestEveryCodeComesThrough(t *testing.T) {
	t.Parallel()
	for _, sentinel := range client.Errors() {
		t.Run(string(sentinel.Code), func(t *testing.T) {
			t.Parallel()
			body, err := json.Marshal(&client.Error{
				Code: sentinel.Code, Message: "what is wrong", Param: "amountCents", RequestID: "req_7", DocURL: "https://docs.example/" + string(sentinel.Code),
				LimitCents: new(int64(500)), RemainingMonthlySpendCents: new(int64(20)),
				RemainingCents: new(int64(20)), LimitPayments: new(int64(7)), RenewsAt: noon,
			})
			require.NoError(t, err)
			c := setup(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Retry-After", "7")
				reply(sentinel.Status, string(body))(w, r)
			}, noRetries)
			_, err = c.Charge(t.Context(), chargeParams())
			for _, other := range client.Errors() {
				require.Equal(t, other == sentinel, errors.Is(err, other), "%v is %v", err, other)
			}
			var e *client.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, &client.Error{
				Status: sentinel.Status, Code: sentinel.Code, Message: "what is wrong", Param: "amountCents", RequestID: "req_7",
				DocURL: "https://docs.example/" + string(sentinel.Code), LimitCents: new(int64(500)), RemainingMonthlySpendCents: new(int64(20)),
				RemainingCents: new(int64(20)), LimitPayments: new(int64(7)), RenewsAt: noon,
				RetryAfter: 7 * time.Second,
			}, e)
			require.ErrorContains(t, err, "charge mandate: ")
			require.ErrorContains(t, err, "amountCents: what is wrong ("+string(sentinel.Code)+") [req_7]")
		})
	}
}

// TestErrorNamesAFieldOnce: the service's messages begin with the field, and those of the
// client do not.
func TestErrorNamesAFieldOnce(t *testing.T) {
	t.Parallel()
	c := setup(t, reply(http.StatusBadRequest, `{"code":"validation_error","message":"maxPerTxCents is required: 1 to 10","param":"maxPerTxCents"}`), noRetries)
	_, err := c.CreateSession(t.Context(), client.SessionParams{})
	require.EqualError(t, err, "client: create session: maxPerTxCents is required: 1 to 10 (validation_error)")
	short := &client.Error{Code: client.CodeValidation, Param: "a", Message: "amount is not a number"}
	require.EqualError(t, short, "a: amount is not a number (validation_error)")
}

// The package comment says what to do about every error there is.
func TestPackageCommentNamesEveryError(t *testing.T) {
	t.Parallel()
	doc, err := parser.ParseFile(gotoken.NewFileSet(), "doc.go", nil, parser.ParseComments)
	require.NoError(t, err)
	for _, file := range []string{"errors.go", "answer.go", "unknown.go", "wait.go"} {
		f, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		found := 0
		for name, object := range f.Scope.Objects {
			if object.Kind == ast.Var && strings.HasPrefix(name, "Err") {
				found++
				require.Contains(t, doc.Doc.Text(), "\t"+name+" ", name)
			}
		}
		require.NotZero(t, found, file)
	}
}

func TestForeignAnswersGetTheirCodeFromTheStatus(t *testing.T) {
	t.Parallel()
	page := "<html><body>Proxy says: InternalHostName</body></html>"
	for _, tc := range []struct {
		status int
		want   *client.Error
	}{
		{429, client.ErrRateLimited},
		{413, client.ErrPayloadTooLarge},
		{500, client.ErrUnavailable},
		{502, client.ErrUnavailable},
		{503, client.ErrUnavailable},
		{504, client.ErrUnavailable},
		{599, client.ErrUnavailable},
		{302, client.ErrUnexpectedAnswer},
		{400, client.ErrUnexpectedAnswer},
		{401, client.ErrUnexpectedAnswer},
		{402, client.ErrUnexpectedAnswer},
		{403, client.ErrUnexpectedAnswer}, // not "mandate invalid": a proxy does not know about mandates
		{404, client.ErrUnexpectedAnswer}, // nor "no such receipt"
		{409, client.ErrUnexpectedAnswer},
		{422, client.ErrUnexpectedAnswer},
		{200, client.ErrUnexpectedAnswer},
	} {
		for _, body := range []string{page, "", "{}", "null", "[]", `"InternalHostName"`, `{"code":503,"message":"InternalHostName"}`, `{"code":"monthly","message":"InternalHostName"`, `{"message":"InternalHostName"}`} {
			c := setup(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Request-Id", "req_proxy")
				reply(tc.status, body)(w, r)
			}, noRetries)
			_, err := c.Receipt(t.Context(), "txn_1")
			require.ErrorIs(t, err, tc.want, "%d %s", tc.status, body)
			require.NotContains(t, err.Error(), "InternalHostName")
			var e *client.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, tc.status, e.Status)
			require.Equal(t, "req_proxy", e.RequestID)
			require.NotContains(t, e.Message, "InternalHostName")
		}
	}
}

// Anybody can answer 200: what does not hold what the answer must hold is not believed.
func TestAnswersMustHoldWhatTheyPromise(t *testing.T) {
	t.Parallel()
	torn := []string{"", "{}", "null", "[]", "7", `{"ok":true}`, "<html>", `{"transactionId":"txn_1","status":"completed"`, chargeAnswer + chargeAnswer, `{"transactionId":"txn_1"}`, `{"status":"completed"}`, `{"transactionId":7,"status":"completed"}`}
	for _, body := range torn {
		c := setup(t, reply(http.StatusOK, body), noRetries)
		for name, err := range everyMethod(t.Context(), c) {
			if strings.HasSuffix(body, `"status":"completed"}`) && (name == "session" || name == "balance") {
				continue // they hold no more than that
			}
			require.ErrorIs(t, err, client.ErrUnexpectedAnswer, "%s: %s", name, body)
		}
	}
	c := setup(t, reply(http.StatusOK, `{"success":true}`), noRetries)
	_, err := c.SettlePaywall(t.Context(), client.PaywallSettlementParams{Mandate: token})
	require.ErrorIs(t, err, client.ErrUnknownOutcome)
	_, err = c.Revoke(t.Context(), token)
	require.ErrorIs(t, err, client.ErrUnexpectedAnswer)
	c = setup(t, reply(http.StatusOK, `{"success":false,"status":"active"}`), noRetries)
	_, err = c.Revoke(t.Context(), token)
	require.ErrorIs(t, err, client.ErrUnexpectedAnswer, "a revocation that is none must not look like one")
}

func TestWhatJSONCannotHoldIsNotSent(t *testing.T) {
	t.Parallel()
	handler, calls := inTurn(reply(http.StatusOK, `{"sessionToken":"s","setupUrl":"u"}`))
	c := setup(t, handler)
	_, err := c.CreateSession(t.Context(), client.SessionParams{ExpiresAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)})
	require.ErrorIs(t, err, client.ErrValidation)
	require.Zero(t, calls())
}

// everyMethod calls all of them once.
func everyMethod(ctx context.Context, c *client.Client) map[string]error {
	errs := map[string]error{}
	_, errs["create endpoint"] = c.CreateWebhookEndpoint(ctx, client.WebhookEndpointParams{URL: "https://shop.example/hooks"})
	_, errs["create session"] = c.CreateSession(ctx, client.SessionParams{MaxPerTxCents: 1, MaxMonthlySpendCents: 1})
	_, errs["session"] = c.Session(ctx, sessToken)
	_, errs["balance"] = c.Balance(ctx, token)
	_, errs["revoke"] = c.Revoke(ctx, token)
	_, errs["charge"] = c.Charge(ctx, chargeParams())
	_, errs["receipt"] = c.Receipt(ctx, "txn_1")
	_, errs["stats"] = c.Stats(ctx)
	_, errs["page"] = c.TransactionsPage(ctx, client.ListParams{})
	_, errs["settle"] = c.SettlePaywall(ctx, client.PaywallSettlementParams{Mandate: token})
	return errs
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	c := newClient(t, client.Config{BaseURL: "http://" + l.Addr().String()}, noRetries)
	for name, err := range everyMethod(t.Context(), c) {
		require.ErrorIs(t, err, syscall.ECONNREFUSED, name)
		require.NotErrorIs(t, err, client.ErrUnknownOutcome, "%s: nothing was sent", name)
		require.NotContains(t, err.Error(), "/v1/", "no path, however short the id in it")
		var netErr net.Error
		require.ErrorAs(t, err, &netErr)
		require.False(t, netErr.Timeout())
	}
}

func TestEndedContextSendsNothing(t *testing.T) {
	t.Parallel()
	handler, calls := inTurn(reply(http.StatusOK, chargeAnswer))
	c := setup(t, handler)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range everyMethod(ctx, c) {
		require.ErrorIs(t, err, context.Canceled, name)
		require.NotErrorIs(t, err, client.ErrUnknownOutcome, name)
	}
	require.Zero(t, calls())
}

// A caller's cancellation is found in the error, even if the context has a cause of its own.
func TestCancellationUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		c := setupInMemory(t, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			cancel(errors.New("the shop closes"))
			<-r.Context().Done()
		})
		_, err := c.Charge(ctx, chargeParams())
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, client.ErrUnknownOutcome)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.NotContains(t, err.Error(), "waiting", "no pause was begun")
	})
}

func TestAttemptTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		silent := func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}
		slowBody := func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, `{"totalVolumeCents":`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
		for _, handler := range []http.HandlerFunc{silent, slowBody} {
			c := setupInMemory(t, handler, noRetries, func(cfg *client.Config) { cfg.Timeout = 7 * time.Second })
			start := time.Now()
			_, err := c.Charge(t.Context(), chargeParams())
			require.Equal(t, 7*time.Second, time.Since(start))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, client.ErrUnknownOutcome)
			require.ErrorContains(t, err, "no answer within 7s")
			var netErr net.Error
			require.ErrorAs(t, err, &netErr)
			require.True(t, netErr.Timeout())
		}
	})
}

// Everything of the caller's HTTP client holds but the redirects.
func TestOwnHTTPClientKeepsItsTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := setupInMemory(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, noRetries,
			func(cfg *client.Config) { cfg.HTTPClient.Timeout = 2 * time.Second })
		start := time.Now()
		_, err := c.Stats(t.Context())
		require.Equal(t, 2*time.Second, time.Since(start))
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	require.EqualError(t, &client.Error{Code: client.CodeMonthlyLimit}, "monthly")
	require.EqualError(t, client.ErrSetupFailed, "setup failed")
	require.EqualError(t, &client.SetupFailedError{}, "setup failed")
	require.EqualError(t, &client.SetupFailedError{Reason: "declined"}, "setup failed: declined")
	require.EqualError(t, &client.UnknownOutcomeError{IdempotencyKey: "k", Err: io.EOF},
		`outcome unknown: EOF; repeat the call with idempotency key "k" to learn it`)
	require.NotErrorIs(t, fmt.Errorf("other"), client.ErrMonthlyLimit)
	require.NotErrorIs(t, client.ErrMonthlyLimit, io.EOF)
}
