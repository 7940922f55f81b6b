package paywall

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/x402"
)

const (
	// uptoKnown is how long the facilitator's answer about the scheme upto is kept, and
	// uptoUnknown that there was none.
	uptoKnown   = 10 * time.Minute
	uptoUnknown = 10 * time.Second
	// uptoWait is how long a request waits for that answer.
	uptoWait = 2 * time.Second
	// longestUpto is the longest time for which a wallet's payment of the scheme upto is valid.
	longestUpto = time.Hour
)

// uptoFinder finds out whether the service settles x402's scheme upto, and with which
// address, which payers sign.
type uptoFinder struct {
	supported func(context.Context) (x402.Supported, error)
	network   string
	clock     func() time.Time
	logger    *slog.Logger

	mu      sync.Mutex
	address string // "" if the scheme is not settled
	next    time.Time
	asking  bool
	foreign map[string]time.Time // until when the scheme is not offered for a payee, by wallet
}

// refused records that the service does not settle the scheme for a payee, because the wallet
// is not the merchant's. It is offered again after a while, and refused again.
func (u *uptoFinder) refused(ctx context.Context, payTo string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, known := u.foreign[payTo]; !known {
		u.logger.ErrorContext(ctx, "paywall: the scheme upto is not offered: PayTo is not the wallet of Merchant", slog.String("pay_to", payTo))
	}
	if u.foreign == nil {
		u.foreign = map[string]time.Time{}
	}
	u.foreign[payTo] = u.clock().Add(uptoKnown)
}

// isForeign reports whether the service does not settle the scheme for a payee.
func (u *uptoFinder) isForeign(payTo string) bool {
	if u == nil {
		return true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.clock().Before(u.foreign[payTo])
}

// find returns the address of the facilitator, or "" if the scheme is not settled or not known
// to be. One request at a time asks; the others get the last answer.
func (u *uptoFinder) find(ctx context.Context) string {
	if u == nil {
		return ""
	}
	u.mu.Lock()
	if u.asking || u.clock().Before(u.next) {
		defer u.mu.Unlock()
		return u.address
	}
	u.asking = true
	u.mu.Unlock()

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), uptoWait)
	defer cancel()
	s, err := u.supported(ctx)

	u.mu.Lock()
	defer u.mu.Unlock()
	u.asking = false
	if err != nil {
		u.next = u.clock().Add(uptoUnknown)
		u.logger.WarnContext(ctx, "paywall: the facilitator does not answer what it supports; the scheme upto is offered only if it was before", slog.Any("error", err))
		return u.address
	}
	u.address, u.next = uptoAddress(s, u.network), u.clock().Add(uptoKnown)
	return u.address
}

// uptoAddress returns the address with which a facilitator settles the scheme upto on a
// network, or "".
func uptoAddress(s x402.Supported, network string) string {
	for _, k := range s.Kinds {
		if k.X402Version != x402.Version2 || k.Scheme != x402.SchemeUpto || k.Network != network {
			continue
		}
		text, _ := k.Extra[x402.ExtraFacilitator].(string)
		if address, err := x402.ParseAddress(text); err == nil {
			return address
		}
	}
	return ""
}

// newUptoFinder returns what finds out about the scheme upto: only for the service, which
// lets the merchant alone choose what is settled.
func (s *shared) newUptoFinder(c Config) *uptoFinder {
	service, ok := s.settler.(*service)
	if !ok || !service.own || c.Merchant.ID == "" {
		return nil
	}
	return &uptoFinder{supported: service.Supported, network: s.accepts[0].network.CAIP2, clock: c.Clock, logger: c.Logger}
}

// facilitator returns the address with which the gate's prices are settled up to what was
// metered, or "".
func (g *Gate) facilitator(ctx context.Context) string {
	if !g.route.Metered || g.upto.isForeign(g.route.PayTo) {
		return ""
	}
	return g.upto.find(ctx)
}

// newUpto returns what a wallet is asked for that pays at most the price.
func newUpto(t terms, a *accept, facilitator string) (*x402.Requirements, error) {
	r := uptoAmount(a.two, a.amount)
	r.Scheme, r.MaxTimeoutSeconds = x402.SchemeUpto, int64(min(t.route.Hold, longestUpto)/time.Second)
	r.Extra = map[string]any{
		x402.ExtraName: a.asset.Name, x402.ExtraVersion: a.asset.Version,
		x402.ExtraTransferMethod: x402.TransferPermit2, x402.ExtraFacilitator: facilitator,
	}
	r, err := r.Encoded()
	return &r, err
}

// uptoAmount returns requirements with another amount, and without their encoding.
func uptoAmount(r x402.Requirements, amount string) x402.Requirements {
	return x402.Requirements{
		Scheme: r.Scheme, Network: r.Network, Amount: amount, Asset: r.Asset, PayTo: r.PayTo,
		MaxTimeoutSeconds: r.MaxTimeoutSeconds, Extra: r.Extra,
	}
}
