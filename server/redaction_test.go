package server_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/telemetry/opentelemetry"
	"github.com/paywarrant/paywarrant/server/telemetry/prom"
	"github.com/paywarrant/paywarrant/server/vault"
)

// witness keeps everything that is written where secrets do not belong: log
// lines, headers, error bodies, addresses, texts of errors, mails.
type witness struct {
	mu      sync.Mutex
	written []string
	secrets map[string]string // by what they are
}

func (w *witness) Write(line []byte) (int, error) {
	w.note(string(line))
	return len(line), nil
}

func (w *witness) note(texts ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.written = append(w.written, texts...)
}

// plant makes a secret known, in the forms in which it could be written.
func (w *witness) plant(name, secret string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	raw := []byte(secret)
	for form, text := range map[string]string{
		"": secret, " in hex": hex.EncodeToString(raw), " in base64": base64.RawStdEncoding.EncodeToString(raw),
		" in base64url": base64.RawURLEncoding.EncodeToString(raw), " escaped": url.QueryEscape(secret),
	} {
		w.secrets[name+form] = text
	}
	if _, signature, ok := strings.Cut(secret, "dtok_"); ok { // any part of a token that proves something
		for n, part := range strings.FieldsFunc(signature, func(r rune) bool { return r == '.' || r == '~' }) {
			if n != 0 && n != 3 { // the headers are the same in all tokens
				w.secrets[name+" part "+string(rune('0'+n))] = part
			}
		}
	}
}

// RoundTrip notes what every answer says outside of what was asked for.
func (w *witness) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return resp, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	for name, values := range resp.Header {
		setup := name == "Location" && strings.HasPrefix(values[0], "/setup/") // by specification
		if !setup {
			w.note(name + ": " + strings.Join(values, ", "))
		}
	}
	if resp.StatusCode >= 400 && !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		w.note(string(body))
	}
	var object map[string]any
	if json.Unmarshal(body, &object) == nil {
		for name, value := range object {
			if text, ok := value.(string); ok && name != "setupUrl" && strings.Contains(text, "://") {
				w.note(name + ": " + text)
			}
		}
	}
	return resp, nil
}

// all is everything that was written.
func (w *witness) all() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.written, "\n")
}

func (w *witness) convict(t *testing.T) {
	t.Helper()
	require.Greater(t, len(w.written), 500, "a full run was watched")
	all := w.all()
	for name, secret := range w.secrets {
		if at := strings.Index(all, secret); at >= 0 {
			require.Failf(t, "secret written", "%s:\n%s", name, all[max(0, at-300):min(len(all), at+100)])
		}
	}
}

// trap is a store that fails or panics on command.
type trap struct {
	store.Store

	fail atomic.Bool
	blow atomic.Pointer[string]
}

func (s *trap) Mandate(ctx context.Context, id string) (ledger.Mandate, error) {
	if what := s.blow.Load(); what != nil {
		panic("cannot read " + *what)
	}
	if s.fail.Load() {
		return ledger.Mandate{}, errors.New("disk is on fire")
	}
	return s.Store.Mandate(ctx, id)
}

type redaction struct {
	market
	*witness

	base string // whom ask asks
	trap *trap
	log  *slog.Logger
	http *http.Client

	metrics *prometheus.Registry
	spans   *tracetest.InMemoryExporter
}

