package client_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// method is a call of the client, what it sends, and what it makes of an answer.
type method struct {
	name   string
	do     func(context.Context, *client.Client) (any, error)
	sends  string // method and request target
	body   string // "": none is sent
	answer string
	want   any
}

const checkoutJSON = `{"id":"chk_1","url":"https://pay.example/checkout/chk_1/x","status":"paid","amountCents":500,"description":"1,000 requests",
"transactionId":"txn_1","createdAt":"2026-11-21T12:00:00.000Z","expiresAt":"2026-11-21T12:00:00.000Z"}`

// methods are all but those about webhooks.
var methods = []method{
	{
		"create session", func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreateSession(ctx, client.SessionParams{
				MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, RequestedRail: client.CardRail,
				AllowedMerchantIDs: []string{"*"}, ExpiresAt: noon, ReturnURL: "https://shop.example/", Metadata: map[string]string{"a": "b"}, IdempotencyKey: "k",
			})
		},
		"POST /v1/mandates",
		`{"maxPerTxCents":500,"maxMonthlySpendCents":5000,"requestedRail":"fiatrail","allowedMerchantIds":["*"],"expiresAt":"2026-11-21T12:00:00Z","returnUrl":"https://shop.example/","metadata":{"a":"b"},"idempotencyKey":"k"}`,
		`{"sessionToken":"sess_1","setupUrl":"https://pay.example/setup/1","status":"pending","expiresAt":"2026-11-21T12:00:00.000Z"}`,
		client.Session{SessionToken: "sess_1", SetupURL: "https://pay.example/setup/1", Status: client.SessionPending, ExpiresAt: noon},
	},
	{
		"create session with defaults", func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreateSession(ctx, client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, IdempotencyKey: "k"})
		},
		"POST /v1/mandates", `{"maxPerTxCents":500,"maxMonthlySpendCents":5000,"idempotencyKey":"k"}`,
		`{"sessionToken":"sess_1","setupUrl":"https://pay.example/setup/1"}`,
		client.Session{SessionToken: "sess_1", SetupURL: "https://pay.example/setup/1"},
	},
	{
		"create session with further limits", func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreateSession(ctx, client.SessionParams{
				MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, IdempotencyKey: "k",
				FurtherLimits: client.FurtherLimits{MaxDailySpendCents: 1000, MaxTotalSpendCents: 9000, MaxPaymentsPerDay: 7, MaxMonthlyPerPayeeCents: 2000},
			})
		},
		"POST /v1/mandates",
		`{"maxPerTxCents":500,"maxMonthlySpendCents":5000,"maxDailySpendCents":1000,"maxTotalSpendCents":9000,"maxPaymentsPerDay":7,"maxMonthlyPerPayeeCents":2000,"idempotencyKey":"k"}`,
		`{"sessionToken":"sess_1","setupUrl":"https://pay.example/setup/1"}`,
		client.Session{SessionToken: "sess_1", SetupURL: "https://pay.example/setup/1"},
	},
	{
		"read session", func(ctx context.Context, c *client.Client) (any, error) { return c.Session(ctx, sessToken) },
		"GET /v1/mandates/session/" + sessToken, "",
		`{"status":"completed","intentMandate":"dtok_1","delegateId":"del_1"}`,
		client.Session{Status: client.SessionCompleted, Mandate: "dtok_1", MandateID: "del_1"},
	},
	{
		"balance", func(ctx context.Context, c *client.Client) (any, error) { return c.Balance(ctx, token) },
		"GET /v1/mandates/" + token + "/balance", "",
		`{"delegateId":"del_1","status":"active","maxPerTxCents":500,"maxMonthlySpendCents":5000,"currentMonthlySpendCents":250,"remainingMonthlySpendCents":4750,"currentMonth":"2026-11","expiresAt":"2026-11-21T12:00:00.000Z","rails":["fiatrail"],"allowedMerchantIds":["mer_1"]}`,
		client.Balance{
			MandateID: "del_1", Status: client.MandateActive, MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, CurrentMonthlySpendCents: 250,
			RemainingMonthlySpendCents: 4750, CurrentMonth: "2026-11", ExpiresAt: noon, Rails: []client.Rail{client.CardRail}, AllowedMerchantIDs: []string{"mer_1"},
		},
	},
	{
		"balance with further limits", func(ctx context.Context, c *client.Client) (any, error) { return c.Balance(ctx, token) },
		"GET /v1/mandates/" + token + "/balance", "",
		`{"delegateId":"del_1","status":"active","maxPaymentsPerDay":7,"roundUpRest":true,"limits":[{"kind":"total","limitCents":9000,"usedCents":0,"remainingCents":9000},{"kind":"velocity","limitPayments":7,"usedPayments":7,"remainingPayments":0,"renewsAt":"2026-11-21T12:00:00.000Z"}]}`,
		client.Balance{
			MandateID: "del_1", Status: client.MandateActive, FurtherLimits: client.FurtherLimits{MaxPaymentsPerDay: 7}, RoundUpRest: true,
			Limits: []client.Limit{
				{Kind: client.CodeTotalLimit, LimitCents: new(int64(9000)), UsedCents: new(int64(0)), RemainingCents: new(int64(9000))},
				{Kind: client.CodeVelocityLimit, LimitPayments: new(int64(7)), UsedPayments: new(int64(7)), RemainingPayments: new(int64(0)), RenewsAt: noon},
			},
		},
	},
	{
		"revoke", func(ctx context.Context, c *client.Client) (any, error) { return c.Revoke(ctx, "del_1") },
		"POST /v1/mandates/del_1/revoke", "",
		`{"success":true,"status":"revoked"}`,
		client.Revocation{Success: true, Status: client.MandateRevoked},
	},
	{
		"create access token", func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreateAccessToken(ctx, client.AccessTokenParams{
				Name: "shopping", Scopes: []client.Scope{client.ScopePay}, Mandate: "del_1", ExpiresInDays: 30,
			})
		},
		"POST /v1/access-tokens", `{"name":"shopping","scopes":["pay"],"mandate":"del_1","expiresInDays":30}`,
		`{"id":"tok_1","name":"shopping","token":"token_1","lastFour":"en_1","status":"active","scopes":["pay"],"delegateId":"del_1","createdAt":"2026-11-21T12:00:00.000Z","expiresAt":"2026-11-21T12:00:00.000Z"}`,
		client.AccessToken{
			ID: "tok_1", Name: "shopping", Token: "token_1", LastFour: "en_1", Status: client.TokenActive, Scopes: []client.Scope{client.ScopePay},
			MandateID: "del_1", CreatedAt: noon, ExpiresAt: noon,
		},
	},
	{
		"access tokens", func(ctx context.Context, c *client.Client) (any, error) {
			return c.AccessTokensPage(ctx, client.ListParams{Limit: 2, StartingAfter: "tok_1"})
		},
		"GET /v1/access-tokens?limit=2&starting_after=tok_1", "",
		`{"hasMore":false,"data":[]}`,
		client.AccessTokenPage{Data: []client.AccessToken{}},
	},
	{
		"revoke access token", func(ctx context.Context, c *client.Client) (any, error) { return c.RevokeAccessToken(ctx, "tok_1") },
		"DELETE /v1/access-tokens/tok_1", "",
		`{"id":"tok_1","lastFour":"en_1","status":"revoked","scopes":["pay"],"createdAt":"2026-11-21T12:00:00.000Z","expiresAt":"2026-11-21T12:00:00.000Z","revokedAt":"2026-11-21T12:00:00.000Z"}`,
		client.AccessToken{
			ID: "tok_1", LastFour: "en_1", Status: client.TokenRevoked, Scopes: []client.Scope{client.ScopePay}, CreatedAt: noon, ExpiresAt: noon, RevokedAt: noon,
		},
	},
	{
		"create checkout", func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreateCheckout(ctx, client.CheckoutParams{AmountCents: 500, Description: "1,000 requests", IdempotencyKey: "order 7"})
		},
		"POST /v1/checkouts", `{"amountCents":500,"description":"1,000 requests","idempotencyKey":"order 7"}`,
		checkoutJSON,
		client.Checkout{
			ID: "chk_1", URL: "https://pay.example/checkout/chk_1/x", Status: client.CheckoutPaid, AmountCents: 500,
			Description: "1,000 requests", TransactionID: "txn_1", CreatedAt: noon, ExpiresAt: noon,
		},
	},
	{
		"checkout", func(ctx context.Context, c *client.Client) (any, error) { return c.Checkout(ctx, "chk_1") },
		"GET /v1/checkouts/chk_1", "",
		checkoutJSON,
		client.Checkout{
			ID: "chk_1", URL: "https://pay.example/checkout/chk_1/x", Status: client.CheckoutPaid, AmountCents: 500,
			Description: "1,000 requests", TransactionID: "txn_1", CreatedAt: noon, ExpiresAt: noon,
		},
	},
	{
		"verify receipt", func(ctx context.Context, c *client.Client) (any, error) {
			return c.VerifyReceipt(ctx, client.ReceiptParams{Receipt: "e30", Resource: "https://api.example.com/weather", PayTo: "0x1", Amount: "0.01", Redeem: true})
		},
		"POST /v1/x402/verify-receipt", `{"receipt":"e30","resource":"https://api.example.com/weather","payTo":"0x1","amount":"0.01","redeem":true}`,
		`{"valid":false,"reason":"resource_mismatch"}`,
		client.ReceiptVerdict{Reason: "resource_mismatch"},
	},
	{
		"presentation", func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreatePresentation(ctx, token, client.PresentationParams{
				Audience: "https://api.example.com", Nonce: "ch_1", Amount: "0.01", PayTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
				Network: "eip155:8453", Resource: "https://api.example.com/weather", ExpiresInSeconds: 60,
			})
		},
		"POST /v1/mandates/" + token + "/presentations",
		`{"audience":"https://api.example.com","nonce":"ch_1","amount":"0.01","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","network":"eip155:8453","resource":"https://api.example.com/weather","expiresInSeconds":60}`,
		`{"presentation":"dtok_2","expiresAt":"2026-11-21T12:00:00.000Z"}`,
		client.Presentation{Presentation: "dtok_2", ExpiresAt: noon},
	},
	{
		"charge", func(ctx context.Context, c *client.Client) (any, error) {
			p := chargeParams()
			p.IdempotencyKey = "order 7"
			p.Metadata = map[string]string{"order": "7"}
			return c.Charge(ctx, p)
		},
		"POST /v1/payments/charge",
		`{"intentMandate":"` + token + `","amountCents":250,"currency":"usd","description":"October report","idempotencyKey":"order 7","metadata":{"order":"7"}}`,
		`{"transactionId":"txn_1","status":"failed","amountCents":250,"railUsed":"crypto","txHash":"0xabc","feeMicros":30000,"failureReason":"reverted","createdAt":"2026-11-21T12:00:00.000Z"}`,
		client.Charge{
			TransactionID: "txn_1", Status: client.Failed, AmountCents: 250, RailUsed: client.ChainUsed, TxHash: "0xabc",
			FeeMicros: 30000, FailureReason: client.Reverted, CreatedAt: noon,
		},
	},
	{
		"receipt", func(ctx context.Context, c *client.Client) (any, error) { return c.Receipt(ctx, "txn_1") },
		"GET /v1/payments/txn_1/receipt", "",
		`{"id":"txn_1","status":"succeeded","amountCents":250,"currency":"usd","rail":"fiatrail","receiptUrl":"https://pay.example/r/1","feeMicros":0,"createdAt":"2026-11-21T12:00:00.000Z","settledAt":"2026-11-21T12:00:00.000Z"}`,
		client.Receipt{
			ID: "txn_1", Status: client.Succeeded, AmountCents: 250, Currency: client.USD, Rail: client.CardRail,
			ReceiptURL: "https://pay.example/r/1", CreatedAt: noon, SettledAt: noon,
		},
	},
	{
		"stats", func(ctx context.Context, c *client.Client) (any, error) { return c.Stats(ctx) },
		"GET /v1/merchants/stats", "",
		`{"totalVolumeCents":1250,"activeDelegates":2,"transactionCount":5}`,
		client.Stats{TotalVolumeCents: 1250, ActiveMandates: 2, TransactionCount: 5},
	},
	{
		"first page", func(ctx context.Context, c *client.Client) (any, error) {
			return c.TransactionsPage(ctx, client.ListParams{})
		},
		"GET /v1/merchants/transactions", "",
		`{"hasMore":false,"data":[]}`,
		client.TransactionPage{Data: []client.Transaction{}},
	},
	{
		"later page", func(ctx context.Context, c *client.Client) (any, error) {
			return c.TransactionsPage(ctx, client.ListParams{Limit: 2, StartingAfter: "txn_9&limit=100"})
		},
		"GET /v1/merchants/transactions?limit=2&starting_after=txn_9%26limit%3D100", "",
		`{"hasMore":true,"data":[{"id":"txn_8","delegateId":"del_1","amountCents":1,"status":"pending","rail":"chainrail","createdAt":"2026-11-21T12:00:00.000Z"}]}`,
		client.TransactionPage{HasMore: true, Data: []client.Transaction{
			{ID: "txn_8", MandateID: "del_1", AmountCents: 1, Status: client.Pending, Rail: client.ChainRail, CreatedAt: noon},
		}},
	},
	{
		"settle paywall", func(ctx context.Context, c *client.Client) (any, error) {
			return c.SettlePaywall(ctx, client.PaywallSettlementParams{
				Mandate: token, Price: "0.01", PayTo: "0x20", Network: "eip155:84532", Resource: "https://api.example/w", ChallengeID: "ch_1", IdempotencyKey: "k",
			})
		},
		"POST /v1/paywall/settle",
		`{"mandate":"` + token + `","price":"0.01","payTo":"0x20","network":"eip155:84532","resource":"https://api.example/w","challengeId":"ch_1","idempotencyKey":"k"}`,
		`{"success":true,"transaction":"0xabc","network":"eip155:84532","payer":"del_1","transactionId":"txn_1"}`,
		client.PaywallSettlement{Success: true, Transaction: "0xabc", Network: "eip155:84532", Payer: "del_1", TransactionID: "txn_1"},
	},
	{
		"refused settlement", func(ctx context.Context, c *client.Client) (any, error) {
			return c.SettlePaywall(ctx, client.PaywallSettlementParams{Mandate: token, IdempotencyKey: "k"})
		},
		"POST /v1/paywall/settle",
		`{"mandate":"` + token + `","price":"","payTo":"","network":"","resource":"","idempotencyKey":"k"}`,
		`{"success":false,"errorReason":"insufficient_funds"}`,
		client.PaywallSettlement{ErrorReason: "insufficient_funds"},
	},
}

