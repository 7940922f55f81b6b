package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/internal/money"
)

// paid is what the command prints.
type paid struct {
	URL         string         `json:"url"`
	Challenge   []wayOffered   `json:"challenge"`
	Choice      *wayOffered    `json:"choice,omitempty"`
	Receipt     *agent.Receipt `json:"receipt,omitempty"`
	Status      int            `json:"status,omitzero"`
	ContentType string         `json:"contentType,omitempty"`
	Content     string         `json:"content,omitempty"`
	Error       string         `json:"error,omitempty"`
	reason      error
}

// wayOffered is one payment method of a 402.
type wayOffered struct {
	Method  agent.Method `json:"method"`
	Price   string       `json:"price"`
	PayTo   string       `json:"payTo,omitempty"`
	Network string       `json:"network,omitempty"`
	Usable  bool         `json:"usable"`
}

func way(o agent.Offer) wayOffered {
	return wayOffered{Method: o.Method, Price: o.Price(), PayTo: o.PayTo, Network: o.Network, Usable: o.Usable}
}

func ways(offers []agent.Offer) []wayOffered {
	list := make([]wayOffered, len(offers))
	for i, o := range offers {
		list[i] = way(o)
	}
	return list
}

func (w wayOffered) text() string {
	if w.Method == agent.Bundle {
		return "one credit of a bundle"
	}
	if w.Method == agent.Mandate {
		return w.Price + " USD to " + w.PayTo + ", from the mandate's card or wallet"
	}
	return w.Price + " USD to " + w.PayTo + " on " + w.Network
}

// print prints the three steps and the answer, or writes them as JSON. An error
// is left to the caller.
func (p paid) print(o output, asJSON bool) error {
	if p.reason != nil {
		p.Error = p.reason.Error()
	}
	if asJSON {
		return json.NewEncoder(o.out).Encode(p)
	}
	t := newPrinter(o.out, false)
	if len(p.Challenge) > 0 {
		var facts []fact
		for _, w := range p.Challenge {
			facts = append(facts, fact{string(w.Method), w.text()})
		}
		t.announce("The challenge: "+p.URL+" is paid in one of these ways", facts...)
	}
	if p.Choice != nil {
		t.announce("The choice: the cheapest that the limits allow", fact{string(p.Choice.Method), p.Choice.text()})
	}
	if r := p.Receipt; r != nil {
		t.announce("The receipt, as the seller gives it", receiptFacts(r)...)
	}
	if p.Status != 0 {
		t.announce("The response", fact{"status", fmt.Sprint(p.Status)}, fact{"type", printable(p.ContentType)})
		t.print("\n" + printable(strings.TrimRight(p.Content, "\n")) + "\n")
	}
	return t.err
}

func receiptFacts(r *agent.Receipt) []fact {
	if r.Method == agent.Bundle {
		return []fact{{"credits left", fmt.Sprint(r.CreditsRemaining)}}
	}
	facts := []fact{{"paid", money.Micros(r.AmountMicros).Decimal() + " USD to " + r.PayTo}, {"network", printable(r.Network)}, {"transaction", printable(r.Transaction)}}
	if r.Payer != "" {
		facts = append(facts, fact{"payer", printable(r.Payer)})
	}
	return facts
}

// printable takes out what would move a terminal's cursor: the text is a stranger's.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if (r < ' ' && r != '\n' && r != '\t') || (r >= 0x7f && r < 0xa0) {
			return -1
		}
		return r
	}, s)
}

// printableError is an error whose text a stranger may have written.
type printableError struct{ err error }

func (e printableError) Error() string { return printable(e.err.Error()) }

// Unwrap returns the error itself.
func (e printableError) Unwrap() error { return e.err }