func watch(t *testing.T) redaction {
	t.Helper()
	r := redaction{
		witness: &witness{secrets: map[string]string{}}, trap: &trap{}, metrics: prometheus.NewRegistry(), spans: tracetest.NewInMemoryExporter(),
	}
	r.log = slog.New(slog.NewJSONHandler(r.witness, &slog.HandlerOptions{Level: slog.LevelDebug}))
	kek := []byte("a key-encryption key to be found")
	wrapper, err := vault.NewLocal(kek)
	require.NoError(t, err)
	r.plant("key-encryption key", string(kek))
	r.caller = setup(t, &servertest.Options{
		Merchant: server.MerchantParams{Name: "Agent", PayTo: agentsWallet},
		Configure: func(cfg *server.Config) {
			r.trap.Store = cfg.Store
			cfg.Store, cfg.Logger, cfg.Wrapper = r.trap, r.log, wrapper
			cfg.Metrics, cfg.Traces = prom.Metrics(r.metrics), opentelemetry.Traces(sdktrace.NewTracerProvider(sdktrace.WithSyncer(r.spans)))
		},
	})
	r.base = r.URL
	r.shop, err = r.CreateMerchant(t.Context(), server.MerchantParams{Name: "Shop", PayTo: shopWallet})
	require.NoError(t, err)
	r.plant("API key", r.merchant.APIKey)
	r.plant("the shop's API key", r.shop.APIKey)
	r.http = &http.Client{Transport: r.witness, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return r
}

// ask sends a request with a secret in every place that a careless caller knows.
func (r redaction) ask(t *testing.T, method, path, body string, headers ...string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.base+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("X-Service-Merchant-Id", r.merchant.ID)
	req.Header.Set("X-Service-Api-Key", r.merchant.APIKey)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := r.http.Do(req)
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return string(text)
}

// client logs to the witness, too, and its errors are noted.
func (r redaction) client(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{BaseURL: r.URL, MerchantID: r.merchant.ID, APIKey: r.merchant.APIKey, HTTPClient: r.http, Logger: r.log, MaxRetries: -1})
	require.NoError(t, err)
	return c
}

func (r redaction) try(err error) {
	if err != nil {
		r.note(err.Error())
	}
}

// privateKeys plants what the vault keeps: all private keys, opened as the service would.
func (r redaction) privateKeys(t *testing.T) {
	t.Helper()
	wrapper, err := vault.NewLocal([]byte("a key-encryption key to be found"))
	require.NoError(t, err)
	box := vault.New(wrapper)
	for prefix, label := range map[string]vault.Label{"issuer/": {Purpose: "service-key"}, "session-key/p256/": {Purpose: "session-key/p256"}} {
		rows, err := r.trap.SealedKeys(t.Context(), prefix)
		require.NoError(t, err)
		require.NotEmpty(t, rows)
		for _, row := range rows {
			if len(row.Sealed) == 0 {
				continue
			}
			label.Owner = row.Name
			if prefix != "issuer/" {
				label.Owner = strings.TrimPrefix(row.Name, prefix)
			}
			der, err := box.Open(t.Context(), label, row.Sealed)
			require.NoError(t, err)
			key, err := x509.ParsePKCS8PrivateKey(der)
			require.NoError(t, err)
			scalar, err := key.(*ecdsa.PrivateKey).Bytes()
			require.NoError(t, err)
			r.plant(row.Name, string(scalar))
			r.plant(row.Name+" as PKCS #8", string(der))
		}
	}
}

// TestNoSecretIsWritten runs everything that there is, goes wrong in every way it
// knows, and then looks for tokens, presentations, credentials and private keys
// in all that was written. Setup addresses and the mandate's path carry secrets
// by specification; nothing may repeat them.
func TestNoSecretIsWritten(t *testing.T) {
	t.Parallel()
	r := watch(t)
	c := r.client(t)
	var tokens []string
	for _, payees := range [][]string{{"*"}, {r.merchant.ID, r.shop.ID}} {
		s, err := c.CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 1000, AllowedMerchantIDs: payees})
		require.NoError(t, err)
		r.plant("session token", s.SessionToken)
		done, err := c.CompleteTestSession(t.Context(), s.SessionToken, client.TestCompletion{Email: "person@example.com"})
		require.NoError(t, err)
		r.plant("mandate token", done.Mandate)
		tokens = append(tokens, done.Mandate)
		_, err = c.CompleteTestSession(t.Context(), s.SessionToken, client.TestCompletion{})
		r.try(err)
		r.ask(t, "GET", "/v1/mandates/session/"+s.SessionToken, "")
	}
	r.privateKeys(t)
	p := purchase()
	made, err := c.CreatePresentation(t.Context(), tokens[0], p)
	require.NoError(t, err)
	r.plant("presentation", made.Presentation)

	r.peoplePages(t, c)
	for range 2 { // the second time as replays, and with the month spent
		r.charges(t, c, tokens, made.Presentation)
		r.settlements(t, tokens, made.Presentation)
	}
	r.gate(t, tokens, made.Presentation)
	_, err = r.KeyRing().Rotate(t.Context(), true)
	require.NoError(t, err)
	r.everyPlace(t, append(tokens, made.Presentation, tokens[0]+"AAAA", r.merchant.APIKey))
	r.failures(t, c, tokens)
	_, err = c.Revoke(t.Context(), tokens[0])
	require.NoError(t, err)
	r.charges(t, c, tokens, made.Presentation)
	r.everyPlace(t, tokens)
	for _, m := range r.Mails() {
		r.note(m.To, m.Subject, m.Text, m.HTML)
	}
	r.telemetry(t)
	r.convict(t)
}

