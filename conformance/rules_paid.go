package conformance

import (
	"context"

	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/x402"
)

// paidRules are those that need a payment. Each protocol is paid once; the others use these
// payments again if they can.
func paidRules() []Rule {
	var rules []Rule
	for _, by := range []struct{ id, protocol, source string }{
		{"x402v2", version2, "x402 v2 §5.3; x402 v2, HTTP transport"}, {"x402v1", version1, "x402 v1 §5.3"}, {"mpp", payment2, draftScheme},
	} {
		rules = append(rules, Rule{
			ID: "paid." + by.id, Title: "A payment by " + by.protocol + " is served", Source: by.source, Pays: true,
			Remedy: "Compare what the challenge asks with what the facilitator accepts; the reason of the refusal names the difference.",
			check: func(ctx context.Context, p *probe) verdict {
				made, no := p.offered(ctx, by.protocol)
				switch {
				case made == nil:
					return no
				case !made.answer.served():
					return fail("answered %s", made.answer.reason())
				}
				return pass("answered %s", outcome(made.answer))
			},
		}, Rule{
			ID: "receipt." + by.id, Title: "The receipt of " + by.protocol + " names the transfer, the network and the payer", Source: by.source, Pays: true,
			Remedy: "Send the receipt header with every response that was paid for, with the transaction of the settlement.",
			check:  func(ctx context.Context, p *probe) verdict { return checkReceipt(ctx, p, by.protocol) },
		})
	}
	return append(rules, Rule{
		ID: "paid.cache", Title: "No shared cache keeps what was paid for", Source: "RFC 9111 §3.5, §5.2.2.7; " + draftScheme, Pays: true,
		Remedy: "Send Cache-Control: private or no-store with every response that was paid for.",
		check:  checkPaidCache,
	}, Rule{
		ID: "paid.replay", Title: "A payment that was served is not served again", Source: "x402 v2 §10; " + draftScheme, Pays: true,
		Remedy: "Redeem each authorization and each challenge once, before the handler runs, in a store that all instances share.",
		check:  checkReplay,
	}, Rule{
		ID: "paid.crossing", Title: "A payment of one protocol does not pay again in another", Source: "EIP-3009; attacks on x402", Pays: true,
		Remedy: "Key redemptions by the payer and the nonce of the authorization, whatever header it comes in.",
		check:  checkCrossing,
	}, Rule{
		ID: "paid.race", Title: "Twenty requests at once with one payment are served once", Source: "X402SCOPE (USENIX Security 2026)", Pays: true,
		Remedy: "Claim the authorization atomically before it is settled, and use a facilitator that answers a repeated settlement with success:false.",
		check:  checkRace,
	}, Rule{
		ID: "paid.payee", Title: "A payment to another wallet is refused", Source: "x402, scheme exact on EVM; X402SCOPE (USENIX Security 2026)", Pays: true,
		Remedy: "Compare the signed payee with your own configuration, not with what the client sends.",
		check:  checkOtherPayee,
	}, Rule{
		ID: "paid.expired", Title: "An expired payment is refused", Source: "EIP-3009; x402, scheme exact on EVM", Pays: true,
		Remedy: "Check validBefore before the handler runs, and settle before you serve.",
		check:  checkExpired,
	}, Rule{
		ID: "paid.less", Title: "A payment of less than the price is refused", Source: "x402, scheme exact on EVM; X402SCOPE (USENIX Security 2026)", Pays: true,
		Remedy: "Compare the signed amount with your own price, not with what the client sends as accepted.",
		check:  checkLess,
	})
}

// offered pays by a protocol if the endpoint offers it.
func (p *probe) offered(ctx context.Context, protocol string) (*payment, verdict) {
	c, no := p.asked(ctx)
	switch {
	case c == nil:
		return nil, no
	case !c.has[protocol]:
		return nil, skip("not offered")
	}
	return p.pay(ctx, protocol)
}

// preferred returns the protocol with which the rules that need a payment of their own pay.
func (p *probe) preferred(ctx context.Context) (string, verdict) {
	c, no := p.asked(ctx)
	if c == nil {
		return "", no
	}
	for _, protocol := range []string{version2, payment2, version1} {
		made, ok := p.payments[protocol]
		if ok && made.answer.served() {
			return protocol, verdict{}
		}
	}
	return "", skip("no payment was served")
}