// Every method: what it sends, and what it makes of the answer.
func TestMethodsSpeakTheAPI(t *testing.T) {
	t.Parallel()
	for _, tc := range slices.Concat(methods, webhookMethods) {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got *http.Request
			var body []byte
			c := setup(t, func(w http.ResponseWriter, r *http.Request) {
				got = r
				body, _ = io.ReadAll(r.Body)
				reply(http.StatusOK, tc.answer)(w, r)
			})
			value, err := tc.do(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, tc.want, value)
			require.Equal(t, tc.sends, got.Method+" "+got.RequestURI)
			requireHeaders(t, got.Header, tc.body != "")
			if tc.body == "" {
				require.Empty(t, body)
				return
			}
			require.JSONEq(t, tc.body, string(body))
		})
	}
}

func requireHeaders(t *testing.T, h http.Header, withBody bool) {
	t.Helper()
	require.Equal(t, merchantID, h.Get("X-Service-Merchant-Id"))
	require.Equal(t, apiKey, h.Get("X-Service-Api-Key"))
	require.Equal(t, "paywarrant-go/"+client.Version, h.Get("User-Agent"))
	require.Equal(t, "application/json", h.Get("Accept"))
	contentType := ""
	if withBody {
		contentType = "application/json"
	}
	require.Equal(t, contentType, h.Get("Content-Type"))
}

