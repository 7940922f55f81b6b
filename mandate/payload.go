package mandate

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// payload is the flat form, with its members in reading order.
type payload struct {
	Vct         string        `json:"vct"`
	Iss         string        `json:"iss"`
	JTI         string        `json:"jti"`
	Iat         int64         `json:"iat"`
	Nbf         int64         `json:"nbf,omitzero"`
	Exp         int64         `json:"exp"`
	Cnf         payloadCnf    `json:"cnf"`
	Status      *payloadState `json:"status,omitempty"`
	Bound       bool          `json:"key_binding_required,omitzero"`
	Limits      payloadLimits `json:"spending_limits"`
	Further     furtherLimits `json:"further_limits,omitzero"`
	RoundUp     bool          `json:"round_up_rest,omitzero"`
	Constraints []any         `json:"constraints"`
}

type payloadCnf struct {
	JWK PublicKey `json:"jwk"`
}

type payloadState struct {
	List struct {
		Idx int64  `json:"idx"`
		URI string `json:"uri"`
	} `json:"status_list"`
}

type payloadLimits struct {
	PerTx    int64  `json:"max_per_tx_cents"`
	Monthly  int64  `json:"max_monthly_cents"`
	Period   string `json:"period"`
	TimeZone string `json:"time_zone"`
	Currency string `json:"currency"`
}

// furtherLimits has a claim of its own, since spending_limits has exactly five members and
// AP2's constraints have no such limits.
type furtherLimits struct {
	Daily    int64 `json:"max_daily_cents,omitzero"`
	Total    int64 `json:"max_total_cents,omitzero"`
	Payments int64 `json:"max_payments_per_day,omitzero"`
	Payee    int64 `json:"max_monthly_per_payee_cents,omitzero"`
}

type rangeConstraint struct {
	Type     string `json:"type"`
	Currency string `json:"currency"`
	Min      int64  `json:"min"`
	Max      int64  `json:"max"`
}

type budgetConstraint struct {
	Type     string      `json:"type"`
	Currency string      `json:"currency"`
	Max      json.Number `json:"max"` // dollars
}

type recurrenceConstraint struct {
	Type      string `json:"type"`
	Frequency string `json:"frequency"`
}

type payeesConstraint struct {
	Type    string         `json:"type"`
	Allowed []payloadPayee `json:"allowed"`
}

type payloadPayee struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Website string `json:"website,omitempty"`
}

type instrumentsConstraint struct {
	Type    string              `json:"type"`
	Allowed []payloadInstrument `json:"allowed"`
}

type payloadInstrument struct {
	ID   Rail   `json:"id"`
	Type string `json:"type"`
}

// payload encodes the claims. Issue verifies them by reading them back.
func (t Terms) payload(iss string) ([]byte, error) {
	p := payload{
		Vct: vct, Iss: iss, JTI: t.ID, Iat: seconds(t.IssuedAt), Nbf: seconds(t.NotBefore), Exp: seconds(t.ExpiresAt),
		Cnf: payloadCnf{t.SessionKey}, Bound: t.RequireBinding,
		Limits:  payloadLimits{t.Limits.MaxPerTxCents, t.Limits.MaxMonthlyCents, "calendar_month", "UTC", "USD"},
		Further: furtherLimits{t.Limits.MaxDailyCents, t.Limits.MaxTotalCents, t.Limits.MaxPaymentsPerDay, t.Limits.MaxMonthlyPerPayeeCents},
		RoundUp: t.Limits.RoundUpRest,
	}
	if t.Status != nil {
		p.Status = &payloadState{}
		p.Status.List.Idx, p.Status.List.URI = t.Status.Index, t.Status.URI
	}
	payees := payeesConstraint{Type: typePayees, Allowed: []payloadPayee{}}
	for _, y := range t.Payees {
		payees.Allowed = append(payees.Allowed, payloadPayee(y))
	}
	instruments := instrumentsConstraint{Type: typeInstruments, Allowed: []payloadInstrument{}}
	for _, r := range t.Rails {
		instruments.Allowed = append(instruments.Allowed, payloadInstrument{r, r.instrumentType()})
	}
	p.Constraints = []any{
		rangeConstraint{typeRange, "USD", 1, t.Limits.MaxPerTxCents},
		budgetConstraint{typeBudget, "USD", dollars(t.Limits.MaxMonthlyCents)},
		recurrenceConstraint{typeRecurrence, "ON_DEMAND"},
		payees,
		instruments,
	}
	b, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode claims: %w", err)
	}
	return b, nil
}

// seconds returns Unix time, or 0 for the zero time.
func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// dollars formats cents in AP2's major units, exactly: 50000 as 500, 115 as 1.15.
func dollars(cents int64) json.Number {
	s := strconv.FormatInt(cents/100, 10)
	if part := cents % 100; part > 0 {
		s += fmt.Sprintf(".%02d", part)
	}
	return json.Number(s)
}