// telemetry notes all metrics and spans.
func (r redaction) telemetry(t *testing.T) {
	t.Helper()
	all, err := r.metrics.Gather()
	require.NoError(t, err)
	require.Greater(t, len(all), 10)
	for _, family := range all {
		r.note(family.String())
	}
	spans := r.spans.GetSpans()
	require.Greater(t, len(spans), 300)
	for _, span := range spans {
		text, err := json.Marshal(span)
		require.NoError(t, err)
		r.note(string(text))
	}
}

// peoplePages decides sessions as people do, well and badly.
func (r redaction) peoplePages(t *testing.T, c *client.Client) {
	t.Helper()
	for _, form := range []string{
		"action=decline", "action=confirm&maxPerTx=9999&maxMonthly=1", "maxPerTx=1&maxMonthly=5&method=card_declined&email=x",
		"maxPerTx=1&maxMonthly=5&method=card_visa&email=person%40example.com&expires=2027-01-01",
	} {
		s, err := c.CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 1000})
		require.NoError(t, err)
		r.plant("session token "+form, s.SessionToken)
		for range 2 {
			r.ask(t, "POST", "/setup/"+s.SessionToken, form, "Content-Type", "application/x-www-form-urlencoded")
			r.ask(t, "GET", "/setup/"+s.SessionToken, "")
		}
		r.ask(t, "POST", "/setup/"+s.SessionToken, form, "Content-Type", "application/x-www-form-urlencoded", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")
	}
}

func (r redaction) charges(t *testing.T, c *client.Client, tokens []string, presentation string) {
	t.Helper()
	for _, token := range append(tokens, presentation, tokens[0][:len(tokens[0])-5]+"AAAA~", "dtok_"+tokens[0]) {
		for _, cents := range []int64{100, 501, 400, 1, -1} {
			ch, err := c.Charge(t.Context(), client.ChargeParams{Mandate: token, AmountCents: cents, Currency: client.USD, Description: "x", IdempotencyKey: "k1"})
			r.try(err)
			if err == nil {
				r.ask(t, "GET", "/v1/payments/"+ch.TransactionID+"/receipt", "")
			}
			_, err = c.Charge(t.Context(), client.ChargeParams{Mandate: token, AmountCents: cents, Currency: client.USDC, Description: "x"})
			r.try(err)
		}
		_, err := c.Balance(t.Context(), token)
		r.try(err)
		_, err = c.CreatePresentation(t.Context(), token, client.PresentationParams{Audience: token})
		r.try(err)
	}
}

func (r redaction) settlements(t *testing.T, tokens []string, presentation string) {
	t.Helper()
	for _, change := range []func(*client.PresentationParams){
		func(*client.PresentationParams) {}, func(p *client.PresentationParams) { p.Nonce = "other" },
		func(p *client.PresentationParams) { p.Amount = "0.99" }, func(p *client.PresentationParams) { p.Resource = "https://evil.example/" },
	} {
		p := purchase()
		change(&p)
		for _, token := range append(tokens, presentation, presentation[:len(presentation)-4]+"AAAA") {
			for _, key := range []string{"k", "k2"} {
				body, err := json.Marshal(client.PaywallSettlementParams{
					Mandate: token, Price: p.Amount, PayTo: p.PayTo, Network: p.Network, Resource: p.Resource, ChallengeID: p.Nonce, IdempotencyKey: key,
				})
				require.NoError(t, err)
				r.ask(t, "POST", "/v1/paywall/settle", string(body))
			}
		}
	}
}

