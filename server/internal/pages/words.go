package pages

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

func dollars(m ledger.Micros) string { return site.Dollars(m) }

func grouped(m ledger.Micros) string { return site.Decimal(m) }

func day(t time.Time) string { return site.Day(t) }

func moment(t time.Time) string { return site.Moment(t) }

// anyone is the name of the payee of a mandate that allows all of them.
const anyone = "anyone"

// payeeNames are the names of those that terms allow to be paid.
func (p *Pages) payeeNames(ctx context.Context, t ledger.Terms) (string, error) {
	var names []string
	for _, id := range t.Payees {
		if id == ledger.AnyPayee {
			return anyone, nil
		}
		m, err := p.Merchants.Merchant(ctx, id)
		if err != nil {
			return "", fmt.Errorf("read merchant %s: %w", id, err)
		}
		names = append(names, m.Name)
	}
	return listed(names), nil
}

// listed joins names: "A, B and C".
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// capital begins a sentence with a word.
func capital(s string) string {
	if s == anyone {
		return "Anyone"
	}
	return s
}

// reasonText says in words why a payment failed.
func reasonText(r rail.Reason) string {
	switch r {
	case rail.CardDeclined:
		return "The card was declined"
	case rail.InsufficientFunds:
		return "There was too little money"
	case rail.ExpiredCard:
		return "The card has expired"
	case rail.AllowanceMissing:
		return "The wallet's allowance is gone"
	case rail.WalletBlocked:
		return "The issuer of the dollar has blocked a wallet"
	default:
		return "The payment network refused it (" + strings.ReplaceAll(string(r), "_", " ") + ")"
	}
}

// paidWith names a payment method: "Visa •••• 4242".
func paidWith(i rail.Instrument) string {
	if i.LastFour == "" {
		return i.Brand
	}
	return i.Brand + " •••• " + i.LastFour
}
