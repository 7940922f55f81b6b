package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/mandate"
)

// print writes the inspection for a person. What a token says may be anybody's
// text, so it is quoted if it could draw on a terminal.
func (i *inspection) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	var failed error
	line := func(name, format string, values ...any) {
		_, err := fmt.Fprintf(w, "%s\t%s\n", name, plain(fmt.Sprintf(format, values...)))
		failed = errors.Join(failed, err)
	}
	m := i.peeked.Mandate
	line("Mandate", "%s", m.ID)
	line("Verdict", "%s", i.verdict())
	line("Verified against", "%s, key %s", i.jwks, m.KeyID)
	line("Issuer", "%s", m.Issuer)
	line("One payment", "up to $%s", money.Micros(m.Limits.MaxPerTxCents*money.MicrosPerCent).Decimal())
	line("A month", "up to $%s (calendar month, UTC)", money.Micros(m.Limits.MaxMonthlyCents*money.MicrosPerCent).Decimal())
	printFurther(line, m.Limits)
	for n, p := range m.Payees {
		line(first(n, "Payees"), "%s (%s) %s", p.Name, p.ID, p.Website)
	}
	for n, r := range m.Rails {
		line(first(n, "Rails"), "%s", r)
	}
	line("Issued", "%s", m.IssuedAt.Format(time.RFC3339))
	line("Until", "%s, %s", m.ExpiresAt.Format(time.RFC3339), remaining(m.ExpiresAt.Sub(i.now)))
	line("Its own key", "%s", m.SessionKey.ID())
	if m.RequiresBinding {
		line("Good", "only with a key binding")
	}
	if m.Status != nil {
		line("Status list", "index %d of %s %s", m.Status.Index, m.Status.URI, i.status)
	}
	line("Disclosures", "%d", len(i.peeked.Disclosures))
	for _, d := range i.peeked.Disclosures {
		line("", "%s", d)
	}
	i.printBinding(line)
	return errors.Join(failed, w.Flush())
}

// printFurther prints the limits that a token may have or not.
func printFurther(line func(name, format string, values ...any), l mandate.Limits) {
	for _, f := range []struct {
		name  string
		cents int64
		what  string
	}{
		{"A day", l.MaxDailyCents, "(UTC)"},
		{"In all", l.MaxTotalCents, "over its whole life"},
		{"One payee", l.MaxMonthlyPerPayeeCents, "a month"},
	} {
		if f.cents > 0 {
			line(f.name, "up to $%s %s", money.Micros(f.cents*money.MicrosPerCent).Decimal(), f.what)
		}
	}
	if l.MaxPaymentsPerDay > 0 {
		line("Payments a day", "up to %d (UTC)", l.MaxPaymentsPerDay)
	}
}

func (i *inspection) printBinding(line func(name, format string, values ...any)) {
	p := i.peeked
	if !p.HasBinding {
		line("Presentation", "none: a bare mandate")
		return
	}
	line("Presented to", "%s, challenge %s", p.Audience, p.Nonce)
	if t := p.Transaction; t != nil {
		line("Payment", "$%s to %s on %s for %s", money.Micros(t.AmountMicros).Decimal(), t.PayTo, t.Network, t.Resource)
	}
	line("Presented at", "%s", p.IssuedAt.Format(time.RFC3339))
	if !p.ExpiresAt.IsZero() {
		line("Presented until", "%s, %s", p.ExpiresAt.Format(time.RFC3339), remaining(p.ExpiresAt.Sub(i.now)))
	}
}

func first(n int, name string) string {
	if n > 0 {
		return ""
	}
	return name
}

// remaining says how far off a time is.
func remaining(d time.Duration) string {
	what := "%s left"
	if d < 0 {
		d, what = -d, "%s ago"
	}
	if days := int(d / (24 * time.Hour)); days > 1 {
		return fmt.Sprintf(what, fmt.Sprintf("%d days", days))
	}
	return fmt.Sprintf(what, d.Truncate(time.Second))
}