// gate shows credentials to a shop whose gate logs to the witness.
func (r redaction) gate(t *testing.T, tokens []string, presentation string) {
	t.Helper()
	shop := httptest.NewUnstartedServer(nil)
	gate, err := paywall.New(paywall.Config{
		Price: "0.50", PayTo: shopWallet, APIURL: r.URL, TestMode: true, Resource: "http://" + shop.Listener.Addr().String() + "/",
		Secrets: []string{"0123456789abcdef0123456789abcdef"}, Logger: r.log,
		Merchant: paywall.Merchant{ID: r.shop.ID, APIKey: r.shop.APIKey},
	})
	require.NoError(t, err)
	r.plant("paywall secret", "0123456789abcdef0123456789abcdef")
	shop.Config.Handler = gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "sunny") }))
	shop.Start()
	defer shop.Close()
	at := r
	at.base = shop.URL
	for _, credential := range append(tokens, presentation, tokens[1]+"AAAA", "dtok_") {
		for _, header := range []string{"X-Service-Mandate", "X-PAYMENT", "PAYMENT-SIGNATURE", "Authorization", "X-Bundle-Token"} {
			at.ask(t, "GET", "/", "", header, credential)
		}
		at.ask(t, "GET", "/", "", "X-Service-Mandate", credential, "Idempotency-Key", "k")
	}
}

// everyPlace puts secrets into fields that must not hold them.
func (r redaction) everyPlace(t *testing.T, secrets []string) {
	t.Helper()
	for _, secret := range secrets {
		for _, path := range []string{
			"/v1/mandates/" + secret + "/balance", "/v1/mandates/session/" + secret, "/v1/payments/" + secret + "/receipt", "/setup/" + secret,
			"/receipts/" + secret + "/" + secret, "/v1/merchants/transactions?starting_after=" + secret, "/v1/merchants/transactions?limit=" + secret,
			"/v1/" + secret, "/" + secret, "/?token=" + secret, "/status-lists/" + secret,
		} {
			for _, method := range []string{"GET", "POST", "PUT"} {
				r.ask(t, method, path, "", "X-Request-Id", secret, "Idempotency-Key", secret, "Authorization", "Bearer "+secret, "Cookie", secret)
			}
		}
		for _, path := range []string{"/v1/mandates", "/v1/payments/charge", "/v1/paywall/settle", "/v1/mandates/" + secret + "/presentations", "/v1/test_helpers/merchants"} {
			for _, body := range []string{
				secret, `"` + secret + `"`, `{"` + secret + `":1}`, `{"intentMandate":["` + secret + `"],"mandate":{"a":"` + secret + `"}}`,
				`{"intentMandate":"` + secret + `","amountCents":"` + secret + `","maxPerTxCents":"` + secret + `"}`,
				`{"maxPerTxCents":1,"maxMonthlySpendCents":1,"returnUrl":"` + secret + `"}`, `{"maxPerTxCents":1,"maxMonthlySpendCents":1,"allowedMerchantIds":["` + secret + `"]}`,
				`{"maxPerTxCents":1,"maxMonthlySpendCents":1,"metadata":{"` + secret + `":"x"}}`, `{"currency":"` + secret + `","description":"` + secret + `"}`,
			} {
				r.ask(t, "POST", path, body)
			}
		}
		r.ask(t, "GET", "/v1/merchants/stats", "", "X-Service-Api-Key", secret)
		r.ask(t, "GET", "/v1/merchants/stats", "", "X-Service-Merchant-Id", secret)
	}
}

// failures are on our own side: a store that fails, code that panics.
func (r redaction) failures(t *testing.T, c *client.Client, tokens []string) {
	t.Helper()
	use := func() {
		for _, token := range tokens {
			_, err := c.Balance(t.Context(), token)
			r.try(err)
			_, err = c.CreatePresentation(t.Context(), token, purchase())
			r.try(err)
			_, err = c.Revoke(t.Context(), token)
			r.try(err)
		}
	}
	r.trap.fail.Store(true)
	use()
	r.trap.fail.Store(false)
	for _, token := range tokens {
		r.trap.blow.Store(&token)
		use()
		r.trap.blow.Store(nil)
	}
	all := strings.Join(r.written, "\n")
	require.Contains(t, all, "handler panicked")
	require.Contains(t, all, "disk is on fire")
}
