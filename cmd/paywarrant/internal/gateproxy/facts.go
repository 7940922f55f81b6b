package gateproxy

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/paywall"
)

// The headers of facts about the payment of a request. Clients cannot send them.
const (
	headerMethod      = "X-Payment-Method"      // the kind of credential: "x402-v2", "mandate", …
	headerAmount      = "X-Payment-Amount"      // US dollars; what is held, if the route is metered
	headerPayer       = "X-Payment-Payer"       // the wallet, or the id of the mandate
	headerTransaction = "X-Payment-Transaction" // the service's id of the payment, or the transaction hash
	headerNetwork     = "X-Payment-Network"     // the chain, or "card"
	headerFacts       = "X-Payment-Facts"       // the facts as a JWT
)

// factsFor is how long signed facts are valid.
const factsFor = time.Minute

// facts describe payments to the upstream.
type facts struct {
	key    []byte
	origin string
	clock  func() time.Time
}

func newFacts(c Config, clock func() time.Time) *facts {
	return &facts{key: c.FactsKey, origin: strings.TrimRight(c.Paywall.Origin, "/"), clock: clock}
}

// claims are the claims of the JWT.
type claims struct {
	jwt.RegisteredClaims

	// Method is the HTTP method, and URL the requested address without its query.
	Method string `json:"htm"`
	URL    string `json:"htu"`
	// Payment is what the request was paid with.
	Payment paywall.Payment `json:"payment"`
}

// add adds the headers of a payment. asked is the client's request.
func (f *facts) add(ctx context.Context, h http.Header, asked *http.Request, p paywall.Payment, log *slog.Logger) {
	amount, transaction := money.Micros(max(p.AmountMicros, p.AuthorizedMicros)), p.TransactionID
	if transaction == "" {
		transaction = p.Transaction
	}
	for name, value := range map[string]string{
		headerMethod: string(p.Credential), headerAmount: amount.Decimal(), headerPayer: p.Payer, headerTransaction: transaction, headerNetwork: p.Network,
	} {
		if plain(value) {
			h.Set(name, value)
		}
	}
	if f.key == nil {
		return
	}
	now := f.clock()
	signed, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: f.origin, IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(factsFor)), ID: rand.Text(),
		},
		Method: asked.Method, URL: f.origin + asked.URL.EscapedPath(), Payment: p,
	}).SignedString(f.key)
	if err != nil { // a payment has only texts and numbers
		log.ErrorContext(ctx, "sign facts", slog.String("error", err.Error()))
		return
	}
	h.Set(headerFacts, signed)
}

// plain reports whether a text can be the value of a header, and is not empty.
func plain(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}