func checkReceipt(ctx context.Context, p *probe, protocol string) verdict {
	made, no := p.offered(ctx, protocol)
	switch {
	case made == nil:
		return no
	case !made.answer.served():
		return skip("the payment was not served")
	case protocol == payment2:
		return judgeReceipt(made.answer.header.Get(mpp.HeaderReceipt))
	}
	name := x402.HeaderPaymentResponse
	if protocol == version1 {
		name = x402.HeaderPaymentResponseV1
	}
	value := made.answer.header.Get(name)
	s, err := x402.DecodeSettlement(value)
	network, _ := x402.ParseNetwork(s.Network)
	switch {
	case value == "":
		return fail("%s is missing", name)
	case err != nil:
		return fail("%s: %v", name, err)
	case !s.Success:
		return fail("success is false, and the content was served")
	case !x402.IsTransactionHash(s.Transaction):
		return fail("transaction is %s", quote(s.Transaction))
	case network.ChainID != made.offer.chainID:
		return fail("network is %s", quote(s.Network))
	case s.Payer != "" && !x402.SameAddress(s.Payer, p.cfg.Wallet.Address()):
		return fail("payer is %s", quote(s.Payer))
	}
	return pass("transaction %s", s.Transaction)
}

// judgeReceipt judges a receipt of the Payment scheme.
func judgeReceipt(value string) verdict {
	r, err := mpp.ParseReceipt(value)
	switch {
	case value == "":
		return fail("%s is missing", mpp.HeaderReceipt)
	case err != nil:
		return fail("%s: %v", mpp.HeaderReceipt, err)
	case r.Status != mpp.StatusSuccess || r.Reference == "" || r.Timestamp.IsZero():
		return fail("status, reference or timestamp is missing")
	case !x402.IsTransactionHash(r.Reference):
		return fail("reference is %s", quote(r.Reference))
	}
	return pass("transaction %s", r.Reference)
}

func checkPaidCache(ctx context.Context, p *probe) verdict {
	protocol, no := p.preferred(ctx)
	if protocol == "" {
		return no
	}
	h := p.payments[protocol].answer.header
	d := directives(h)
	_, private := d["private"]
	_, none := d["no-store"]
	_, public := d["public"]
	switch {
	case public || lasts(d, "s-maxage") || (lasts(d, "max-age") && !private && !none):
		return fail("Cache-Control: %s lets a cache serve it to others", quote(h.Get("Cache-Control")))
	case !private && !none:
		return warn("Cache-Control has neither private nor no-store")
	}
	return pass("")
}

func checkReplay(ctx context.Context, p *probe) verdict {
	checked := false
	for _, protocol := range []string{version2, version1, payment2} {
		made, ok := p.payments[protocol]
		if !ok || !made.answer.served() {
			continue
		}
		checked = true
		if again := p.present(ctx, made.header); again.served() {
			p.replayed = true
			return fail("a payment of %s was served twice", protocol)
		}
	}
	if !checked {
		return skip("no payment was served")
	}
	return pass("")
}

// checkCrossing sends the authorization of one version of x402 in the header of the other.
func checkCrossing(ctx context.Context, p *probe) verdict {
	c, no := p.asked(ctx)
	if c == nil {
		return no
	}
	for _, way := range [][2]string{{version2, version1}, {version1, version2}} {
		made, paid := p.payments[way[0]]
		other, offered := c.payable(way[1])
		if !paid || !offered || !made.answer.served() || other.chainID != made.offer.chainID {
			continue
		}
		h, err := c.header(other, made.exact)
		if err != nil {
			return skip("%v", err)
		}
		if again := p.present(ctx, h); again.served() {
			return fail("a payment of %s was served again as one of %s", way[0], way[1])
		}
		return pass("")
	}
	return skip("only one version of x402 was paid")
}

func checkRace(ctx context.Context, p *probe) verdict {
	protocol, no := p.preferred(ctx)
	switch {
	case protocol == "":
		return no
	case p.replayed:
		return skip("a payment is served again even one request after the other")
	}
	made, no := p.prepare(ctx, protocol, nil)
	if made == nil {
		return no
	}
	served := 0
	for _, answer := range p.presentAtOnce(ctx, made.header) {
		if answer.served() {
			served++
		}
	}
	switch served {
	case 0:
		return warn("none of %d requests was served", concurrent)
	case 1:
		p.paid += made.micros
		return pass("")
	}
	p.paid += made.micros
	return fail("%d of %d requests were served for one payment", served, concurrent)
}
