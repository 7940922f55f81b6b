package client

import (
	"fmt"
	"log/slog"
)

// Values with secrets hide them when they are printed or logged. Their JSON is the wire
// form and contains them.

// hide returns the placeholder of a secret, and nothing for an empty one.
func hide(secret string) string {
	if secret == "" {
		return ""
	}
	return redacted
}

// show formats hidden, a copy without secrets whose type has no methods.
func show(f fmt.State, verb rune, hidden any) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), hidden)
}

type printedSession Session

func (s Session) hidden() printedSession {
	s.SessionToken, s.SetupURL, s.Mandate = hide(s.SessionToken), hide(s.SetupURL), hide(s.Mandate)
	return printedSession(s)
}

// Format hides the session token, the setup URL and the mandate, for every verb.
func (s Session) Format(f fmt.State, verb rune) { show(f, verb, s.hidden()) }

// LogValue hides what Format hides.
func (s Session) LogValue() slog.Value { return slog.AnyValue(s.hidden()) }

type printedPresentation Presentation

func (p Presentation) hidden() printedPresentation {
	p.Presentation = hide(p.Presentation)
	return printedPresentation(p)
}

// Format hides the presentation, for every verb.
func (p Presentation) Format(f fmt.State, verb rune) { show(f, verb, p.hidden()) }

// LogValue hides what Format hides.
func (p Presentation) LogValue() slog.Value { return slog.AnyValue(p.hidden()) }

type printedCharge ChargeParams

func (p ChargeParams) hidden() printedCharge {
	p.Mandate = hide(p.Mandate)
	return printedCharge(p)
}

// Format hides the mandate, for every verb.
func (p ChargeParams) Format(f fmt.State, verb rune) { show(f, verb, p.hidden()) }

// LogValue hides what Format hides.
func (p ChargeParams) LogValue() slog.Value { return slog.AnyValue(p.hidden()) }

type printedSettlement PaywallSettlementParams

func (p PaywallSettlementParams) hidden() printedSettlement {
	p.Mandate = hide(p.Mandate)
	return printedSettlement(p)
}

// Format hides the mandate, for every verb.
func (p PaywallSettlementParams) Format(f fmt.State, verb rune) { show(f, verb, p.hidden()) }

// LogValue hides what Format hides.
func (p PaywallSettlementParams) LogValue() slog.Value { return slog.AnyValue(p.hidden()) }

type printedMerchant Merchant

func (m Merchant) hidden() printedMerchant {
	m.APIKey = hide(m.APIKey)
	return printedMerchant(m)
}

// Format hides the API key, for every verb.
func (m Merchant) Format(f fmt.State, verb rune) { show(f, verb, m.hidden()) }

// LogValue hides what Format hides.
func (m Merchant) LogValue() slog.Value { return slog.AnyValue(m.hidden()) }

type printedEndpoint WebhookEndpoint

func (e WebhookEndpoint) hidden() printedEndpoint {
	e.Secret = hide(e.Secret)
	return printedEndpoint(e)
}

// Format hides the signing secret, for every verb.
func (e WebhookEndpoint) Format(f fmt.State, verb rune) { show(f, verb, e.hidden()) }

// LogValue hides what Format hides.
func (e WebhookEndpoint) LogValue() slog.Value { return slog.AnyValue(e.hidden()) }

type printedToken AccessToken

func (t AccessToken) hidden() printedToken {
	t.Token = hide(t.Token)
	return printedToken(t)
}

// Format hides the token, for every verb.
func (t AccessToken) Format(f fmt.State, verb rune) { show(f, verb, t.hidden()) }

// LogValue hides what Format hides.
func (t AccessToken) LogValue() slog.Value { return slog.AnyValue(t.hidden()) }

type printedTokenParams AccessTokenParams

func (p AccessTokenParams) hidden() printedTokenParams {
	p.Mandate = hide(p.Mandate)
	return printedTokenParams(p)
}

// Format hides the mandate, for every verb.
func (p AccessTokenParams) Format(f fmt.State, verb rune) { show(f, verb, p.hidden()) }

// LogValue hides what Format hides.
func (p AccessTokenParams) LogValue() slog.Value { return slog.AnyValue(p.hidden()) }
