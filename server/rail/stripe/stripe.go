// Package stripe is the card rail over Stripe. It adapts github.com/stripe/stripe-go:
//
//	r, err := stripe.New(stripe.Config{Key: "sk_live_…", WebhookSecrets: []stripe.Key{"whsec_…"}})
//
// The rail is stateless. Stripe decides every reference, in two steps: a PaymentIntent is
// created without being confirmed, with the reference as idempotency key, and then it is
// confirmed. Only the confirmation moves money, and a PaymentIntent is paid at most once.
//
// # Failures
//
//	failure                          what happens
//	no answer, reset, 5xx            the request is repeated with the same key, then the
//	                                 outcome is unknown: the call returns an error
//	crash between the steps          the next Charge confirms the intent; Void cancels it
//	crash after the confirmation     the next Charge or Lookup reads the intent
//	a stored 500                     Stripe repeats it for every use of the key. The rail
//	                                 looks for the intent, and only then takes another key;
//	                                 whatever the lost request created is not confirmed
//	a stored 400                     the same, to use the reference up: the charge is refused
//	                                 as rail.CardDeclined. A capture takes the next key
//	a key whose request left nothing it is given up after three time limits of a call
//	key in use (409), rate limit     the request waits and is repeated
//	key forgotten after 24 hours     references older than 20 hours, or of unknown age, are
//	                                 looked up before an intent is created
//	search index behind              a reference counts as unseen only if neither the
//	                                 search nor the list of the last 75 minutes has it
//	another use of the reference     the parameters of the intent are compared:
//	                                 rail.ErrReferenceReused
//	void before the charge           the reference is used up by a canceled intent without
//	                                 card, which a late Charge finds
//	declined                         final. A declined intent is never confirmed again
//	processing                       rail.Pending, until Lookup finds the end
//	requires_action                  the person is absent: the intent is canceled and the
//	                                 charge refused as rail.CardDeclined
//	hold expired at Stripe           Capture is refused; nothing is held
//	refund fails at the bank         rail.Refused; the charge is unchanged
//	refund that Stripe does not make the refusal is stored in the intent's metadata, so
//	                                 that it stays
//	refund that fails at the bank    an event makes the service look: the refund stays
//	after it succeeded               succeeded, and the contradiction is recorded
//	missed or forged webhook         nothing is lost: an event only makes the service ask
//	                                 sooner. Events without a valid signature are refused
//
// # Declines
//
//	decline code or error code                                reason
//	insufficient_funds                                        rail.InsufficientFunds
//	expired_card                                              rail.ExpiredCard
//	processing_error, issuer_not_available, reenter_transaction,
//	try_again_later                                           rail.ProcessorError
//	every other, authentication_required among them           rail.CardDeclined
//
// A void, an expired hold and an intent that was canceled elsewhere are rail.Unavailable.
//
// # Setup
//
// A person connects a card on Stripe's own page: see [Rail.BeginSetup]. With a test key,
// Connect also takes the names of Stripe's test cards, such as "pm_card_visa".
//
// The rail moves whole cents of US dollars. It neither pays out to merchants nor handles
// disputes; [Rail.Events] logs that a dispute was opened.
package stripe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	api "github.com/stripe/stripe-go/v84"

	"github.com/paywarrant/paywarrant/server/rail"
)

// Config configures [New].
type Config struct {
	// Key is the secret or restricted API key, of live or test mode. Required.
	Key Key
	// WebhookSecrets verify incoming events. Several may be valid while one is replaced.
	// Default: none, and every event is refused.
	WebhookSecrets []Key
	// BaseURL is the address of the API. Default: Stripe's.
	BaseURL string
	// Client sends the requests. Redirects are not followed. Default: a client of its own
	// without a proxy.
	Client *http.Client
	// Timeout limits each call of the rail. Default: 10 s.
	Timeout time.Duration
	// Clock returns the time that the age of references and events is compared with: the
	// real one, also in a sandbox. Default: time.Now.
	Clock func() time.Time
	// Logger records outcomes that remain unknown. Default: none.
	Logger *slog.Logger
}

