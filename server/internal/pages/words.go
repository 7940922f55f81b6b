package pages

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// dollars writes an amount with thousands separators: "$1,250.00".
func dollars(m ledger.Micros) string { return "$" + grouped(m) }

func grouped(m ledger.Micros) string {
	whole, cents, _ := strings.Cut(m.Decimal(), ".")
	return thousands(whole) + "." + cents
}

func counted(n int64) string { return thousands(strconv.FormatInt(n, 10)) }

// thousands separates the thousands of a number that is not negative.
func thousands(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// parseDollars reads an amount as a person writes it: "25", "$12.50", "1,250.00".
// A comma anywhere but between thousands is an error.
func parseDollars(text string) (ledger.Micros, error) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "$")
	plain := strings.ReplaceAll(text, ",", "")
	m, err := money.ParseDecimal(plain)
	if err != nil || plain == text {
		return m, err
	}
	whole, _, _ := strings.Cut(text, ".")
	if want, _, _ := strings.Cut(grouped(m), "."); want != whole {
		return 0, errors.New("comma that separates no thousands")
	}
	return m, nil
}

func day(t time.Time) string { return t.UTC().Format("2 January 2006") }

func moment(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }

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