func TestReplayIsTold(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{"true": true, "": false, "false": false} {
		c := setup(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Idempotency-Replayed", header)
			reply(http.StatusOK, chargeAnswer)(w, r)
		})
		ch, err := c.Charge(t.Context(), chargeParams())
		require.NoError(t, err)
		require.Equal(t, want, ch.Replayed)
	}
}

// A value that would change the path must not be sent: "x/revoke?" as the id of a
// receipt would be another call, with our credentials.
func TestPathValuesCannotChangeThePath(t *testing.T) {
	t.Parallel()
	handler, calls := inTurn(reply(http.StatusOK, `{}`))
	c := setup(t, handler)
	for _, value := range []string{
		"", ".", "..", "../stats", "a/b", "a?b", "a#b", "a%2fb", "a b", "a\nb", "é", `a\b`, "{x}", strings.Repeat("a", 17<<10),
	} {
		for param, do := range map[string]func() error{
			"transactionId": func() error { _, err := c.Receipt(t.Context(), value); return err },
			"sessionToken":  func() error { _, err := c.Session(t.Context(), value); return err },
			"intentMandate": func() error { _, err := c.Revoke(t.Context(), value); return err },
		} {
			err := do()
			require.ErrorIs(t, err, client.ErrValidation)
			var e *client.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, param, e.Param)
			require.Equal(t, http.StatusBadRequest, e.Status)
		}
	}
	require.Zero(t, calls())
}

func TestBaseURLMayHaveAPath(t *testing.T) {
	t.Parallel()
	var target string
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		target = r.RequestURI
		reply(http.StatusOK, `{"totalVolumeCents":0}`)(w, r)
	}, func(cfg *client.Config) { cfg.BaseURL += "/pay/" })
	_, err := c.Stats(t.Context())
	require.NoError(t, err)
	require.Equal(t, "/pay/v1/merchants/stats", target)
}
