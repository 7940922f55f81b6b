package row

import (
	"slices"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// limits reads stored limits. Most mandates have none.
func limits(s string, err *error) ledger.Limits {
	if s == "{}" {
		return ledger.Limits{}
	}
	return parsed[ledger.Limits](s, err)
}

// HasPayeeLimit reports whether stored limits have one for each payee.
func HasPayeeLimit(s string) (bool, error) {
	var err error
	return limits(s, &err).MaxMonthlyPerPayee > 0, err
}

// Window reads a stored row.
func Window(r db.Window) ledger.Window {
	return ledger.Window{Kind: ledger.WindowKind(r.Kind), Cap: r.Cap, Start: ledger.Day(r.StartDay), Used: r.Used}
}

// Windows returns the windows of stored rows in the order in which they are checked.
func Windows(rows []db.Window) []ledger.Window {
	var all []ledger.Window
	for _, kind := range ledger.WindowKinds {
		if i := slices.IndexFunc(rows, func(r db.Window) bool { return r.Kind == string(kind) }); i >= 0 {
			all = append(all, Window(rows[i]))
		}
	}
	return all
}

// NewWindows are what statements that insert the windows of mandates take.
func NewWindows(mandates []ledger.Mandate) (all []db.InsertWindowParams) {
	for _, m := range mandates {
		for _, w := range m.Windows {
			all = append(all, db.InsertWindowParams{MandateID: m.ID, Kind: string(w.Kind), Cap: w.Cap, StartDay: int64(w.Start), Used: w.Used})
		}
	}
	return all
}

// ChangedWindows are what statements that update the windows of mandates take. Windows that
// are as before are left out.
func ChangedWindows(before map[string]ledger.Mandate, mandates []ledger.Mandate) (all []db.UpdateWindowParams) {
	for _, m := range mandates {
		for _, w := range m.Windows {
			if old, had := windowOf(before[m.ID], w.Kind); had && old != w {
				all = append(all, db.UpdateWindowParams{MandateID: m.ID, Kind: string(w.Kind), Cap: w.Cap, StartDay: int64(w.Start), Used: w.Used})
			}
		}
	}
	return all
}

// AddedWindows are what statements that insert windows of mandates that exist take.
func AddedWindows(before map[string]ledger.Mandate, mandates []ledger.Mandate) (all []db.InsertWindowParams) {
	for _, m := range mandates {
		for _, w := range m.Windows {
			if _, had := windowOf(before[m.ID], w.Kind); !had {
				all = append(all, db.InsertWindowParams{MandateID: m.ID, Kind: string(w.Kind), Cap: w.Cap, StartDay: int64(w.Start), Used: w.Used})
			}
		}
	}
	return all
}

func windowOf(m ledger.Mandate, kind ledger.WindowKind) (ledger.Window, bool) {
	for _, w := range m.Windows {
		if w.Kind == kind {
			return w, true
		}
	}
	return ledger.Window{}, false
}

// ChangedMandates returns the mandates whose own row changes: with an event, or at their end.
func ChangedMandates(before map[string]ledger.Mandate, mandates []ledger.Mandate) (all []ledger.Mandate) {
	for _, m := range mandates {
		if old, known := before[m.ID]; !known || old.EventSeq != m.EventSeq || old.Status != m.Status ||
			old.RevokedBy != m.RevokedBy || !old.RevokedAt.Equal(m.RevokedAt) {
			all = append(all, m)
		}
	}
	return all
}

// ForgottenMandates returns the mandates whose person's address changes.
func ForgottenMandates(before map[string]ledger.Mandate, mandates []ledger.Mandate) (all []ledger.Mandate) {
	for _, m := range mandates {
		if before[m.ID].Email != m.Email {
			all = append(all, m)
		}
	}
	return all
}

// UpdateEmail is what a statement of that name takes.
func UpdateEmail(m ledger.Mandate) db.UpdateEmailParams {
	return db.UpdateEmailParams{ID: m.ID, Email: m.Email}
}

// PausedMandates returns the mandates that are paused or resumed.
func PausedMandates(before map[string]ledger.Mandate, mandates []ledger.Mandate) (all []ledger.Mandate) {
	for _, m := range mandates {
		if !before[m.ID].PausedAt.Equal(m.PausedAt) {
			all = append(all, m)
		}
	}
	return all
}

// UpdatePaused is what a statement of that name takes.
func UpdatePaused(m ledger.Mandate) db.UpdatePausedParams {
	return db.UpdatePausedParams{ID: m.ID, PausedMs: Millis(m.PausedAt)}
}

// ChangedCards returns the mandates whose card changes.
func ChangedCards(before map[string]ledger.Mandate, mandates []ledger.Mandate) (all []ledger.Mandate) {
	for _, m := range mandates {
		if before[m.ID].Card != m.Card {
			all = append(all, m)
		}
	}
	return all
}

// UpdateCard is what a statement of that name takes.
func UpdateCard(m ledger.Mandate) db.UpdateCardParams {
	return db.UpdateCardParams{ID: m.ID, Card: m.Card}
}

// LoweredMandates returns the mandates whose limits change.
func LoweredMandates(before map[string]ledger.Mandate, mandates []ledger.Mandate) (all []ledger.Mandate) {
	for _, m := range mandates {
		old, now := before[m.ID].Terms, m.Terms
		if old.MaxPerTx != now.MaxPerTx || old.MaxMonthly != now.MaxMonthly || old.Limits != now.Limits {
			all = append(all, m)
		}
	}
	return all
}

// UpdateLimits is what a statement of that name takes.
func UpdateLimits(m ledger.Mandate) db.UpdateLimitsParams {
	return db.UpdateLimitsParams{
		ID: m.ID, MaxPerTxMicros: int64(m.Terms.MaxPerTx), MaxMonthlyMicros: int64(m.Terms.MaxMonthly), Limits: text(m.Terms.Limits),
	}
}
