package pages

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// pauseMandate pauses a mandate or resumes it. Repeating it changes nothing. If the mandate
// has ended meanwhile, its page says so.
func (p *Pages) pauseMandate(w http.ResponseWriter, r *http.Request) {
	m, ok := p.privateMandate(w, r)
	if !ok || !p.Site.ParseForm(w, r) {
		return
	}
	pause := r.PostForm.Get("action") == "pause"
	if !pause && r.PostForm.Get("action") != "resume" {
		p.message(w, r, http.StatusBadRequest, result{
			Tone: "bad", Badge: "Failed", Headline: "The form did not arrive whole", Text: "Please open the link again.",
		})
		return
	}
	_, err := p.Payments.Ledger.Pause(r.Context(), m.ID, pause)
	var ended *ledger.Refusal
	switch {
	case err != nil && !errors.As(err, &ended):
		p.failed(w, r, err)
		return
	case err == nil && pause != !m.PausedAt.IsZero():
		done, event := "mandate.resume", audit.MandateResumed
		if pause {
			done, event = "mandate.pause", audit.MandatePaused
		}
		p.Audit.Did(r.Context(), audit.Person(m.ID), done, m.ID)
		p.Audit.Record(r.Context(), event, slog.String("mandateId", m.ID))
	}
	http.Redirect(w, r, p.Payments.MandateURL(m.ID), http.StatusSeeOther)
}
