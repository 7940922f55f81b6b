package dashboard

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

const sandboxPath = "/sandbox"

// sandboxPage has what a developer tries in a sandbox.
type sandboxPage struct {
	site.Faulty

	Methods   []rail.Method
	Session   string
	Mandate   string // of the session that was just completed
	Now       time.Time
	NowMillis int64
	CanMove   bool
	Moved     bool
}

func (d *Dashboard) showSandbox(w http.ResponseWriter, v visit) {
	d.showSandboxWith(w, v, http.StatusOK, sandboxPage{Moved: v.URL.Query().Has("moved")})
}

func (d *Dashboard) showSandboxWith(w http.ResponseWriter, v visit, status int, page sandboxPage) {
	page.Methods, page.Now, page.CanMove = d.Methods, d.Clock(), d.Advance != nil
	page.NowMillis = page.Now.UnixMilli()
	d.show(w, v, sandboxPath, site.Page{Title: "Sandbox", Status: status, Content: page}, "sandbox")
}

// completeSession confirms a session of the merchant as a person does on the setup page. One
// that is finished is refused.
func (d *Dashboard) completeSession(w http.ResponseWriter, v visit) {
	token := strings.TrimSpace(v.PostForm.Get("session"))
	token = token[strings.LastIndex(token, "/")+1:] // of a setup URL
	page, status := sandboxPage{Session: token}, http.StatusUnprocessableEntity
	m, err := d.confirm(v, token)
	var refused *payment.MethodError
	switch {
	case err == nil:
		page.Mandate, status = m, http.StatusOK
	case errors.Is(err, ledger.ErrNotFound):
		page.Faulty = site.Faulty{Error: "Your account has no such session. Enter its token (sess_…) or its setup URL.", Wrong: "session"}
	case errors.Is(err, ledger.ErrSessionFinished):
		page.Faulty = site.Faulty{Error: "This session is finished.", Wrong: "session"}
	case errors.Is(err, rail.ErrUnknownMethod):
		page.Faulty = site.Faulty{Error: "The session does not allow this payment method.", Wrong: "method"}
	case errors.As(err, &refused):
		page.Faulty = site.Faulty{Error: "The payment method was refused: " + reason(refused.Reason) + ". Attempts left: " + strconv.Itoa(refused.AttemptsLeft) + ".", Wrong: "method"}
	default:
		d.failed(w, v, err)
		return
	}
	d.showSandboxWith(w, v, status, page)
}

// confirm completes a session with the method of the form, and returns the mandate's token.
func (d *Dashboard) confirm(v visit, token string) (string, error) {
	s, err := d.Payments.Session(v.Context(), token)
	if err == nil && s.MerchantID != v.merchant.ID {
		err = ledger.ErrNotFound
	}
	if err != nil {
		return "", err
	}
	method := v.PostForm.Get("method")
	if !slices.ContainsFunc(d.Methods, func(m rail.Method) bool { return m.Name == method }) {
		return "", rail.ErrUnknownMethod
	}
	m, err := d.Payments.Confirm(v.Context(), token, payment.Confirmation{Terms: s.Terms, Methods: []string{method}})
	if err != nil {
		return "", err
	}
	d.did(v, "session.complete", m.ID)
	d.record(v, audit.MandateConfirmed, "mandateId", m.ID)
	s, err = d.Payments.Session(v.Context(), token)
	return s.Mandate, err
}

// steps of the clock.
var clockSteps = map[string]time.Duration{"hour": time.Hour, "day": 24 * time.Hour, "month": 31 * 24 * time.Hour}

// moveClock moves the clock to the time that the form shows and a step. Sending it again
// changes nothing.
func (d *Dashboard) moveClock(w http.ResponseWriter, v visit) {
	from, err := strconv.ParseInt(v.PostForm.Get("from"), 10, 64)
	step, ok := clockSteps[v.PostForm.Get("step")]
	if err != nil || !ok || from < 0 || from > d.Clock().UnixMilli() {
		d.showSandboxWith(w, v, http.StatusUnprocessableEntity, sandboxPage{Faulty: site.Faulty{Error: "Choose how far the clock moves."}})
		return
	}
	if by := time.UnixMilli(from).Add(step).Sub(d.Clock()); by > 0 {
		if err := d.Advance(by); err != nil {
			d.showSandboxWith(w, v, http.StatusUnprocessableEntity, sandboxPage{Faulty: site.Faulty{Error: "The clock did not move: " + err.Error() + "."}})
			return
		}
		// The session ends by the same clock, so it begins again.
		if err := d.sessions.Begin(v.Context(), merchantAccount(v.merchant.ID, v.merchant.Email)); err != nil {
			d.failed(w, v, err)
			return
		}
		d.did(v, "clock.advance", v.merchant.ID)
	}
	back(w, v, "/sandbox?moved")
}
