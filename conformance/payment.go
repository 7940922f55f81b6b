package conformance

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/x402"
)

const (
	// concurrent is how often one payment is sent at once.
	concurrent = 20
	// patience is how much longer a paid request may take than one without payment.
	patience = 4
)

// payment is a signed payment and the answer to it.
type payment struct {
	offer  offer
	exact  x402.Exact
	header http.Header
	micros int64
	answer *exchange
}

// served reports whether the server answered with the content.
func (e *exchange) served() bool { return e.err == nil && e.status >= 200 && e.status < 300 }

// pay pays by a protocol, once.
func (p *probe) pay(ctx context.Context, protocol string) (*payment, verdict) {
	if made, ok := p.payments[protocol]; ok {
		return made, verdict{}
	}
	made, no := p.prepare(ctx, protocol, nil)
	if made == nil {
		return nil, no
	}
	made.answer = p.present(ctx, made.header)
	if made.answer.served() {
		p.paid += made.micros
	}
	p.payments[protocol] = made
	return made, verdict{}
}

// prepare signs a payment of a new challenge, within the budget. A change that makes the
// payment cost nothing sets free.
func (p *probe) prepare(ctx context.Context, protocol string, change func(o *offer, a *x402.Authorization) (free bool)) (*payment, verdict) {
	e := p.send(ctx, p.cfg.Method, p.target.String(), nil, p.cfg.Timeout)
	if e.err != nil || e.status != http.StatusPaymentRequired {
		return nil, skip("a new request without a payment was answered %s", outcome(e))
	}
	c := readChallenge(e)
	o, ok := c.affordable(p.cfg.Wallet, protocol)
	if !ok {
		return nil, skip("%s has no offer that the wallet can pay", protocol)
	}
	asset, _ := p.cfg.Wallet.Asset(o.chainID)
	micros, ok := money.FromUnits(o.amount, asset.Decimals)
	if !ok {
		return nil, skip("the price %s is too high", quote(o.amount))
	}
	price := int64(micros)
	made := &payment{offer: o, micros: price}
	a := p.transfer(o, p.cfg.Wallet.Address())
	free := false
	if change != nil {
		made.offer.raw = maps.Clone(o.raw)
		free = change(&made.offer, &a)
	}
	if !free {
		if price > p.cfg.BudgetMicros-p.signed {
			return nil, skip("the budget of %s USD does not allow %s more", money.Micros(p.cfg.BudgetMicros).Decimal(), money.Micros(price).Decimal())
		}
		p.signed += price // before it is signed: from then on the server can take it
	}
	var err error
	if made.exact, err = sign(ctx, p.cfg.Wallet, o, a); err == nil {
		made.header, err = c.header(made.offer, made.exact)
	}
	if err != nil {
		return nil, skip("the payment cannot be signed: %v", err)
	}
	return made, verdict{}
}

// wallet is the part of a wallet that names its tokens.
type wallet interface {
	Asset(chainID int64) (x402.Asset, bool)
}

// affordable returns the first offer of a protocol in a token of the wallet.
func (c *challenge) affordable(w wallet, protocol string) (offer, bool) {
	for _, o := range c.of(protocol) {
		asset, ok := w.Asset(o.chainID)
		if _, payable := o.token(); ok && payable && x402.SameAddress(asset.Address, o.asset) {
			return o, true
		}
	}
	return offer{}, false
}

// present sends a payment.
func (p *probe) present(ctx context.Context, header http.Header) *exchange {
	return p.send(ctx, p.cfg.Method, p.target.String(), header, patience*p.cfg.Timeout)
}

// presentAtOnce sends one payment several times at once.
func (p *probe) presentAtOnce(ctx context.Context, header http.Header) []*exchange {
	answers := make([]*exchange, concurrent)
	start := make(chan struct{})
	var sent sync.WaitGroup
	for i := range answers {
		sent.Go(func() {
			<-start
			answers[i] = p.present(ctx, header)
		})
	}
	close(start)
	sent.Wait()
	return answers
}

// reason returns why a payment was refused, as the server says.
func (e *exchange) reason() string {
	body, _ := object(e.body)
	for _, name := range []string{"error", "detail", "code", "message"} {
		if s := str(body[name]); s != "" {
			return fmt.Sprintf("%s, %s", outcome(e), quote(s))
		}
	}
	if two, err := readV2(e.header.Get(x402.HeaderPaymentRequired)); err == nil && str(two["error"]) != "" {
		return fmt.Sprintf("%s, %s", outcome(e), quote(str(two["error"])))
	}
	return outcome(e)
}
