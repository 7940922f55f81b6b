package pages

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// worst is the sentence that says what a mandate can cost at most.
func worst(t ledger.Terms, from time.Time, payee string) string {
	sentence := fmt.Sprintf("At most %s a month to %s, at most %s until %s.",
		dollars(inDays(t, 31)), payee, dollars(worstCase(t, from)), day(t.ExpiresAt))
	switch {
	case !t.RoundUpRest:
		return sentence
	case len(t.Payees) > 1 || payee == anyone:
		return sentence + " At the end, a remainder of small payments below $0.50 is charged as $0.50, once for each who was paid."
	}
	return sentence + " At the end, a remainder of small payments below $0.50 is charged as $0.50, once."
}

// sentence is the answer to the setup page's script: what the limits in the form can cost at
// most, or what is wrong with them.
type sentence struct {
	Worst   string `json:"worst,omitempty"`
	Problem string `json:"problem,omitempty"`
}

func (p *Pages) sayWorst(w http.ResponseWriter, r *http.Request) {
	s, ok := p.session(w, r)
	if !ok || !p.Site.ParseForm(w, r) {
		return
	}
	in := enteredIn(r.PostForm)
	terms, wrong := p.terms(s.Terms, in)
	if wrong.text != "" {
		answerScript(w, http.StatusUnprocessableEntity, sentence{Problem: wrong.text})
		return
	}
	payees, err := p.payeeNames(r.Context(), terms)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	terms.RoundUpRest = in.roundUpRest && slices.Contains(terms.Rails, rail.Card)
	answerScript(w, http.StatusOK, sentence{Worst: worst(terms, p.Clock(), payees)})
}

// worstCase returns what a mandate that is valid from a time can cost at most: the sum of
// what each calendar month of its life allows, or the limit in all if that is less.
func worstCase(t ledger.Terms, from time.Time) ledger.Micros {
	from = from.UTC()
	last := t.ExpiresAt.UTC().Add(-time.Nanosecond)
	if last.Before(from) {
		last = from
	}
	var sum ledger.Micros
	for first := from; !first.After(last); {
		next := time.Date(first.Year(), first.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		end := next.Add(-time.Nanosecond)
		if last.Before(end) {
			end = last
		}
		sum += inDays(t, int64(end.Day()-first.Day()+1))
		first = next
	}
	if t.MaxTotal > 0 {
		sum = min(sum, t.MaxTotal)
	}
	return sum
}

// inDays returns the most that a number of days of one calendar month can cost.
func inDays(t ledger.Terms, days int64) ledger.Micros {
	most := t.MaxMonthly
	if t.MaxDaily > 0 {
		most = min(most, t.MaxDaily*ledger.Micros(days))
	}
	if t.MaxTotal > 0 {
		most = min(most, t.MaxTotal)
	}
	// Compared without multiplying, which could overflow.
	if n := ledger.Micros(t.MaxPaymentsPerDay * days); n > 0 && t.MaxPerTx <= most/n {
		most = t.MaxPerTx * n
	}
	n := ledger.Micros(len(t.Payees))
	if t.MaxMonthlyPerPayee > 0 && !slices.Contains(t.Payees, ledger.AnyPayee) && t.MaxMonthlyPerPayee <= most/n {
		most = t.MaxMonthlyPerPayee * n
	}
	return most
}
