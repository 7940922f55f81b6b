package conformance

import (
	"context"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/x402"
)

// attack sends a changed payment by the preferred protocol, which must be refused.
func attack(ctx context.Context, p *probe, what string, change func(*offer, *x402.Authorization) bool) verdict {
	protocol, no := p.preferred(ctx)
	if protocol == "" {
		return no
	}
	made, no := p.prepare(ctx, protocol, change)
	if made == nil {
		return no
	}
	answer := p.present(ctx, made.header)
	switch found := refused(answer); {
	case answer.err != nil || answer.status >= 500:
		return warn("%s %s", what, found)
	case found != "":
		return fail("%s %s", what, found)
	}
	return pass("%s", outcome(answer))
}

func checkOtherPayee(ctx context.Context, p *probe) verdict {
	return attack(ctx, p, "a payment to the payer", func(_ *offer, a *x402.Authorization) bool {
		a.To = a.From
		return true
	})
}

func checkExpired(ctx context.Context, p *probe) verdict {
	// A day, so that it is expired even if the clock here is fast.
	return attack(ctx, p, "a payment that expired a day ago", func(_ *offer, a *x402.Authorization) bool {
		a.ValidBefore = strconv.FormatInt(p.cfg.Clock().Add(-24*time.Hour).Unix(), 10)
		return true
	})
}

// checkLess signs one unit less. In version 2 the client also says that this was asked.
func checkLess(ctx context.Context, p *probe) verdict {
	return attack(ctx, p, "a payment of one unit less", func(o *offer, a *x402.Authorization) bool {
		n, ok := new(big.Int).SetString(a.Value, 10)
		if !ok {
			return false
		}
		a.Value = n.Sub(n, big.NewInt(1)).String()
		if o.protocol == version2 {
			o.raw["amount"] = a.Value
		}
		return strings.Trim(a.Value, "0") == ""
	})
}
