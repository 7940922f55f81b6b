package api

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/internal/payment"
)

const (
	maxNonce         = 256
	maxNetwork       = 64
	maxLifeInSeconds = int64(payment.MaxPresentationLife / time.Second)
)

// present binds a mandate to one payment, for an agent without a key.
func (a *API) present(ctx context.Context, c call[client.PresentationParams]) (reply, error) {
	r, err := presentationRequest(c.In)
	if err != nil {
		return reply{}, err
	}
	if err := c.restrict(c.Request.PathValue("intentMandate")); err != nil {
		return reply{}, err
	}
	r.Merchant, r.IDOrToken, r.RequestID = c.Merchant, c.Request.PathValue("intentMandate"), c.RequestID
	p, err := a.Payments.Present(ctx, r)
	if err != nil {
		return reply{}, err
	}
	return reply{Body: client.Presentation{Presentation: p.Token.Reveal(), ExpiresAt: p.ExpiresAt}}, nil
}

func presentationRequest(in client.PresentationParams) (payment.PresentationRequest, error) {
	var r payment.PresentationRequest
	resource, err := url.Parse(in.Resource)
	if err != nil || resource.Host == "" || resource.User != nil || (resource.Scheme != "https" && resource.Scheme != "http") || len(in.Resource) > maxResource {
		return r, invalid("resource", fmt.Sprintf("is required: the full URL that is paid for, of at most %d bytes", maxResource))
	}
	if in.Audience != resource.Scheme+"://"+resource.Host {
		return r, invalid("audience", "is required: the origin of resource, such as https://api.example.com")
	}
	if !token(in.Nonce, maxNonce) {
		return r, invalid("nonce", fmt.Sprintf("is required: the id of the challenge, 1 to %d printable ASCII characters", maxNonce))
	}
	amount, err := money.ParseDecimal(in.Amount)
	if err != nil || amount <= 0 {
		return r, invalid("amount", `is required: dollars with at most six decimals, such as "0.01"`)
	}
	if !wallet.MatchString(in.PayTo) {
		return r, invalid("payTo", "is required: a wallet address (0x and 40 hexadecimal digits)")
	}
	if !token(in.Network, maxNetwork) {
		return r, invalid("network", "is required: the chain's CAIP-2 id, such as eip155:8453")
	}
	if in.ExpiresInSeconds == 0 {
		in.ExpiresInSeconds = maxLifeInSeconds
	}
	if in.ExpiresInSeconds < 1 || in.ExpiresInSeconds > maxLifeInSeconds {
		return r, invalid("expiresInSeconds", fmt.Sprintf("must be an integer, 1 to %d", maxLifeInSeconds))
	}
	return payment.PresentationRequest{
		Audience: in.Audience, Nonce: in.Nonce, Amount: amount, PayTo: in.PayTo, Network: in.Network, Resource: in.Resource,
		Life: time.Duration(in.ExpiresInSeconds) * time.Second,
	}, nil
}

// token reports whether s has 1 to longest printable ASCII characters and no space.
func token(s string, longest int) bool {
	return s != "" && len(s) <= longest && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}