func (c Config) validate() error {
	switch {
	case !strings.HasPrefix(c.Key.Reveal(), "sk_") && !strings.HasPrefix(c.Key.Reveal(), "rk_"):
		return errors.New(`stripe: Key: must be a secret key ("sk_…") or a restricted key ("rk_…")`)
	case c.Timeout < 0:
		return errors.New("stripe: Timeout: must not be negative")
	}
	for _, secret := range c.WebhookSecrets {
		if !strings.HasPrefix(secret.Reveal(), "whsec_") {
			return errors.New(`stripe: WebhookSecrets: must begin with "whsec_"`)
		}
	}
	if c.BaseURL == "" {
		return nil
	}
	base, err := url.Parse(c.BaseURL)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" || base.User != nil || base.RawQuery != "" {
		return errors.New("stripe: BaseURL: must be http(s)://host[:port][/path]")
	}
	return nil
}

// TestMode reports whether a key is of Stripe's test mode, in which no money moves.
func (k Key) TestMode() bool {
	return strings.HasPrefix(string(k), "sk_test_") || strings.HasPrefix(string(k), "rk_test_")
}

// Rail is the card rail over Stripe. It is safe for concurrent use.
type Rail struct {
	client  *api.Client
	http    *http.Client
	own     bool // http was created by New
	test    bool
	secrets []Key
	timeout time.Duration
	clock   func() time.Time
	logger  *slog.Logger
	ids     ids
	awaited awaited
	seen    seen

	changed func(ctx context.Context, c rail.Changed) error // set by OnChanged
}

var (
	_ rail.Rail         = (*Rail)(nil)
	_ rail.Authorizer   = (*Rail)(nil)
	_ rail.Refunder     = (*Rail)(nil)
	_ rail.Mover        = (*Rail)(nil)
	_ rail.Disconnecter = (*Rail)(nil)
)

// New returns the rail of a Stripe account. It performs no I/O. The returned error names
// the invalid field.
func New(config Config) (*Rail, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	r := &Rail{
		test: config.Key.TestMode(), secrets: config.WebhookSecrets, timeout: 10 * time.Second, clock: time.Now,
		logger: slog.New(slog.DiscardHandler),
	}
	if config.Timeout > 0 {
		r.timeout = config.Timeout
	}
	if config.Clock != nil {
		r.clock = config.Clock
	}
	if config.Logger != nil {
		r.logger = config.Logger
	}
	if config.Client == nil {
		r.own, r.http = true, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: idleConnections, ForceAttemptHTTP2: true}}
	} else {
		copied := *config.Client
		r.http = &copied
	}
	r.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	backend := &api.BackendConfig{
		HTTPClient: r.http, MaxNetworkRetries: api.Int64(0), EnableTelemetry: api.Bool(false),
		LeveledLogger: &api.LeveledLogger{Level: api.LevelNull},
	}
	if config.BaseURL != "" {
		backend.URL = api.String(strings.TrimSuffix(config.BaseURL, "/"))
	}
	r.client = api.NewClient(config.Key.Reveal(), api.WithBackends(api.NewBackendsWithConfig(backend)))
	return r, nil
}

// idleConnections is the maximum number of idle connections to Stripe.
const idleConnections = 64

// Name returns [rail.Card].
func (r *Rail) Name() rail.Name { return rail.Card }

// Close closes idle connections, unless the client was configured. The error is always nil.
func (r *Rail) Close() error {
	if r.own {
		r.http.CloseIdleConnections()
	}
	return nil
}

// ask makes one call of the rail within its time limit. It logs unknown outcomes, which
// must be looked up again.
func ask[T any](ctx context.Context, r *Rail, what, reference string, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	out, err := call(ctx)
	if err == nil {
		return out, nil
	}
	var none T
	var refused *rail.RefusedError
	definite := errors.Is(err, rail.ErrReferenceReused) || errors.Is(err, rail.ErrInvalidAmount) || errors.Is(err, rail.ErrUnknownMethod) || errors.As(err, &refused)
	if !definite {
		r.logger.WarnContext(ctx, "card processor: outcome unknown",
			slog.String("call", what), slog.String("reference", reference), slog.String("error", err.Error()))
	}
	return none, fmt.Errorf("%s %s by card: %w", what, reference, err)
}