// plain replaces what is not printable.
func plain(s string) string {
	quoted := fmt.Sprintf("%+q", s)
	if strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || (r >= 0x7f && r < 0xa0) || (r >= 0x2000 && r < 0x2070) || r == 0xfeff
	}) {
		return quoted
	}
	return s
}

// inspectionJSON is the form for programs.
type inspectionJSON struct {
	ID              string         `json:"id"`
	Good            bool           `json:"good"`
	Reason          mandate.Reason `json:"reason,omitempty"`
	Message         string         `json:"message,omitempty"`
	JWKS            string         `json:"jwks"`
	KeyID           string         `json:"kid"`
	Issuer          string         `json:"issuer"`
	MaxPerTxCents   int64          `json:"maxPerTxCents"`
	MaxMonthlyCents int64          `json:"maxMonthlyCents"`
	MaxDailyCents   int64          `json:"maxDailyCents,omitzero"`
	MaxTotalCents   int64          `json:"maxTotalCents,omitzero"`
	MaxPerDay       int64          `json:"maxPaymentsPerDay,omitzero"`
	MaxPayeeCents   int64          `json:"maxMonthlyPerPayeeCents,omitzero"`
	Payees          []payeeJSON    `json:"payees"`
	Rails           []mandate.Rail `json:"rails"`
	IssuedAt        time.Time      `json:"issuedAt"`
	ExpiresAt       time.Time      `json:"expiresAt"`
	OwnKey          string         `json:"ownKey"`
	RequiresBinding bool           `json:"requiresBinding"`
	Status          *statusJSON    `json:"status,omitempty"`
	Disclosures     []string       `json:"disclosures"`
	Presentation    *bindingJSON   `json:"presentation,omitempty"`
}

type payeeJSON struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Website string `json:"website,omitempty"`
}

type statusJSON struct {
	Index int64  `json:"idx"`
	URI   string `json:"uri"`
	State string `json:"state,omitempty"`
}

type bindingJSON struct {
	Audience    string                   `json:"audience"`
	Nonce       string                   `json:"nonce"`
	IssuedAt    time.Time                `json:"issuedAt"`
	ExpiresAt   time.Time                `json:"expiresAt,omitzero"`
	Transaction *mandate.TransactionData `json:"transaction,omitempty"`
}

func (i *inspection) printJSON(out io.Writer) error {
	p, m := i.peeked, i.peeked.Mandate
	v := inspectionJSON{
		ID: m.ID, Good: i.err == nil, JWKS: i.jwks, KeyID: m.KeyID, Issuer: m.Issuer,
		MaxPerTxCents: m.Limits.MaxPerTxCents, MaxMonthlyCents: m.Limits.MaxMonthlyCents, Rails: m.Rails,
		MaxDailyCents: m.Limits.MaxDailyCents, MaxTotalCents: m.Limits.MaxTotalCents,
		MaxPerDay: m.Limits.MaxPaymentsPerDay, MaxPayeeCents: m.Limits.MaxMonthlyPerPayeeCents,
		IssuedAt: m.IssuedAt, ExpiresAt: m.ExpiresAt, OwnKey: m.SessionKey.ID(), RequiresBinding: m.RequiresBinding,
		Disclosures: append([]string{}, p.Disclosures...),
	}
	var e *mandate.Error
	if errors.As(i.err, &e) {
		v.Reason = e.Reason
	}
	if i.err != nil {
		v.Message = i.err.Error()
	}
	for _, y := range m.Payees {
		v.Payees = append(v.Payees, payeeJSON(y))
	}
	if m.Status != nil {
		v.Status = &statusJSON{Index: m.Status.Index, URI: m.Status.URI, State: i.status}
	}
	if p.HasBinding {
		v.Presentation = &bindingJSON{Audience: p.Audience, Nonce: p.Nonce, IssuedAt: p.IssuedAt, ExpiresAt: p.ExpiresAt, Transaction: p.Transaction}
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode inspection: %w", err)
	}
	_, err = fmt.Fprintf(out, "%s\n", text)
	return err
}
